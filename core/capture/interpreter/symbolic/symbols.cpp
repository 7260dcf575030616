// Ints that may be others in the next call: sizes of inputs, ints among them, and what is computed from
// these. Only what is written here keeps them open; everything else looks at them, which fixes them.
#include <utility>

#include "core/capture/guards/source_reader.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"
#include "core/recording/symbolic_int.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
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
  if (v.kind == Kind::Symbol) return v.sym;
  if (v.kind == Kind::Constant && fits(v.obj, &n)) return ir::Sym(n);
  return std::nullopt;
}

}  // namespace

// Where a question is asked: the user's line.
std::string Tracer::asked_at() {
  const ir::Origin o = origin();
  return o.file + ":" + std::to_string(o.line);
}

bool Tracer::dynamic() const {
  return !symbolic_->table.symbols().empty() || !symbolic_->inputs.empty();
}

Value* Tracer::symbol_value(const ir::Sym& sym) {
  Value* v = integer(sym.hint());
  if (!sym.symbolic()) return v;
  v->kind = Kind::Symbol;
  v->sym = sym;
  return v;
}

Value* Tracer::symbolic(Value* v) {
  v = resolve(v);
  if (pure_since_ >= 0 && v->source) {  // PyTorch will read this number itself
    if (v->kind == Kind::Symbol) look(v);
    return nullptr;
  }
  if (v->kind == Kind::Lazy && v->obj && v->source && !v->pinned && PyLong_CheckExact(v->obj))
    open_integer(v);
  return v->kind == Kind::Symbol ? v : nullptr;
}

Value* Tracer::peek(Value* v) {
  Value* open = symbolic(v);
  return open ? open : look(v);
}

namespace {

bool is_argument(const Source* source) {
  for (; source; source = source->base)
    if (source->kind == SourceKind::Local) return !source->base;
  return false;
}

}  // namespace

// mark_static on a class of modules: ints among the attributes of its instances stay what they are.
bool Tracer::is_static_member(const Source* source) const {
  if (!source->base || (source->kind != SourceKind::InstanceDict && source->kind != SourceKind::Attr))
    return false;
  Temporaries keep;
  PyObject* owner = read_source(*source->base, live_, keep);
  if (!owner || !torch_names().is_module(Py_TYPE(owner))) return false;
  Owned marked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(owner)), "_dynamo_marked_static"));
  PyErr_Clear();
  return marked.get() == Py_True;
}

// An int of the user's that has changed between two compilations.
void Tracer::open_integer(Value* v) {
  int64_t n = 0;
  if (!options_.sizes || options_.dynamic == DynamicMode::Never || !fits(v->obj, &n)) return;
  const SizeHistory::Change change = options_.sizes->note(v->source->path() + " int", {n}).at(0);
  const bool always = options_.dynamic == DynamicMode::Always && is_argument(v->source);
  if ((!change.changed && !always) || is_static_member(v->source)) return;
  guard(GuardKind::TypeIs, v->source, reinterpret_cast<PyObject*>(&PyLong_Type), 0, "", nullptr, "a int");
  Symbolic::Input input{v->source, false, {static_cast<int32_t>(symbolic_->table.symbols().size())}};
  v->sym = symbolic_->table.integer(v->source->path(), n);
  v->kind = Kind::Symbol;
  v->typed = true;
  symbolic_->inputs.push_back(std::move(input));
  symbolic_->origins.push_back(
      {change.changed ? "changed: it was " + std::to_string(change.before) : "dynamic=True"});
}

// Which sizes of an input are symbols, and why.
std::optional<Symbolic::Origin> Tracer::size_origin(const SizeMark& mark, const SizeHistory::Change& change,
                                                    int64_t size, ir::NodeKind kind) const {
  if (size < 2) return {};
  if (mark.dynamic) return Symbolic::Origin{"marked dynamic", mark};
  if (mark.fixed || options_.dynamic == DynamicMode::Never) return {};
  if (change.changed) return Symbolic::Origin{"changed: it was " + std::to_string(change.before)};
  if (options_.dynamic == DynamicMode::Always && kind == ir::NodeKind::placeholder)
    return Symbolic::Origin{"dynamic=True"};
  return {};
}

