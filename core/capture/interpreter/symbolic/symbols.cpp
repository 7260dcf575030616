// Ints that may be others in the next call: sizes of inputs, ints among them, and what is computed from
// these. Only what is written here keeps them open; everything else looks at them, which fixes them.
#include <utility>

#include "core/capture/guards/source_reader.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/recording/symbolic_int.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static void open_integer(Tracer& t, Value* v);
static std::string sizes_text(Tracer& t, const Values& dims, const ir::TensorType& type);

namespace {

// Small powers are products.
constexpr int64_t kHighestPower = 4;
// Shifts by as much are products and quotients of 64 bits.
constexpr int64_t kMostBits = 62;

bool fits(PyObject* o, int64_t* n) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  *n = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}

// A symbol, or an int of 64 bits, as an operand; nothing for other values.
std::optional<ir::Sym> symbol_of(const Value& v) {
  int64_t n = 0;
  if (v.is(ValueKind::Symbol)) return v.as<SymbolValue>().sym;
  if (v.is(ValueKind::Constant) && fits(v.obj, &n)) return ir::Sym(n);
  return std::nullopt;
}

}  // namespace

// Where a question is asked: the user's line.
std::string asked_at(Tracer& t) {
  const ir::Origin o = t.origin();
  return o.file + ":" + std::to_string(o.line);
}

bool dynamic(const Tracer& t) {
  return t.sizes.last_stand_in != 0 || !t.sizes.symbolic->table.symbols().empty() ||
         !t.sizes.symbolic->inputs.empty();
}

Value* symbol_value(Tracer& t, const ir::Sym& sym) {
  Value* v = t.integer(sym.hint());
  if (!sym.symbolic()) return v;
  become(v, ValueKind::Symbol);
  v->as<SymbolValue>().sym = sym;
  return v;
}

Value* symbolic(Tracer& t, Value* v) {
  v = resolve(v);
  if (t.pure.since >= 0 && v->source) {  // PyTorch will read this number itself
    if (v->is(ValueKind::Symbol)) t.look(v);
    return nullptr;
  }
  if (v->is(ValueKind::Lazy) && v->obj && v->source && !v->pinned && PyLong_CheckExact(v->obj))
    open_integer(t, v);
  return v->is(ValueKind::Symbol) ? v : nullptr;
}

Value* peek(Tracer& t, Value* v) {
  Value* open = symbolic(t, v);
  return open ? open : t.look(v);
}

namespace {

bool is_argument(const Source* source) {
  for (; source; source = source->base)
    if (source->kind == SourceKind::Local) return !source->base;
  return false;
}

}  // namespace

// The class of the module whose attribute it is, or in whose attribute it is an item; nullptr: it is none.
static PyTypeObject* module_of_member(const Tracer& t, const Source* source) {
  while (source->kind == SourceKind::Item && source->base) source = source->base;
  if (!source->base || (source->kind != SourceKind::InstanceDict && source->kind != SourceKind::Attr))
    return nullptr;
  Temporaries keep;
  PyObject* owner = read_source(*source->base, t.frames.live, keep);
  return owner && torch_names().is_module(Py_TYPE(owner)) ? Py_TYPE(owner) : nullptr;
}

// mark_static on a class of modules: ints among the attributes of its instances stay what they are.
static bool is_marked_static(PyTypeObject* module) {
  PyRef marked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(module), "_dynamo_marked_static"));
  PyErr_Clear();
  return marked.get() == Py_True;
}

static std::string why_changed(const SizeHistory::Change& change) {
  return change.before == kBeforeTheFirst ? "a symbol of the graph that was given"
                                          : "changed: it was " + std::to_string(change.before);
}

// An int of the user's that has changed between two compilations. With dynamic=True those that are handed in
// are symbols from the start; a module's are how it was built, as a number of heads.
void open_integer(Tracer& t, Value* v) {
  int64_t n = 0;
  if (!t.options.sizes || t.options.dynamic == DynamicMode::Never || !fits(v->obj, &n)) return;
  if (!t.options.ints_vary) return;
  const SizeHistory::Change change = t.options.sizes->note(v->source->path() + " int", {n}).at(0);
  const bool always = t.options.dynamic == DynamicMode::Always && is_argument(v->source);
  if (!change.changed && !always) return;
  PyTypeObject* const module = module_of_member(t, v->source);
  if (module && (!change.changed || is_marked_static(module))) return;
  t.guard(GuardKind::TypeIs, v->source, reinterpret_cast<PyObject*>(&PyLong_Type), 0, "", nullptr, "a int");
  Symbolic::Input input{v->source, false, {static_cast<int32_t>(t.sizes.symbolic->table.symbols().size())}};
  become(v, ValueKind::Symbol);
  v->as<SymbolValue>().sym = t.sizes.symbolic->table.integer(v->source->path(), n);
  v->typed = true;
  t.sizes.symbolic->inputs.push_back(std::move(input));
  t.sizes.symbolic->origins.push_back({change.changed ? why_changed(change) : "dynamic=True"});
}

