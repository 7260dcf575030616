// Which sizes and ints of a segment are symbols: what was seen to change between the compilations of a place,
// what the user marked, and what `dynamic=` says; and what a trace knows of its symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/capture/trace/source.h"
#include "core/ir/sym.h"

struct _object;

namespace vitrine::capture {

enum class DynamicMode : uint8_t { Automatic, Always, Never };

// What a size or int is said to have been that is a symbol at its first compilation.
constexpr int64_t kBeforeTheFirst = std::numeric_limits<int64_t>::min();

// What the compilations of one place saw: a size or an int that was another one at an earlier compilation has
// changed, and is taken to go on changing.
class SizeHistory {
 public:
  struct Change {
    bool changed = false;
    int64_t before = 0;  // what it was, when it had not changed yet
  };
  // Notes sizes of the value at `path`, and says which have ever changed. Noting the same again says the
  // same.
  std::vector<Change> note(const std::string& path, const std::vector<int64_t>& sizes);
  // Notes where a tensor of these sizes lies, and says whether one of the same sizes ever had other strides
  // in the same order: a part of something that grows. Another order is another layout: there are few.
  bool note_pitch(const std::string& path, std::span<const int64_t> sizes, std::span<const int64_t> strides);

 private:
  struct Placed {
    std::vector<int64_t> sizes, strides;
    bool changed = false;
  };
  struct Seen {
    std::vector<int64_t> sizes;
    std::vector<Change> changes;
  };
  std::unordered_map<std::string, Seen> seen_;
  std::unordered_map<std::string, Placed> placed_;
};

// What mark_dynamic, maybe_mark_dynamic, mark_unbacked and mark_static of torch._dynamo or of Vitrine left on
// a tensor, for one of its dims.
struct SizeMark {
  bool dynamic = false, fixed = false;
  bool enforced = false;  // fixing it is an error
  ir::SymRange range;     // what was given; a size outside of it is an error
  std::string group;      // sizes of one group are equal (shape_id); "": of none
  bool contradicts(int64_t size) const { return size < range.lo || size > range.hi; }
};
bool has_marks(_object* tensor);
// By dim. Needs the GIL.
std::vector<SizeMark> size_marks(_object* tensor, size_t dims);
// Whether a compilation in which sizes are symbols where `open` says so does what the marks of this tensor
// ask for. No more than a look at the tensor where it has none.
bool marks_are_heeded(_object* tensor, std::span<const int64_t> sizes,
                      const std::function<bool(size_t)>& open);

// A size or a program that contradicts a mark. The user's mistake: it ends the call.
struct MarkError {
  std::string source, text, place;  // "L['x'].size(0)", what is wrong, "file:line" of the user's code
};

// The symbols of a trace.
struct Symbolic {
  // An input of the frame that has symbols: a tensor by dim (symbol -1: a fixed size), or an int.
  struct Input {
    const Source* source = nullptr;
    bool is_tensor = false;
    std::vector<int32_t> symbols;  // of an int: one
    // Whether a call of the graph uses it. An int that none does (a counter) only goes into guards and
    // results.
    bool in_graph = true;
  };
  // What became of a question (ReplayQuestion): a symbol's value, or those of as many symbols as the answer
  // is long, or an answer that must be the same again.
  struct Question {
    int32_t symbol = -1;
    _object* answer = nullptr;  // owned
    int32_t length = -1;        // of an answer that is a list of symbols
    int32_t symbols() const { return symbol < 0 ? 0 : length < 0 ? 1 : length; }
  };
  // Why a size or an int is a symbol: "changed: it was 8", "marked dynamic".
  struct Origin {
    std::string text;
    SizeMark mark = {};
    int32_t node = -1;  // in the captured graph: of whose result it is a size
  };
  ir::SymbolTable table;
  std::vector<Origin> origins;  // by symbol
  std::vector<Input> inputs;
  std::vector<Question> questions;
  std::vector<ir::Sym> integers;  // by number: what calls and recipes use
  std::vector<int32_t> in_calls;  // numbers of those that calls use
  int32_t number_of(const ir::Sym& value);
  // Finds out which inputs the graph depends on; at the end of the trace.
  void find_use();
  // At the end of the trace: a marked size that the program fixed, or asked more of than its range says.
  std::optional<MarkError> broken_mark() const;
  Symbolic() = default;
  Symbolic(const Symbolic&) = delete;
  ~Symbolic();  // needs the GIL
};

}  // namespace vitrine::capture
