// Floats that Python's random numbers are: each call draws its own, in the program's order, before the graph
// runs, which has them for inputs. To the trace they are symbolic floats (floats.cpp) that nothing leads to;
// where the program looks at one, the segment ends in front of the draw.
#include "core/capture/interpreter/library/rng.h"

#include <algorithm>

#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// generator: a random.Random, of that very class, from before this point; method: one of its class that gives
// a float.
Value* draw(Tracer& t, Value* generator, const std::string& method, const Arguments& a) {
  generator = t.look(generator);
  const std::string name = "random." + method + "()";
  if (!generator->obj || generator->mutated || !a.keyword.empty())
    stop("unsupported_builtin", name + " of a generator that the program has changed");
  // What is read through here, PyTorch or a cache calls at other times.
  if (t.pure.since >= 0 || t.pure.cached_since >= 0 || t.options.as_if)
    stop("side_effect", name + " draws a number inside a function that is read through");
  PyRef key(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size()) + 1));
  PyObject* bound = PyObject_GetAttrString(generator->obj, method.c_str());
  if (!bound) t.raise_python();
  PyTuple_SET_ITEM(key.get(), 0, bound);
  for (size_t i = 0; i < a.positional.size(); ++i) {
    PyObject* argument = constant_tree(t, a.positional[i]);
    if (!argument) stop("unsupported_builtin", name + " of a " + describe(t, a.positional[i]));
    PyTuple_SET_ITEM(key.get(), static_cast<Py_ssize_t>(i) + 1, argument);
  }
  if (generator->source && !generator->pinned)
    t.guard(GuardKind::Identity, generator->source, generator->obj, 0, "", nullptr,
            "is " + describe(t, generator));
  PyRef some(torch_api::number_tensor(kSomeDraw));
  if (!some) t.raise_python();
  auto entered = t.lowering().input(some.get(), ir::NodeKind::placeholder, name);
  if (!entered) stop("side_effect", name + " draws a number");
  t.graph.inputs.push_back(t.sources().make(SourceKind::Drawn, nullptr,
                                            static_cast<int32_t>(t.effects.draws.size()), name, key.get()));
  Value* v = t.make(ValueKind::Float);
  v->obj = t.keep(PyFloat_FromDouble(kSomeDraw));
  v->cls = &PyFloat_Type;
  // A copy, so that there is a graph where nothing else is computed.
  v->as<FloatValue>().tensor = tensor_method(t, from_python(t, t.keep(entered.take())), "clone", nullptr, {});
  v->as<FloatValue>().roots = {v};
  t.effects.draws.emplace_back(v, t.frames.executed);
  return v;
}

// drawn: a symbolic float; one that nothing leads to is known only when the program runs. It may also be one
// that is read from a tensor (symbolic/read_floats.cpp).
void refuse_to_look(Tracer& t, const Value* drawn) {
  const auto& draws = t.effects.draws;
  for (size_t i = 0; i < draws.size(); ++i) {
    if (draws[i].first != drawn) continue;
    t.frames.ends_by = draws[i].second;
    const auto draws_it = [&](const Source* input) {
      return input && input->kind == SourceKind::Drawn && input->index == static_cast<int32_t>(i);
    };
    if (std::none_of(t.graph.inputs.begin(), t.graph.inputs.end(), draws_it))
      stop("scalar_read", "the program looks at a number that it reads from a tensor");
    stop("side_effect", "a random number is drawn that the program itself looks at",
         "Draw it outside the compiled function, or as a tensor: torch.rand(()).");
  }
}

}  // namespace vitrine::capture
