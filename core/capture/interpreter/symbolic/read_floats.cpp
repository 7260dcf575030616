// Floats that a run reads from tensors: loss.item(), float(norm). To the trace each is a symbolic float
// (floats.cpp) that nothing leads to, as one that is drawn (library/rng.cpp). The tensor itself, as a f64,
// stands for it in the graph. What leaves the segment is read behind the graph. Where the program looks at
// the number, the segment ends in front of the reading.
#include "core/capture/interpreter/symbolic/read_floats.h"

#include <algorithm>

#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/replaced.h"

namespace vitrine::capture {
namespace {

// Whether nothing but its tensor decides what comes. On a GPU eager waits there, and a plan would as well.
bool may_read(const Tracer& t, const Value* tensor, const ir::TensorType& type, const std::string& method) {
  if (!t.options.reads_floats || t.options.as_if || t.pure.since >= 0 || t.pure.cached_since >= 0)
    return false;
  if (tensor->cls != torch_names().tensor && tensor->cls != torch_names().parameter) return false;
  if (!ir::is_float(type.dtype) || !type.device.is_cpu()) return false;
  if (torch_api::is_replaced_in_tensor(method)) return false;
  // float() of a tensor that requires grad is a warning.
  return method != "__float__" || !torch_api::requires_grad(tensor->obj);
}

// at: of which element; nullptr: it has one.
Value* element(Tracer& t, Value* tensor, Value* at) {
  Arguments given{{tensor}, {}};
  if (at) given.positional.push_back(at);
  Value* v = t.make(ValueKind::Float);
  v->obj = t.keep(PyFloat_FromDouble(kSomeDraw));
  v->cls = &PyFloat_Type;
  v->as<FloatValue>().tensor =
      torch_call(t, "Tensor.item", find_object("vitrine._polyfills.library.number_of"), given);
  v->as<FloatValue>().roots = {v};
  t.effects.draws.emplace_back(v, t.frames.executed);
  return v;
}

// Whether all dims have one element, which is kept as a guard.
bool is_one(Tracer& t, Value* tensor, size_t dims) {
  for (size_t d = 0; d < dims; ++d)
    if (!truth(t, compare(t, Py_EQ, dimension(t, tensor, static_cast<int64_t>(d)), t.integer(1))))
      return false;
  return true;
}

bool is_of_run(const Tracer& t, const Value* v) {
  return std::any_of(t.effects.draws.begin(), t.effects.draws.end(),
                     [&](const auto& draw) { return draw.first == v; });
}

std::ptrdiff_t count_drawn(const Tracer& t) {
  return std::count_if(t.graph.inputs.begin(), t.graph.inputs.end(),
                       [](const Source* input) { return input && input->kind == SourceKind::Drawn; });
}

}  // namespace

Value* read_float(Tracer& t, Value* tensor, const std::string& method) {
  const ir::TensorType type = torch_api::type_of(tensor->obj);
  if (!may_read(t, tensor, type, method)) return nullptr;
  if (method == "tolist" && !type.sizes.empty()) {
    const Value* size = peek(t, dimension(t, tensor, 0));
    const int64_t length = type.sizes[0].hint();
    if (type.sizes.size() != 1 || size->is(ValueKind::Symbol) || length < 1 || length > kLongestList)
      return nullptr;
    Values all;
    for (int64_t i = 0; i < length; ++i) all.push_back(element(t, tensor, t.integer(i)));
    return t.sequence(ValueKind::List, std::move(all));
  }
  if (method != "item" && method != "__float__" && method != "tolist") return nullptr;
  return is_one(t, tensor, type.sizes.size()) ? element(t, tensor, nullptr) : nullptr;
}

bool is_read(const Tracer& t, const Value* number) {
  const Values& roots = number->as<FloatValue>().roots;
  return std::any_of(roots.begin(), roots.end(), [&](const Value* root) { return is_of_run(t, root); });
}

int64_t begin_of_reads_alone(const Tracer& t) {
  const auto& draws = t.effects.draws;  // each is a call
  if (draws.empty() || t.graph.torch_calls != static_cast<int64_t>(draws.size())) return -1;
  return count_drawn(t) == 0 ? draws.front().second : -1;
}

}  // namespace vitrine::capture