// Which sizes of an input are symbols, and why.
static std::optional<Symbolic::Origin> size_origin(const Tracer& t, const SizeMark& mark,
                                                   const SizeHistory::Change& change, int64_t size,
                                                   ir::NodeKind kind) {
  if (size < 2) return {};
  if (mark.dynamic) {
    Symbolic::Origin origin{"marked dynamic", mark};
    origin.mark.enforced = mark.enforced && t.options.marks_bind;
    return origin;
  }
  if (mark.fixed || t.options.dynamic == DynamicMode::Never) return {};
  if (change.changed) return Symbolic::Origin{why_changed(change)};
  if (t.options.dynamic == DynamicMode::Always && kind == ir::NodeKind::placeholder)
    return Symbolic::Origin{"dynamic=True"};
  return {};
}

// Sizes that were marked as one (shape_id) are.
static void join_group(Tracer& t, int32_t symbol, const std::string& group) {
  if (group.empty()) return;
  const ir::SymPlace place(t.sizes.symbolic->table, "mark_unbacked");
  for (size_t i = 0; i < t.sizes.symbolic->origins.size(); ++i) {
    if (t.sizes.symbolic->origins[i].mark.group != group) continue;
    const ir::Sym other = t.sizes.symbolic->table.symbol(static_cast<int32_t>(i));
    const ir::Sym mine = t.sizes.symbolic->table.symbol(symbol);
    if (!(mine == other))
      throw MarkError{t.sizes.symbolic->table.symbols()[static_cast<size_t>(symbol)].source,
                      std::to_string(mine.hint()) + " is not " + std::to_string(other.hint()) +
                          ", although both are marked with shape_id '" + group + "'",
                      asked_at(t)};
    return;
  }
}

// The sizes of an input as values; those that are symbols leave the guard on the tensor.
void open_sizes(Tracer& t, Value* v, PyObject* real, ir::NodeKind kind) {
  const torch_api::TensorView view = torch_api::view(torch_api::handle_of(real));
  const auto n = static_cast<size_t>(view.ndim);
  std::vector<int64_t> sizes(view.sizes, view.sizes + n);
  Symbolic::Input input{v->source, true, std::vector<int32_t>(n, -1)};
  Values dims;
  bool open = false;
  if (t.options.sizes && kind != ir::NodeKind::parameter) {
    t.guards.last().heeds_marks = true;
    const auto changes = t.options.sizes->note(v->source->path(), sizes);
    const auto marks = size_marks(real, n);
    open = t.options.sizes->note_pitch(v->source->path(), sizes, {view.strides, n}) &&
           t.options.dynamic != DynamicMode::Never;
    const bool of_data = t.options.is_piece && t.options.dynamic != DynamicMode::Never &&
                         v->source->root()->kind == SourceKind::Stack;
    for (size_t d = 0; d < n; ++d) {
      const std::string name = v->source->path() + ".size(" + std::to_string(d) + ")";
      if (marks[d].contradicts(sizes[d]))
        throw MarkError{name, std::to_string(sizes[d]) + " not in range " + ir::range_text(marks[d].range),
                        asked_at(t)};
      auto origin = size_origin(t, marks[d], changes[d], sizes[d], kind);
      if (!origin && of_data && d == 0 && sizes[d] >= 2) origin = Symbolic::Origin{"depends on data"};
      if (!origin) continue;
      const auto symbol = static_cast<int32_t>(t.sizes.symbolic->table.symbols().size());
      input.symbols[d] = symbol;
      t.sizes.symbolic->table.size(name, sizes[d], marks[d].range);
      join_group(t, symbol, marks[d].group);
      t.sizes.symbolic->origins.push_back(std::move(*origin));
      open = true;
    }
  }
  for (size_t d = 0; d < n; ++d)
    dims.push_back(input.symbols[d] < 0 ? t.integer(sizes[d])
                                        : symbol_value(t, t.sizes.symbolic->table.symbol(input.symbols[d])));
  if (open) {
    t.guards.last().free_sizes.assign(n, false);
    for (size_t d = 0; d < n; ++d) t.guards.last().free_sizes[d] = input.symbols[d] >= 0;
    t.guards.last().expected = sizes_text(t, dims, torch_api::type_of(real));
    t.sizes.symbolic->inputs.push_back(std::move(input));
    t.sizes.open_inputs.push_back(v);
  }
  t.sizes.of_tensors.emplace(v, std::move(dims));
}