// Sizes that were marked as one (shape_id) are.
void Tracer::join_group(int32_t symbol, const std::string& group) {
  if (group.empty()) return;
  const ir::SymPlace place(symbolic_->table, "mark_unbacked");
  for (size_t i = 0; i < symbolic_->origins.size(); ++i) {
    if (symbolic_->origins[i].mark.group != group) continue;
    const ir::Sym other = symbolic_->table.symbol(static_cast<int32_t>(i));
    const ir::Sym mine = symbolic_->table.symbol(symbol);
    if (!(mine == other))
      throw MarkError{symbolic_->table.symbols()[static_cast<size_t>(symbol)].source,
                      std::to_string(mine.hint()) + " is not " + std::to_string(other.hint()) +
                          ", although both are marked with shape_id '" + group + "'",
                      asked_at()};
    return;
  }
}

// The sizes of an input as values; those that are symbols leave the guard on the tensor.
void Tracer::open_sizes(Value* v, PyObject* real, ir::NodeKind kind) {
  const torch_api::TensorView view = torch_api::view(torch_api::handle_of(real));
  const auto n = static_cast<size_t>(view.ndim);
  std::vector<int64_t> sizes(view.sizes, view.sizes + n);
  Symbolic::Input input{v->source, true, std::vector<int32_t>(n, -1)};
  Values dims;
  bool open = false;
  if (options_.sizes && kind != ir::NodeKind::parameter) {
    guards_.back().heeds_marks = true;
    const auto changes = options_.sizes->note(v->source->path(), sizes);
    const auto marks = size_marks(real, n);
    open = options_.sizes->note_pitch(v->source->path(), sizes, {view.strides, n}) &&
           options_.dynamic != DynamicMode::Never;
    for (size_t d = 0; d < n; ++d) {
      const std::string name = v->source->path() + ".size(" + std::to_string(d) + ")";
      if (marks[d].contradicts(sizes[d]))
        throw MarkError{name, std::to_string(sizes[d]) + " not in range " + ir::range_text(marks[d].range),
                        asked_at()};
      auto origin = size_origin(marks[d], changes[d], sizes[d], kind);
      if (!origin) continue;
      const auto symbol = static_cast<int32_t>(symbolic_->table.symbols().size());
      input.symbols[d] = symbol;
      symbolic_->table.size(name, sizes[d], marks[d].range);
      join_group(symbol, marks[d].group);
      symbolic_->origins.push_back(std::move(*origin));
      open = true;
    }
  }
  for (size_t d = 0; d < n; ++d)
    dims.push_back(input.symbols[d] < 0 ? integer(sizes[d])
                                        : symbol_value(symbolic_->table.symbol(input.symbols[d])));
  if (open) {
    guards_.back().free_sizes.assign(n, false);
    for (size_t d = 0; d < n; ++d) guards_.back().free_sizes[d] = input.symbols[d] >= 0;
    guards_.back().expected = sizes_text(dims, torch_api::type_of(real));
    symbolic_->inputs.push_back(std::move(input));
    open_inputs_.push_back(v);
  }
  sizes_.emplace(v, std::move(dims));
}

// "f32[s0,8]"
std::string Tracer::sizes_text(const Values& dims, const ir::TensorType& type) {
  std::string out;
  for (Value* d : dims) out += (out.empty() ? "" : ",") + describe(d);
  return std::string(ir::dtype_name(type.dtype)) + "[" + out + "]" +
         (type.device.is_cpu() ? "" : type.device.text());
}

namespace {

// {tensor, arguments...}, as a tuple.
Owned question_arguments(Value* tensor, const std::vector<PyObject*>& more) {
  Owned args(PyTuple_New(static_cast<Py_ssize_t>(more.size()) + 1));
  PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(tensor->obj));
  for (size_t i = 0; i < more.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i) + 1, Py_NewRef(more[i]));
  return args;
}

}  // namespace

// A fact about a tensor that the program has used, when it could be another one with other sizes.
Value* Tracer::fact(PyObject* callable, PyObject* args) {
  Owned answer(PyObject_Call(callable, args, nullptr));
  if (!answer) raise_python();
  if (dynamic()) {
    lowering_->note_question(callable, args);
    symbolic_->questions.push_back({-1, Py_NewRef(answer.get())});
  }
  return fold(answer.release());
}

