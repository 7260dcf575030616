// Which sizes and ints of a segment are symbols: what was seen to change between the compilations of a place,
// what the user marked, and what `dynamic=` says; and what a trace knows of its symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/capture/source.h"
#include "core/ir/sym.h"

struct _object;

namespace vitrine::capture {

enum class DynamicMode : uint8_t { Automatic, Always, Never };

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

 private:
  struct Seen {
    std::vector<int64_t> sizes;
    std::vector<Change> changes;
  };
  std::unordered_map<std::string, Seen> seen_;
};

// What torch._dynamo.mark_dynamic, mark_static and Vitrine's own left on a tensor, for one of its dims.
struct SizeMark {
  bool dynamic = false, fixed = false;
  ir::SymRange range;
};
// By dim. Needs the GIL.
std::vector<SizeMark> size_marks(_object* tensor, size_t dims);

// A size that contradicts the range it was marked with. The user's mistake: it ends the call.
struct MarkError {
  std::string text;
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
  // What became of a question (ReplayQuestion): a symbol's value, or an answer that must be the same again.
  struct Question {
    int32_t symbol = -1;
    _object* answer = nullptr;  // owned
  };
  ir::SymbolTable table;
  std::vector<std::string> origins;  // by symbol, why it is one: "changed from 8 to 9", "mark_dynamic"
  std::vector<Input> inputs;
  std::vector<Question> questions;
  std::vector<ir::Sym> integers;  // by number: what calls and recipes use
  std::vector<int32_t> in_calls;  // numbers of those that calls use
  int32_t number_of(const ir::Sym& value);
  // Finds out which inputs the graph depends on; at the end of the trace.
  void find_use();
  Symbolic() = default;
  Symbolic(const Symbolic&) = delete;
  ~Symbolic();  // needs the GIL
};

}  // namespace vitrine::capture