// "f32[s0,8]"
std::string sizes_text(Tracer& t, const Values& dims, const ir::TensorType& type) {
  std::string out;
  for (Value* d : dims) out += (out.empty() ? "" : ",") + describe(t, d);
  return std::string(ir::dtype_name(type.dtype)) + "[" + out + "]" +
         (type.device.is_cpu() ? "" : type.device.text());
}

namespace {

// {tensor, arguments...}, as a tuple.
PyRef question_arguments(Value* tensor, const std::vector<PyObject*>& more) {
  PyRef args(PyTuple_New(static_cast<Py_ssize_t>(more.size()) + 1));
  PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(tensor->obj));
  for (size_t i = 0; i < more.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i) + 1, Py_NewRef(more[i]));
  return args;
}

}  // namespace

// A fact about a tensor that the program has used, when it could be another one with other sizes.
Value* fact(Tracer& t, PyObject* callable, PyObject* args, bool may_change) {
  PyRef answer(PyObject_Call(callable, args, nullptr));
  if (!answer) t.raise_python();
  if (may_change && dynamic(t)) {
    t.lowering().note_question(callable, args);
    t.sizes.symbolic->questions.push_back({-1, Py_NewRef(answer.get())});
  }
  return t.fold(answer.release());
}

Value* symbol_of_question(Tracer& t, const std::string& text, int64_t answer, int64_t least, int32_t node) {
  Symbolic& symbolic = *t.sizes.symbolic;
  const auto number = static_cast<int32_t>(symbolic.table.symbols().size());
  const ir::Sym sym = t.sizes.last_stand_in ? symbolic.table.integer(text, answer, {.lo = least})
                                            : symbolic.table.size(text, answer);
  symbolic.origins.push_back({"computed from other sizes at " + asked_at(t), {}, node});
  symbolic.questions.push_back({number, nullptr});
  return symbol_value(t, sym);
}

// The size or stride of a tensor in one dim; `d` from 0.
static Value* open_fact(Tracer& t, Value* tensor, const char* method, int64_t d) {
  PyRef function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(torch_names().tensor), method));
  PyRef index(PyLong_FromLongLong(d));
  PyRef args = question_arguments(tensor, {index.get()});
  PyRef answer(PyObject_Call(function.get(), args.get(), nullptr));
  if (!answer) t.raise_python();
  const int64_t n = PyLong_AsLongLong(answer.get());
  if (n < 2) return fact(t, function.get(), args.get());
  t.lowering().note_question(function.get(), args.get());
  const ir::Ref ref = t.lowering().captured_ref(tensor->obj);
  const std::string text = "value " + std::to_string(ref.node) + "." + method + "(" + std::to_string(d) + ")";
  return symbol_of_question(t, text, n, 0, ref.node);
}

Value* dimension(Tracer& t, Value* tensor, int64_t d) {
  if (auto known = t.sizes.of_tensors.find(tensor); known != t.sizes.of_tensors.end())
    return known->second.at(static_cast<size_t>(d));
  if (dynamic(t)) return open_fact(t, tensor, "size", d);
  return t.integer(torch_api::view(torch_api::handle_of(tensor->obj)).sizes[d]);
}

// Sizes of a tensor whose shape the program asks for; a call may have changed them in place before.
static Values dimensions(Tracer& t, Value* tensor) {
  const int64_t n = int_of(t, tensor_method(t, tensor, "dim", nullptr, {}), "dim()");
  Values out;
  for (int64_t d = 0; d < n; ++d) out.push_back(dimension(t, tensor, d));
  if (dynamic(t)) t.sizes.of_tensors.emplace(tensor, out);
  return out;
}

