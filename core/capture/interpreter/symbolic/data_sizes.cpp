#include "core/capture/interpreter/symbolic/data_sizes.h"

#include <algorithm>
#include <string_view>

#include "core/capture/interpreter/symbolic/read_floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/objects/torch_names.h"
#include "core/ir/each_integer.h"
#include "core/recording/lowering_state.h"
#include "core/recording/symbolic_int.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

namespace {

// A symbol for an int of a run.
ir::Sym add_symbol(Tracer& t, const std::string& text, int64_t stand_in, ir::SymRange range, int32_t node) {
  Symbolic& symbolic = *t.sizes.symbolic;
  if (t.sizes.stand_ins.empty()) t.sizes.calls_before_stand_ins = t.graph.torch_calls;
  t.sizes.last_stand_in = stand_in;
  t.sizes.stand_ins.push_back(static_cast<int32_t>(symbolic.table.symbols().size()));
  symbolic.origins.push_back({"depends on data at " + asked_at(t), {}, node});
  return symbolic.table.integer(text, stand_in, range);
}

// What is a multiple of a stand-in becomes the multiple of its symbol.
ir::GraphPtr with_symbols(const ir::Graph& graph, ir::SymbolTable& shown,
                          const std::vector<int32_t>& stand_ins) {
  return ir::with_each_integer(graph, [&](ir::Sym& number) {
    const int64_t n = number.hint();
    for (const int32_t i : stand_ins) {
      const int64_t stand_in = shown.symbols()[static_cast<size_t>(i)].hint;
      if (n < stand_in) return;  // they grow
      if (n % stand_in != 0) continue;
      number = shown.symbol(i) * (n / stand_in);
      return;
    }
  });
}

// Which number a program reads: that of a node, or an element of one.
ReadElement element_of(Tracer& t, ir::Ref ref) {
  const auto& nodes = t.lowering().state().recording.captured_nodes();
  const auto node = std::ranges::lower_bound(nodes, ref.node, {}, &ir::Node::id);
  const bool is_element = node != nodes.end() && node->id == ref.node && node->op == "operator.getitem" &&
                          node->args.size() == 2 && node->args[0].is<ir::Ref>() &&
                          node->args[1].is<int64_t>();
  if (is_element) return {node->args[0].as<ir::Ref>(), node->args[1].as<int64_t>()};
  return {ref, {}};
}

// What item(), tolist(), int() of a tensor of integers give: ints that each run reads. nullptr: another
// question.
Value* data_number(Tracer& t, Value* tensor, std::string_view method) {
  const ir::TensorType type = torch_api::type_of(tensor->obj);
  const bool list = method == "tolist";
  const bool reads = list || method == "item" || method == "__int__" || method == "__index__";
  if (!t.options.stands_in || !t.options.reads_ints || !reads || t.pure.since >= 0) return nullptr;
  if (!ir::is_integer(type.dtype) || type.dtype == ir::DType::b1) return nullptr;
  int64_t length = -1;
  if (list && !type.sizes.empty()) {
    Value* size = peek(t, dimension(t, tensor, 0));
    length = type.sizes[0].hint();
    if (type.sizes.size() != 1 || size->is(ValueKind::Symbol) || length < 1 || length > kLongestList)
      return nullptr;
  } else if (type.numel() != 1) {
    return nullptr;
  }
  const ir::Ref ref = t.lowering().captured_ref(tensor->obj);
  // An element of memory that nobody has written to is the same each time that the program reads it.
  int32_t* known = nullptr;
  if (length < 0 && !t.lowering().is_written(tensor->obj)) {
    known = &t.sizes.of_elements.try_emplace(element_of(t, ref), -1).first->second;
    if (*known >= 0) return symbol_value(t, t.sizes.symbolic->table.symbol(*known));
    *known = static_cast<int32_t>(t.sizes.symbolic->table.symbols().size());
  }
  const PyRef function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(torch_names().tensor),
                                              length < 0 ? "item" : "tolist"));
  const PyRef args(PyTuple_Pack(1, tensor->obj));
  if (!function || !args) t.raise_python();
  t.lowering().note_question_of_data(function.get(), args.get());
  const auto first = static_cast<int32_t>(t.sizes.symbolic->table.symbols().size());
  const std::string text = "value " + std::to_string(ref.node);
  t.sizes.symbolic->questions.push_back({first, nullptr, static_cast<int32_t>(length)});
  const auto read = [&](const std::string& how) {
    return symbol_value(t, add_symbol(t, text + how, t.lowering().stand_in(), {}, ref.node));
  };
  if (length < 0) return read(".item()");
  Values all;
  for (int64_t i = 0; i < length; ++i) all.push_back(read(".tolist()[" + std::to_string(i) + "]"));
  return t.sequence(ValueKind::List, std::move(all));
}

}  // namespace

