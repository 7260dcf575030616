// One kernel over many tensors: the same schedule for each of its members, whose tensors and sizes are
// arguments. A work item (on a GPU a block of threads) is a run of one member's elements.
//
// Arguments: each member's pointers, one member after the other; then numbers: the elements of each member,
// and the first work item of each, ending with their count.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen {

// What the text around the members' own is made of: no tensor may be called so.
std::vector<std::string_view> horizontal_words(std::span<const std::string_view> of_processor);

// Whether the two are the same but for tensors and sizes: a kernel for the one serves the other. Both are
// flat.
bool congruent(const Schedule& a, const Schedule& b);

// A flat schedule that walks through every tensor in order, or stands still in it.
bool walks_in_order(const Schedule& schedule);

struct MemberTable {
  std::vector<ir::Sym> numbers;  // as above
  ir::Sym items = 0, elements = 0;
};
// block: elements of a work item.
MemberTable member_table(const std::vector<Schedule>& members, int64_t block);

// The lines of the first member's nodes are those of the others' too.
void share_lines(const std::vector<Schedule>& members, Kernel& kernel);

}  // namespace vitrine::codegen