// What the program asks of a tensor that no data is needed for. nullptr: a question of another kind.
Value* size_question(Tracer& t, Value* tensor, const std::string& name, const Arguments& a) {
  if (!dynamic(t)) return nullptr;
  const bool strides = name == "stride";
  if (name == "__len__") {
    const Values dims = dimensions(t, tensor);
    if (dims.empty()) t.raise(PyExc_TypeError, "len() of a 0-d tensor");
    return dims[0];
  }
  if (name == "shape" || name == "size" || strides) {
    Value* dim = a.positional.empty() ? a.find("dim") : a.positional[0];
    const Values sizes = dimensions(t, tensor);
    const auto n = static_cast<int64_t>(sizes.size());
    const auto one = [&](int64_t d) {
      return strides ? open_fact(t, tensor, "stride", d) : sizes[static_cast<size_t>(d)];
    };
    if (dim && !is_none(t, dim)) {
      int64_t d = int_of(t, dim, "a dimension");
      if (d < 0) d += n;
      if (d < 0 || d >= n) return nullptr;  // PyTorch words the error
      return one(d);
    }
    Values all;
    for (int64_t d = 0; d < n; ++d) all.push_back(one(d));
    return t.sequence(ValueKind::Tuple, std::move(all), strides ? nullptr : torch_names().size);
  }
  if (name == "numel" || name == "nelement") {
    Value* product = t.integer(1);
    for (Value* d : dimensions(t, tensor)) product = binary(t, "mul", product, d);
    return product;
  }
  return nullptr;
}

// A call that works in place may give a tensor another shape.
void forget_sizes(Tracer& t, const std::string& call) {
  if (!call.empty() && (call.back() == '_' || call.find("setattr") != std::string::npos))
    t.sizes.of_tensors.clear();
}

void settle(Tracer& t, Value* v) {
  const Nested nested(t.frames.nesting);
  v = t.look(v);
  if (v->is(ValueKind::Tuple) || v->is(ValueKind::List) || v->is(ValueKind::Slice))
    for (Value* item : v->items()) settle(t, item);
}

// The whole trace holds for these sizes and strides only.
void fix_all_sizes(Tracer& t) {
  const ir::SymPlace place(t.sizes.symbolic->table, asked_at(t));
  for (size_t i = 0; i < t.sizes.symbolic->table.symbols().size(); ++i)
    (void)static_cast<int64_t>(t.sizes.symbolic->table.symbol(static_cast<int32_t>(i)));
  if (t.sizes.open_inputs.empty()) return;
  PyRef strides(PyObject_GetAttrString(reinterpret_cast<PyObject*>(torch_names().tensor), "stride"));
  for (Value* input : std::exchange(t.sizes.open_inputs, {})) {
    PyRef args = question_arguments(input, {});
    fact(t, strides.get(), args.get());
  }
}

// A tuple or a torch.Size of the numbers that these are now; nothing where one is no number.
PyObject* hints_of(Tracer& t, Value* v) {
  PyRef list(PyList_New(0));
  for (Value* item : v->items()) {
    item = peek(t, item);
    if ((!item->is(ValueKind::Symbol) && !item->is(ValueKind::Constant)) || !PyLong_CheckExact(item->obj) ||
        PyList_Append(list.get(), item->obj) != 0)
      return nullptr;
  }
  PyTypeObject* type = v->cls == torch_names().size ? v->cls : &PyTuple_Type;
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), list.get());
}

Value* symbolic_binary(Tracer& t, const std::string& op, Value* a, Value* b) {
  const std::optional<ir::Sym> left = symbol_of(*a), right = symbol_of(*b);
  if (!left || !right) return nullptr;
  const ir::Sym &x = *left, &y = *right;
  const ir::SymPlace place(t.sizes.symbolic->table, asked_at(t));
  try {
    if (op == "add") return symbol_value(t, x + y);
    if (op == "sub") return symbol_value(t, x - y);
    if (op == "mul") return symbol_value(t, x * y);
    if (op == "floordiv" && y.hint() != 0) return symbol_value(t, floordiv(x, y));
    if (op == "mod" && y.hint() != 0) return symbol_value(t, mod(x, y));
    const bool few = !y.symbolic() && y.hint() >= 0 && y.hint() < kMostBits;
    if (op == "lshift" && few) return symbol_value(t, x * (int64_t{1} << y.hint()));
    if (op == "rshift" && few) return symbol_value(t, floordiv(x, ir::Sym(int64_t{1} << y.hint())));
    if (op == "pow" && !y.symbolic() && y.hint() >= 0 && y.hint() <= kHighestPower) {
      ir::Sym product(1);
      for (int64_t i = 0; i < y.hint(); ++i) product = product * x;
      return symbol_value(t, product);
    }
  } catch (const InternalError&) {  // it leaves 64 bits: Python's ints do not
    return nullptr;
  }
  return integer_of_sizes(t, torch_names().operator_function(op), {a, b});
}

