// Floats that Python's random numbers are: each call draws its own, in the program's order, before the graph
// runs, which has them for inputs. To the trace they are symbolic floats (floats.cpp) that nothing leads to;
// where the program looks at one, the segment ends in front of the draw.
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// generator: a random.Random, of that very class, from before this point; method: one of its class that gives
// a float.
Value* Tracer::draw(Value* generator, const std::string& method, const Arguments& a) {
  generator = look(generator);
  const std::string name = "random." + method + "()";
  if (!generator->obj || generator->mutated || !a.keyword.empty())
    stop("unsupported_builtin", name + " of a generator that the program has changed");
  // What is read through here, PyTorch or a cache calls at other times.
  if (pure_since_ >= 0 || cached_since_ >= 0 || options_.as_if)
    stop("side_effect", name + " draws a number inside a function that is read through");
  Owned key(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size()) + 1));
  PyObject* bound = PyObject_GetAttrString(generator->obj, method.c_str());
  if (!bound) raise_python();
  PyTuple_SET_ITEM(key.get(), 0, bound);
  for (size_t i = 0; i < a.positional.size(); ++i) {
    PyObject* argument = constant_tree(a.positional[i]);
    if (!argument) stop("unsupported_builtin", name + " of a " + describe(a.positional[i]));
    PyTuple_SET_ITEM(key.get(), static_cast<Py_ssize_t>(i) + 1, argument);
  }
  if (generator->source && !generator->pinned)
    guard(GuardKind::Identity, generator->source, generator->obj, 0, "", nullptr,
          "is " + describe(generator));
  Owned some(torch_api::number_tensor(kSomeDraw));
  if (!some) raise_python();
  auto entered = lowering_->input(some.get(), ir::NodeKind::placeholder, name);
  if (!entered) stop("side_effect", name + " draws a number");
  inputs_.push_back(
      sources_->make(SourceKind::Drawn, nullptr, static_cast<int32_t>(draws_.size()), name, key.get()));
  Value* v = make(Kind::Float);
  v->obj = keep(PyFloat_FromDouble(kSomeDraw));
  v->cls = &PyFloat_Type;
  // A copy, so that there is a graph where nothing else is computed.
  v->tensor = tensor_method(from_python(keep(entered.take())), "clone", nullptr, {});
  v->roots = {v};
  draws_.emplace_back(v, executed_);
  return v;
}

// drawn: a symbolic float; one that nothing leads to is known only when the program runs.
void Tracer::refuse_to_look(const Value* drawn) {
  for (const auto& [value, began] : draws_)
    if (value == drawn) {
      ends_by = began;
      stop("side_effect", "a random number is drawn that the program itself looks at",
           "Draw it outside the compiled function, or as a tensor: torch.rand(()).");
    }
}

}  // namespace vitrine::capture
