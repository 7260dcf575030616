// Results that are views, made again behind a compiled region (view_replay.h) by the operators that made
// them. Their sizes may be expressions: then the program is one for each set of sizes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/recording/view_replay.h"
#include "core/torch_api/op_call.h"

namespace vitrine::torch_api {

// Carries out the steps. The GIL must be held.
class ViewProgram {
 public:
  // leading: the nodes of the inputs and constants. Errors: an operator without a Python form.
  static Result<std::unique_ptr<ViewProgram>> make(const ViewReplay& views,
                                                   const std::vector<ir::Node>& leading);

  // The program for sizes that are known; values: by symbol of the table that its expressions are of. Errors:
  // an expression has no value.
  Result<std::shared_ptr<const ViewProgram>> at_sizes(const ir::SymbolTable& table,
                                                      std::span<const int64_t> values) const;
  // Whether another program is this one at the hints of its expressions.
  bool same_at_hints(const ViewProgram& other) const;

  // given: inputs and constants, then the region's results; borrowed. The program's results, new references.
  // false: a Python error is set. Of a program without expressions, as the two that follow.
  bool run(const std::vector<PyObject*>& given, std::vector<PyObject*>& results) const;

  // The same by and by. slots: a list of what is given and then of what the steps give, None where it is not
  // there yet; steps that read what is there are carried out. false: a Python error is set.
  bool advance(PyObject* slots) const;
  bool finish(PyObject* slots, std::vector<PyObject*>& results) const;
  int slot_of(size_t result) const { return results_.at(result).slot; }

 private:
  struct Step {
    std::shared_ptr<const ir::Node> node;  // what it reads are slots
    std::shared_ptr<PreparedOp> op;        // of expressions it has the hints
    bool sized = false;                    // the node has expressions
    size_t first = 0, outputs = 0;         // slots of what it gives
    bool call(PyObject* const* slots, std::vector<PyObject*>& made) const;
  };
  std::vector<Step> steps_;
  struct Given {
    int32_t slot, data;  // ViewReplay::data
    bool operator==(const Given&) const = default;
  };
  std::vector<Given> results_;
  size_t given_ = 0, slots_ = 0;
};

}  // namespace vitrine::torch_api