// The size or stride of a tensor in one dim; `d` from 0.
Value* Tracer::open_fact(Value* tensor, const char* method, int64_t d) {
  Owned function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(torch_names().tensor), method));
  Owned index(PyLong_FromLongLong(d));
  Owned args = question_arguments(tensor, {index.get()});
  Owned answer(PyObject_Call(function.get(), args.get(), nullptr));
  if (!answer) raise_python();
  const int64_t n = PyLong_AsLongLong(answer.get());
  if (n < 2) return fact(function.get(), args.get());
  lowering_->note_question(function.get(), args.get());
  const auto number = static_cast<int32_t>(symbolic_->table.symbols().size());
  const ir::Ref ref = lowering_->captured_ref(tensor->obj);
  const ir::Sym sym = symbolic_->table.size(
      "value " + std::to_string(ref.node) + "." + method + "(" + std::to_string(d) + ")", n);
  symbolic_->origins.push_back({"computed from other sizes at " + asked_at(), {}, ref.node});
  symbolic_->questions.push_back({number, nullptr});
  return symbol_value(sym);
}

Value* Tracer::dimension(Value* tensor, int64_t d) {
  if (auto known = sizes_.find(tensor); known != sizes_.end())
    return known->second.at(static_cast<size_t>(d));
  if (dynamic()) return open_fact(tensor, "size", d);
  return integer(torch_api::view(torch_api::handle_of(tensor->obj)).sizes[d]);
}

// Sizes of a tensor whose shape the program asks for; a call may have changed them in place before.
Values Tracer::dimensions(Value* tensor) {
  const int64_t n = int_of(tensor_method(tensor, "dim", nullptr, {}), "dim()");
  Values out;
  for (int64_t d = 0; d < n; ++d) out.push_back(dimension(tensor, d));
  if (dynamic()) sizes_.emplace(tensor, out);
  return out;
}

// What the program asks of a tensor that no data is needed for. nullptr: a question of another kind.
Value* Tracer::size_question(Value* tensor, const std::string& name, const Arguments& a) {
  if (!dynamic()) return nullptr;
  const bool strides = name == "stride";
  if (name == "__len__") {
    const Values dims = dimensions(tensor);
    if (dims.empty()) raise(PyExc_TypeError, "len() of a 0-d tensor");
    return dims[0];
  }
  if (name == "shape" || name == "size" || strides) {
    Value* dim = a.positional.empty() ? a.find("dim") : a.positional[0];
    const Values sizes = dimensions(tensor);
    const auto n = static_cast<int64_t>(sizes.size());
    const auto one = [&](int64_t d) {
      return strides ? open_fact(tensor, "stride", d) : sizes[static_cast<size_t>(d)];
    };
    if (dim && !is_none(dim)) {
      int64_t d = int_of(dim, "a dimension");
      if (d < 0) d += n;
      if (d < 0 || d >= n) return nullptr;  // PyTorch words the error
      return one(d);
    }
    Values all;
    for (int64_t d = 0; d < n; ++d) all.push_back(one(d));
    return sequence(Kind::Tuple, std::move(all), strides ? nullptr : torch_names().size);
  }
  if (name == "numel" || name == "nelement") {
    Value* product = integer(1);
    for (Value* d : dimensions(tensor)) product = binary("mul", product, d);
    return product;
  }
  return nullptr;
}

// A call that works in place may give a tensor another shape.
void Tracer::forget_sizes(const std::string& call) {
  if (!call.empty() && (call.back() == '_' || call.find("setattr") != std::string::npos)) sizes_.clear();
}

void Tracer::settle(Value* v) {
  const Nested nested(nesting_);
  v = look(v);
  if (v->kind == Kind::Tuple || v->kind == Kind::List || v->kind == Kind::Slice)
    for (Value* item : v->items) settle(item);
}