Value* read_number(Tracer& t, Value* tensor, const char* method) {
  Value* known = known_number(t, tensor, method);
  if (known) return known;
  Value* read = read_float(t, tensor, method);
  return read ? read : data_number(t, tensor, method);
}

void note_stand_ins(Tracer& t, int64_t last) {
  const ir::NodeId node = t.lowering().last_captured();
  while (t.sizes.last_stand_in < last)
    add_symbol(t, "value " + std::to_string(node) + ".size", torch_api::next_stand_in(t.sizes.last_stand_in),
               {.lo = 0}, node);
}

void show_stand_ins(const Tracer& t, Trace& trace) {
  trace.stands_in = true;
  if (!trace.graphs.captured) return;
  trace.shown = std::make_shared<ir::SymbolTable>();
  for (const ir::Symbol& s : t.sizes.symbolic->table.symbols()) trace.shown->integer(s.source, s.hint);
  trace.graphs.captured = with_symbols(*trace.graphs.captured, *trace.shown, t.sizes.stand_ins);
  trace.graphs.aten = with_symbols(*trace.graphs.aten, *trace.shown, t.sizes.stand_ins);
}

namespace {

// The dim that an argument names, of a tensor with so many; -1: none.
int64_t dim_of(PyObject* arguments, Py_ssize_t at, size_t dims) {
  PyObject* dim = PyTuple_GET_SIZE(arguments) > at ? PyTuple_GET_ITEM(arguments, at) : nullptr;
  int64_t d = dim && PyLong_Check(dim) ? PyLong_AsLongLong(dim) : 0;
  if (d < 0) d += static_cast<int64_t>(dims);
  return d < static_cast<int64_t>(dims) ? d : -1;
}

// Another stand-in for the same int; nullptr: it is none.
PyObject* standing_in(PyObject* number, int64_t value) {
  const int32_t known = torch_api::symbolic_number(number);
  return known < 0 ? nullptr : torch_api::make_symbolic_int(value, known);
}

// Parts of a list that fill so much.
void let_fill(PyObject* parts, int64_t left) {
  const Py_ssize_t n = PyList_GET_SIZE(parts);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (torch_api::symbolic_number(PyList_GET_ITEM(parts, i)) < 0) return;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const int64_t part = i + 1 == n ? left : std::min<int64_t>(left, std::max<int64_t>(left / (n - i), 1));
    left -= part;
    if (PyObject* made = standing_in(PyList_GET_ITEM(parts, i), part)) PyList_SetItem(parts, i, made);
  }
}

}  // namespace

void let_parts_fit(const std::string& call, PyObject* arguments) {
  const bool splits = call.ends_with("split") || call.ends_with("split_with_sizes");
  const bool narrows = call.ends_with("narrow");
  if ((!splits && !narrows) || PyTuple_GET_SIZE(arguments) < 2) return;
  PyObject* of = PyTuple_GET_ITEM(arguments, 0);
  if (!torch_api::is_tensor(of)) return;
  const ir::Dims sizes = torch_api::type_of(of).sizes;
  const int64_t d = dim_of(arguments, splits ? 2 : 1, sizes.size());
  if (d < 0) return;
  const int64_t size = sizes[static_cast<size_t>(d)].hint();
  PyObject* parts = PyTuple_GET_ITEM(arguments, 1);
  if (splits && PyList_Check(parts)) return let_fill(parts, size);
  if (!narrows || PyTuple_GET_SIZE(arguments) != 4) return;
  for (Py_ssize_t i : {2, 3})  // from the first element on, half of them
    if (PyObject* made = standing_in(PyTuple_GET_ITEM(arguments, i), i == 2 ? 0 : size / 2))
      PyTuple_SetItem(arguments, i, made);
}

std::string why_no_stand_ins(const Tracer& t, const Trace& trace) {
  if (!trace.graphs.captured) return "it has no graph";
  const torch_api::Lowering::Effects& effects = trace.graph_effects;
  if (effects.sets_data || effects.makes_leaf) return "tensors become others";
  if (effects.writes_inputs && !t.graph.lowering->state().recording.why_autograd_changed().empty())
    return "autograd follows what it writes to";
  if (!trace.computed.empty()) return "floats follow from sizes";
  if (trace.speculates) return "it has checks of its own";
  if (t.graph.has_arrays) return "it has arrays of NumPy's";
  const bool goes_on = t.graph.torch_calls > t.sizes.calls_before_stand_ins;
  return goes_on || t.options.fullgraph ? "" : "nothing is computed behind the data that is read";
}

}  // namespace vitrine::capture
