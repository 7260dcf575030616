// Generators that the segment makes, and the iterators that iter() gives of them. How they run:
// machine/generators.cpp.
#include "core/capture/interpreter/machine/generators.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/iterators.h"
#include "core/capture/interpreter/types/iterators/over_containers.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/objects/class_dict.h"

namespace vitrine::capture {
namespace {

Value* generator_attr(Tracer& t, Value* v, const std::string& name) {
  Value* generator = generator_of(v);
  PyObject* method = generator ? lookup(&PyGen_Type, name) : nullptr;
  if (method && is_native_method(method)) return bind_descriptor(t, method, generator, &PyGen_Type, name);
  stop("generator", "attribute " + name + " of an iterator");
}

Value* next_generated(Tracer& t, Value* v, Value** returned) {
  return resume(t, v, t.none(), returned);
}

Value* next_of_generator(Tracer& t, Value* v, Value** returned) {
  return resume(t, walked_by(t, v), t.none(), returned);
}

Value* iter_generator(Tracer& t, Value* v) {
  return new_iterator(t, IteratorKind::Generator, {v});
}

Value* method_of_generator(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  Value* result = generator_method(t, self, name, a);
  return result ? result : iterator_method(t, self, name, a);
}

}  // namespace

Value* iterator_attr(Tracer& t, Value* v, const std::string& name) {
  return generator_attr(t, v, name);
}

Value* iterator_method(Tracer& t, Value* self, const std::string& name, const Arguments&) {
  if (name == "__iter__") return self;
  if (name == "__next__") {
    Value* item = next(t, self);
    if (!item) t.raise(PyExc_StopIteration, "");
    return item;
  }
  stop("generator", name + "() of an iterator");
}

// A real one has given as many items as were taken here.
void advance_iterator(Tracer&, RecipeMaker& make, Value* v, std::vector<Effect>& out) {
  Effect e;
  e.target = make.make(v);
  e.kind = Effect::Kind::AdvanceIterator;
  e.value.index = static_cast<int32_t>(v->iterator().taken - v->iterator().covered);
  if (e.value.index != 0) out.push_back(std::move(e));
}

bool contains_by_asking(Tracer& t, Value* v, Value* item) {
  Value* iterator = iter(t, v);
  while (Value* candidate = next(t, iterator))
    if (same_or_equal(t, candidate, item)) return true;
  return false;
}

const TypeOps generator_type = {
    .name = "generator",
    .cls = &PyGen_Type,
    .attr = generator_attr,
    .call_method = method_of_generator,
    .contains = contains_by_asking,
    .iter = iter_generator,
    .iter_first = true,
    .next = next_generated,
};
const TypeOps generator_iterator_type = iterator_ops({
    .name = "an iterator over a generator",
    .cls = &PyGen_Type,
    .next = next_of_generator,
    .exhausted = exhausted_sequence,
    .repeatable = true,
});

}  // namespace vitrine::capture
