#include "core/ops/table.h"

#include <deque>
#include <string>
#include <unordered_map>

#include "core/ops/call.h"

namespace vitrine::ops {

namespace {

// A row that is made from another, and what its cells point to.
struct Made {
  std::string params, doc;
  OpRow row;
};

struct OperatorTable {
  std::vector<const OpRow*> rows;
  std::unordered_map<std::string_view, const OpRow*> by_name;
  std::deque<Made> made;  // they stay where they are

  void add(const OpRow& row) {
    rows.push_back(&row);
    bool fresh = by_name.emplace(row.name, &row).second;
    VITRINE_CHECK(fresh, "two rows for operator " + std::string(row.name));
  }

  // types_of() sees to it that the result fits what it is written to.
  void add_in_place(const OpRow& row) {
    Made& out = made.emplace_back();
    const size_t first = row.params.find_first_of(",=");
    out.params = std::string(row.params.substr(0, first)) + "!" +
                 std::string(first == std::string_view::npos ? "" : row.params.substr(first));
    out.doc = std::string(row.doc) + ", written into a";
    out.row = {row.in_place, out.params, row.family, Lower::opaque, row.shape, "", kFunctional,
               out.doc,      "",         "",         row.facts,     &row};
    add(out.row);
  }
};

OperatorTable build() {
  OperatorTable out;
  for (const auto* family :
       {&kPointwiseBinary, &kPointwiseUnary, &kCompare, &kReduction, &kNorm, &kSoftmax, &kView, &kMatmul,
        &kConvPool, &kEmbeddingIndex, &kFactory, &kCopy, &kRandom, &kLoss, &kBackward})
    for (const OpRow& row : *family) out.add(row);
  // One that covers more calls than its functional twin has a row of its own.
  for (size_t i = 0, written = out.rows.size(); i < written; ++i)
    if (const OpRow& row = *out.rows[i]; !row.in_place.empty() && !out.by_name.contains(row.in_place))
      out.add_in_place(row);
  return out;
}

// Built at the first look-up: every family's list exists by then.
const OperatorTable& table() {
  static const OperatorTable kTable = build();
  return kTable;
}
}  // namespace

std::string_view family_name(Family family) {
  switch (family) {
    case Family::pointwise:
      return "pointwise";
    case Family::reduction:
      return "reduction";
    case Family::matmul:
      return "matmul";
    case Family::view:
      return "view";
    case Family::memory:
      return "memory";
    case Family::random:
      return "random";
    case Family::opaque:
      return "opaque";
    case Family::collective:
      return "collective";
  }
  return "opaque";
}

const OpRow* find(std::string_view name) {
  const auto& map = table().by_name;
  auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

const std::vector<const OpRow*>& all() {
  return table().rows;
}

bool is(const OpRow* row, Fact fact) {
  return row && (row->facts & fact) != 0;
}

}  // namespace vitrine::ops