namespace {

// What the ranges say of a comparison; nothing where they leave it open.
std::optional<bool> decided(int op, const ir::SymbolTable& table, const ir::Sym& x, const ir::Sym& y) {
  const ir::SymRange gap = table.range(x - y);
  const bool above = gap.lo > 0, below = gap.hi < 0, same = gap.lo == 0 && gap.hi == 0;
  const auto answer = [](bool yes, bool no) { return yes || no ? std::optional<bool>(yes) : std::nullopt; };
  switch (op) {
    case Py_LT:
      return answer(below, gap.lo >= 0);
    case Py_LE:
      return answer(gap.hi <= 0, above);
    case Py_EQ:
      return answer(same, above || below);
    case Py_NE:
      return answer(above || below, same);
    case Py_GT:
      return answer(above, gap.hi <= 0);
    default:
      return answer(gap.lo >= 0, below);
  }
}

// The same, where their difference may leave 64 bits: that is open.
std::optional<bool> decided_or_open(int op, const ir::SymbolTable& table, const ir::Sym& x,
                                    const ir::Sym& y) {
  try {
    return decided(op, table, x, y);
  } catch (const InternalError&) {
    return std::nullopt;
  }
}

bool compared(int op, const ir::Sym& x, const ir::Sym& y) {
  switch (op) {
    case Py_LT:
      return x < y;
    case Py_LE:
      return x <= y;
    case Py_EQ:
      return x == y;
    case Py_NE:
      return !(x == y);
    case Py_GT:
      return x > y;
    default:
      return x >= y;
  }
}

// A function of torch.fx.experimental.symbolic_shapes, where the program has loaded that.
PyObject* of_symbolic_shapes(const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.fx.experimental.symbolic_shapes");
  return module && PyModule_Check(module) ? PyDict_GetItemString(PyModule_GetDict(module), name) : nullptr;
}

// What a comparison that is open counts as where such a function asks, so that it says False; nothing: it is
// another function.
std::optional<bool> as_if_open(PyObject* function) {
  if (function && function == of_symbolic_shapes("statically_known_true")) return false;
  if (function && function == of_symbolic_shapes("statically_known_false")) return true;
  return std::nullopt;
}

}  // namespace

Value* symbolic_compare(Tracer& t, int op, Value* a, Value* b) {
  const std::optional<ir::Sym> left = symbol_of(*a), right = symbol_of(*b);
  if (!left || !right) return nullptr;
  const bool open = !decided_or_open(op, t.sizes.symbolic->table, *left, *right);
  const ir::SymPlace place(t.sizes.symbolic->table, asked_at(t));
  Value* answer = t.boolean(compared(op, *left, *right));
  if (open) t.sizes.guarded_comparisons.insert(answer);
  return answer;
}

Value* compared_without_guard(Tracer& t, Value* function, int op, Value* a, Value* b) {
  const std::optional<bool> if_open = as_if_open(resolve(function)->obj);  // the call itself guards it
  if (!if_open) return nullptr;
  a = peek(t, a);
  b = peek(t, b);
  if (!a->is(ValueKind::Symbol) && !b->is(ValueKind::Symbol)) return nullptr;
  const std::optional<ir::Sym> left = symbol_of(*a), right = symbol_of(*b);
  if (!left || !right) return nullptr;
  return t.boolean(decided_or_open(op, t.sizes.symbolic->table, *left, *right).value_or(*if_open));
}

Value* known_before_its_guard(Tracer& t, PyObject* function, const Arguments& a) {
  if (a.positional.size() != 1 || !t.sizes.guarded_comparisons.contains(resolve(a.positional[0])))
    return nullptr;
  return as_if_open(function) ? t.boolean(false) : nullptr;
}

// An int that PyTorch takes for its hint, and a recording for a symbol.
PyObject* symbol_object(Tracer& t, Value* v) {
  const int32_t number = t.sizes.symbolic->number_of(v->as<SymbolValue>().sym);
  t.sizes.symbolic->in_calls.push_back(number);
  PyObject* made = torch_api::make_symbolic_int(v->as<SymbolValue>().sym.hint(), number);
  if (!made) t.raise_python();
  return made;
}

}  // namespace vitrine::capture