// The whole trace holds for these sizes and strides only.
void Tracer::fix_all_sizes() {
  const ir::SymPlace place(symbolic_->table, asked_at());
  for (size_t i = 0; i < symbolic_->table.symbols().size(); ++i)
    (void)static_cast<int64_t>(symbolic_->table.symbol(static_cast<int32_t>(i)));
  if (open_inputs_.empty()) return;
  Owned strides(PyObject_GetAttrString(reinterpret_cast<PyObject*>(torch_names().tensor), "stride"));
  for (Value* input : std::exchange(open_inputs_, {})) {
    Owned args = question_arguments(input, {});
    fact(strides.get(), args.get());
  }
}

// A tuple or a torch.Size of the numbers that these are now; nothing where one is no number.
PyObject* Tracer::hints_of(Value* v) {
  Owned list(PyList_New(0));
  for (Value* item : v->items) {
    item = peek(item);
    if ((item->kind != Kind::Symbol && item->kind != Kind::Constant) || !PyLong_CheckExact(item->obj) ||
        PyList_Append(list.get(), item->obj) != 0)
      return nullptr;
  }
  PyTypeObject* type = v->cls == torch_names().size ? v->cls : &PyTuple_Type;
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), list.get());
}

Value* Tracer::symbolic_binary(const std::string& op, Value* a, Value* b) {
  const std::optional<ir::Sym> left = symbol_of(*a), right = symbol_of(*b);
  if (!left || !right) return nullptr;
  const ir::Sym &x = *left, &y = *right;
  const ir::SymPlace place(symbolic_->table, asked_at());
  try {
    if (op == "add") return symbol_value(x + y);
    if (op == "sub") return symbol_value(x - y);
    if (op == "mul") return symbol_value(x * y);
    if (op == "floordiv" && y.hint() != 0) return symbol_value(floordiv(x, y));
    if (op == "mod" && y.hint() != 0) return symbol_value(mod(x, y));
    const bool few = !y.symbolic() && y.hint() >= 0 && y.hint() < kMostBits;
    if (op == "lshift" && few) return symbol_value(x * (int64_t{1} << y.hint()));
    if (op == "rshift" && few) return symbol_value(floordiv(x, ir::Sym(int64_t{1} << y.hint())));
    if (op == "pow" && !y.symbolic() && y.hint() >= 0 && y.hint() <= kHighestPower) {
      ir::Sym product(1);
      for (int64_t i = 0; i < y.hint(); ++i) product = product * x;
      return symbol_value(product);
    }
  } catch (const InternalError&) {  // it leaves 64 bits: Python's ints do not
    return nullptr;
  }
  return integer_of_sizes(torch_names().operator_function(op), {a, b});
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

Value* Tracer::symbolic_compare(int op, Value* a, Value* b) {
  const std::optional<ir::Sym> left = symbol_of(*a), right = symbol_of(*b);
  if (!left || !right) return nullptr;
  const bool open = !decided_or_open(op, symbolic_->table, *left, *right);
  const ir::SymPlace place(symbolic_->table, asked_at());
  Value* answer = boolean(compared(op, *left, *right));
  if (open) guarded_comparisons_.insert(answer);
  return answer;
}

Value* Tracer::compared_without_guard(Value* function, int op, Value* a, Value* b) {
  const std::optional<bool> if_open = as_if_open(resolve(function)->obj);  // the call itself guards it
  if (!if_open) return nullptr;
  a = peek(a);
  b = peek(b);
  if (a->kind != Kind::Symbol && b->kind != Kind::Symbol) return nullptr;
  const std::optional<ir::Sym> left = symbol_of(*a), right = symbol_of(*b);
  if (!left || !right) return nullptr;
  return boolean(decided_or_open(op, symbolic_->table, *left, *right).value_or(*if_open));
}

Value* Tracer::known_before_its_guard(PyObject* function, const Arguments& a) {
  if (a.positional.size() != 1 || !guarded_comparisons_.contains(resolve(a.positional[0]))) return nullptr;
  return as_if_open(function) ? boolean(false) : nullptr;
}

// An int that PyTorch takes for its hint, and a recording for a symbol.
PyObject* Tracer::symbol_object(Value* v) {
  const int32_t number = symbolic_->number_of(v->sym);
  symbolic_->in_calls.push_back(number);
  PyObject* made = torch_api::make_symbolic_int(v->sym.hint(), number);
  if (!made) raise_python();
  return made;
}

}  // namespace vitrine::capture
