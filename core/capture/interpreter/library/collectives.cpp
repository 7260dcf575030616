// Collectives of torch.distributed. What the Python of functional ones asks of a process group, which is an
// object of C++, is asked once, and the group is guarded; the collectives themselves are operators. Those
// that write to a tensor are functional ones and a write.
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

// The function called for real on groups, names of some, numbers.
Value* asked_of_group(Tracer& t, PyObject* function, const Arguments& a) {
  if (!a.keyword.empty()) return nullptr;
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size())));
  for (size_t i = 0; i < a.positional.size(); ++i) {
    Value* v = t.look(a.positional[i]);
    PyObject* known = constant_tree(t, v);
    if (!known && v->obj && !v->mutated) known = known_object(t, v);
    if (!known) return nullptr;
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), Py_NewRef(known));
  }
  PyRef result(PyObject_CallObject(function, positional.get()));
  if (!result) t.raise_python();
  return t.pinned(result.get());
}

// A graph waits for what a collective gives, where eager has a tensor that waits when it is first read.
Value* collectives_are_traced(Tracer& t, PyObject*, const Arguments&) {
  return t.boolean(true);
}

// torch.distributed.all_reduce and its like, by the wrapper in which each stands.
Value* collective_that_writes(Tracer& t, PyObject* function, const Arguments& a) {
  PyRef polyfill(PyObject_CallOneArg(find_object("vitrine._polyfills.collectives.polyfill_of"), function));
  if (!polyfill) t.raise_python();
  if (polyfill.get() == Py_None) return nullptr;
  Value* made = call(t, t.pinned(polyfill.get()), a);
  return const_object(t, made) == Py_NotImplemented ? nullptr : made;
}

}  // namespace vitrine::capture
