// Records a program again for inputs of other sizes: the calls of its first recording, in order, on fresh
// fake tensors. PyTorch makes all its decisions anew, so that what comes out is right for these sizes
// whatever it depends on; what the traced program itself had decided by sizes is asked again.
#pragma once

#include <vector>

#include "core/recording/lowering.h"

struct _object;

namespace vitrine::torch_api {

// What the program's integers are for the new sizes, and what it makes of the answers to its questions.
class NewSizes {
 public:
  virtual ~NewSizes() = default;
  // Of an integer by its number (symbolic_int.h). Throws InternalError when there is no such value.
  virtual int64_t integer(int32_t number) = 0;
  // The same as what calls are given: a new reference. An int, or what stands for one.
  virtual _object* argument(int32_t number);
  // Of an input: its type with expressions for sizes. nullptr: that of the tensor.
  virtual const ir::TensorType* type_of_input(size_t input);
  // false: the program would have gone another way.
  virtual bool answered(size_t question, _object* answer) = 0;
  // A call of the program, a node of its captured graph, raises for the new sizes (error: the exception's
  // type and text), cannot be recorded for them (the reason), or gives other results than tensors at the same
  // places ("").
  virtual void fails(const ir::Node& call, const std::string& error);
};

enum class Relowered {
  Done,
  Other,   // for these sizes the program is another one: it raises, asks and is answered otherwise, ...
  Unsure,  // not for these sizes, but for these very tensors: one of them is two inputs, or cannot be one
};

// `into` is fresh; inputs: real tensors by order of the inputs of `from`, without its constants. On Done,
// `results` are the fake tensors of the results, for into.finish(), alive as long as `into`.
Relowered relower(const Lowering::Graphs& from, const std::vector<_object*>& inputs, NewSizes& sizes,
                  Lowering& into, std::vector<_object*>& results);

}  // namespace vitrine::torch_api
