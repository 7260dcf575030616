#include "core/torch_api/run_operators.h"

#include <unordered_map>

#include "core/torch_api/op_call.h"

namespace vitrine::torch_api {

Result<std::vector<PyRef>> run_operators(const ir::Graph& graph, std::span<PyObject* const> inputs) {
  std::vector<PyRef> values;
  std::unordered_map<ir::NodeId, size_t> first;  // its first output's place
  size_t next = 0;
  for (const ir::Node& n : graph.nodes()) {
    first[n.id] = values.size();
    if (n.kind != ir::NodeKind::op) {
      VITRINE_CHECK(next < inputs.size(), "a graph has more inputs than were given");
      values.push_back(PyRef::borrow(inputs[next++]));
      continue;
    }
    auto op = PreparedOp::make(
        n, [&](ir::Ref r) { return static_cast<int32_t>(first.at(r.node) + static_cast<size_t>(r.output)); });
    if (!op) return op.error();
    std::vector<PyObject*> tensors, made;
    for (const PyRef& v : values) tensors.push_back(v.get());
    if (!op.value()->call(tensors.data(), made)) return Error{n.op + " raised an error"};
    for (PyObject* o : made) values.push_back(PyRef::steal(o));
    if (values.size() != first[n.id] + n.outputs.size()) return Error{n.op + " gives more or fewer tensors"};
  }
  std::vector<PyRef> out;
  for (const ir::Arg& a : graph.results())
    out.push_back(a.is<ir::Ref>() ? values.at(first.at(a.as<ir::Ref>().node) +
                                              static_cast<size_t>(a.as<ir::Ref>().output))
                                  : PyRef());
  return out;
}

}  // namespace vitrine::torch_api
