#include "core/codegen/cuda/thread_text.h"

#include <algorithm>
#include <limits>

#include "core/codegen/cuda/prelude.h"
#include "core/codegen/schedule/index_text.h"
#include "core/codegen/schedule/naming.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

using fusion::Statement;
using ir::DType;

namespace {

constexpr int kLaneBytes = 16;

}  // namespace

std::string memory_type(DType t) {
  return t == DType::b1 ? "bool" : std::string(ir::dtype_name(t));
}
std::string lane_type(DType t) {
  return memory_type(fusion::lane_dtype(t));
}

std::string pointer_to_value(const Argument& a) {
  return "const " + memory_type(a.dtype) + "* in_" + a.name + " = &value_" + a.name + ";";
}
std::vector<int32_t> value_bytes(const std::vector<Argument>& arguments) {
  std::vector<int32_t> out;
  bool any = false;
  for (const Argument& a : arguments) {
    out.push_back(a.by_value ? static_cast<int32_t>(ir::dtype_bytes(a.dtype)) : 0);
    any = any || a.by_value;
  }
  return any ? out : std::vector<int32_t>();
}

namespace {

// Whether it is far from the end of 32 bits. Where the size at hand is not, nothing is asked.
bool is_narrow(const ir::Sym& n) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max() / 2;
  return n.hint() < kFar && n < kFar;
}

}  // namespace

ThreadText::ThreadText(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
                       const LaunchShape& shape, size_t launch, SizeMemory* sizes)
    : program_(program),
      unit_(unit),
      s_(s),
      shape_(shape),
      launch_(launch),
      sizes_(sizes),
      index_(s, [this](const ir::Sym& n) { return sized(n); }),
      loads_(s, index_, shape.vector, shape.shifted,
             [this](const OperandSource& from) { return named(from); }),
      index_type_(counts_narrow() ? "i32" : "i64") {}

Kernel ThreadText::kernel() {
  kernel_.name = kernel_name(program_, unit_);
  kernel_.space = space(static_cast<std::string (*)(const ir::Sym&)>(ir::text));
  kernel_.family = s_.reduces ? "reduction" : "pointwise";
  kernel_.nodes = fusion::nodes_of(program_, unit_);
  kernel_.grid = {shape_.blocks, shape_.threads,
                  program_.graph->node(kernel_.nodes.front()).type().device.index};
  kernel_.grid.shared = shape_.shared;
  kernel_.work = s_.row_count() * s_.columns();
  kernel_.checks = s_.gathers();
  kernel_.draws = s_.draws();
  count_costs();
  const std::string resident = shape_.resident > 0 ? ", " + num(shape_.resident) : "",
                    cluster = clustered() ? "__cluster_dims__(" + num(shape_.cluster) + ", 1, 1) " : "",
                    head = "extern \"C\" __global__ void " + cluster + "__launch_bounds__(" +
                           num(shape_.threads) + resident + ") ";
  std::vector<Argument> given;
  for (const Argument& a : s_.arguments)
    if (is_given(a)) given.push_back(a);
  kernel_.by_value = value_bytes(given);
  outside();
  functions(head);
  put_before("// " + kernel_.name + ": " + space([this](const ir::Sym& n) { return sized(n); }) +
             "\n// prelude: types, loads and stores, functions\n" + prelude_text(text_) +
             "// end of prelude\n\n");
  if (sizes_) {
    resolve_sizes(*sizes_, unit_.label + (launch_ ? "." + num(static_cast<int64_t>(launch_)) : ""), kernel_);
    measure_lines();
  }
  return std::move(kernel_);
}

void ThreadText::functions(const std::string& head) {
  const std::string test = alignment_test();
  if (test.empty()) {
    open_kernel(head);
    content();
    close();
    return;
  }
  // Accesses of several neighbours need pointers at multiples of their size. Tensors nearly always are; a
  // slice of one may not be.
  open("template <bool aligned> __device__ void compute(" + parameters(true) + ") {");
  content();
  close();
  line("");
  open_kernel(head);
  line("if (" + test + ")");
  line("  compute<true>(" + parameters(false) + ");");
  line("else");
  line("  compute<false>(" + parameters(false) + ");");
  close();
}
std::string ThreadText::alignment_test() const {
  std::string out;
  for (const Argument& a : s_.arguments)
    if (const int run = run_of(a); is_given(a) && run > 1)
      out += (out.empty() ? "" : " && ") + ("is_aligned(" + pointer(a)) + ", " +
             num(std::min<int64_t>(kLaneBytes, run * ir::dtype_bytes(a.dtype))) + ")";
  return out;
}

std::string ThreadText::space(const std::function<std::string(const ir::Sym&)>& number) const {
  const std::string columns = number(s_.columns());
  return s_.rows == 0 || s_.block > 0 ? columns : number(s_.row_count()) + " × " + columns;
}

void resolve_sizes(SizeMemory& sizes, const std::string& kernel, Kernel& out) {
  auto resolved = sizes.resolve(kernel, out.text);
  std::string declared, passed;
  for (const SizeMemory::Name& name : resolved.names) {
    const bool narrow = is_narrow(name.number) && is_narrow(-name.number);
    declared += (name.real ? ", f64 " : narrow ? ", i32 " : ", i64 ") + name.text;
    passed += ", " + name.text;
  }
  resolved.put(SizeMemory::kDeclaration, declared);
  resolved.put(SizeMemory::kPassed, passed);
  out.text = std::move(resolved.text);
  out.numbers = std::move(resolved.numbers);
}

void ThreadText::open_kernel(const std::string& head) {
  open(head + "vitrine_kernel(" + parameters(true, true) + ") {");
  for (const Argument& a : s_.arguments)
    if (a.by_value && is_given(a)) line(pointer_to_value(a));
  shape_.product > 0 ? fetch_matrices() : fetch_ahead();
  line("follow();");
}

// What a block reads of an input, if that is whole rows in one piece: nothing that runs before writes it.
void ThreadText::fetch_ahead() {
  // More than a little of it waits for memory that the kernels before need.
  constexpr int64_t kMostBytes = 32 << 10, kAlign = 16, kMostFetched = 4 << 20;
  const bool rows = s_.reduces && !s_.across && s_.parts == 1 && !s_.both_ways() && shape_.turned < 0 &&
                    shape_.cluster == 1 && shape_.product == 0 && !s_.columns().symbolic() &&
                    !s_.row_count().symbolic() && ir::divides(shape_.rows_a_block(), s_.row_count());
  if (!rows) return;
  for (const Load& l : s_.loads) {
    if (!l.affine() || l.per_row || l.stands_still(s_.rows) || !is_input(argument(l.argument))) continue;
    ir::Sym next = 1;
    bool dense = true;
    for (size_t d = s_.dims.size(); d-- > 0; next *= s_.dims[d])
      dense = dense && (l.strides[d].same(next) || s_.dims[d].same(1));
    const int64_t bytes = shape_.rows_a_block() * s_.columns().hint() * ir::dtype_bytes(l.dtype);
    if (!dense || l.offset.symbolic() || bytes % kAlign || bytes > kMostBytes) continue;
    fetch_of_blocks(l, kMostFetched / bytes, shape_.rows_a_block() * s_.columns().hint(), bytes);
  }
}
void ThreadText::fetch_of_blocks(const Load& l, int64_t blocks, int64_t step, int64_t bytes) {
  line((blocks < shape_.blocks.hint() ? "if (blockIdx.x < " + num(blocks) + ") " : "") + "prefetch(" +
           pointer(argument(l.argument)) + (l.offset.same(0) ? "" : " + " + num(l.offset.hint())) +
           " + (i64)blockIdx.x * " + num(step) + ", " + num(bytes) + ");",
       l.node);
}
// The begin of a block's rows of a matrix, likewise.
void ThreadText::fetch_matrices() {
  constexpr int64_t kBlockBytes = 32 << 10, kMostFetched = 4 << 20, kAlign = 16;
  int64_t fetched = 0;
  for (const Load& l : s_.loads) {
    if (l.kind != Load::Kind::memory || l.per_row || l.strides[s_.rows - 1].same(0)) continue;
    const bool dense = is_input(argument(l.argument)) && l.strides[s_.rows - 1].same(s_.columns()) &&
                       ir::divides(shape_.product, s_.dims[s_.rows - 1]) && !l.offset.symbolic();
    const int64_t tile = shape_.product * s_.columns().hint(),
                  bytes = std::min(kBlockBytes, tile * ir::dtype_bytes(l.dtype));
    const int64_t blocks = std::min((kMostFetched - fetched) / bytes, shape_.blocks.hint());
    if (!dense || bytes % kAlign || blocks <= 0) continue;
    fetched += blocks * bytes;
    fetch_of_blocks(l, blocks, tile, bytes);
  }
}
bool ThreadText::is_input(const Argument& a) const {
  return !a.written && !a.by_value && program_.graph->node(a.root.node).kind != ir::NodeKind::op;
}

// Neighbours of it that one access moves, at most.
int ThreadText::run_of(const Argument& a) const {
  int most = 1;
  for (const Load& l : s_.loads)
    if (l.argument >= 0 && &argument(l.argument) == &a && !l.per_row) most = std::max(most, run_of(l));
  for (const ScheduledValue& v : s_.values)
    if (v.store >= 0 && &argument(v.store) == &a && !v.per_row && !v.per_column && in_run(v))
      most = std::max(most, vector());
  return most;
}

void ThreadText::count_costs() {
  for (size_t i = 0; i < s_.values.size(); ++i)
    if (s_.computes(launch_, static_cast<int>(i))) kernel_.flops += kernel_.work;
  for (size_t i = 0; i < s_.arguments.size(); ++i)
    if (s_.touches(launch_, static_cast<int>(i)) && is_given(s_.arguments[i]))
      kernel_.bytes += argument_bytes(program_, s_, s_.arguments[i]);
}

std::string ThreadText::parameters(bool with_types, bool of_kernel) const {
  std::string out;
  for (const Argument& a : s_.arguments) {
    if (!is_given(a)) continue;
    out += out.empty() ? "" : ", ";
    if (of_kernel && a.by_value) {
      out += memory_type(a.dtype) + " value_" + a.name;
      continue;
    }
    if (with_types) out += (a.written ? "" : "const ") + memory_type(a.dtype) + "* ";
    out += pointer(a);
  }
  if (s_.leaves_sums())
    for (int i : s_.sums())
      out += ", " + (with_types ? lane_type(value(i).statement->dtype) + "* " : "") + part(value(i));
  out += more_parameters(with_types);
  if (sizes_) out += with_types ? SizeMemory::kDeclaration : SizeMemory::kPassed;
  if (s_.draws() >= 0) out += with_types ? ", u64 seed, u64 offset" : ", seed, offset";
  return out;
}

// Whether every place fits into 32 bits. A kernel for many sizes asks what holds for the one at hand.
bool ThreadText::counts_narrow() const {
  const ir::Sym rows = s_.row_count(), columns = s_.columns();
  if (!is_narrow(rows * columns) || !is_narrow(rows * s_.parts) || !is_narrow(s_.walkers * columns))
    return false;
  for (const Argument& a : s_.arguments) {
    const ir::TensorType& t = program_.graph->node(a.root.node).outputs[static_cast<size_t>(a.root.output)];
    ir::Sym reach = t.offset;
    for (size_t d = 0; d < t.sizes.size(); ++d)
      reach += (t.sizes[d] - 1) * (t.strides[d] < 0 ? -t.strides[d] : t.strides[d]);
    if (!is_narrow(reach)) return false;
  }
  return true;
}

void ThreadText::decode_row(size_t dims) {
  if (dims < 2) return;
  std::string rest = "r";
  for (size_t k = dims; k-- > 0;) {
    const std::string i = std::string(index_type()) + " i" + num(static_cast<int64_t>(k));
    if (k == 0) return line(i + " = " + rest + ";");
    const std::string n = sized(s_.dims[k]);
    line(i + " = " + rest + " % " + n + ";");
    rest = rest == "r" ? "r / " + n : rest + " / " + n;
  }
}
void ThreadText::decode_column() {
  if (s_.dims.size() - s_.rows < 2) return;
  std::string rest = "column";
  for (size_t k = s_.dims.size(); k-- > s_.rows;) {
    const bool last = k + 1 == s_.dims.size();
    const std::string i =
        std::string(index_type()) + (last ? " c" : " c" + num(static_cast<int64_t>(k - s_.rows)));
    if (k == s_.rows) return line(i + " = " + rest + ";");
    const std::string n = sized(s_.dims[k]);
    line(i + " = " + rest + " % " + n + ";");
    rest = rest == "column" ? "column / " + n : rest + " / " + n;
  }
}

Typed ThreadText::named(const OperandSource& s) const {
  if (s.kind == OperandSource::Kind::load)
    return {load(s.index).name, fusion::lane_dtype(load(s.index).dtype), true};
  return {value(s.index).name, lane_of(value(s.index)), true};
}
DType ThreadText::lane_of(const ScheduledValue& v) {
  return fusion::lane_dtype(v.statement->dtype);
}
std::string ThreadText::narrowed(const std::string& text, DType t) {
  if (t == DType::u8 || t == DType::i8 || t == DType::i16)
    return "i32(" + std::string(ir::dtype_name(t)) + "(" + text + "))";
  if (t == DType::f16 || t == DType::bf16)
    return "round_" + std::string(ir::dtype_name(t)) + "(" + text + ")";
  return text;
}
// Every operator's result is what memory would hold, as eager has it between operators.
std::string ThreadText::value_text(const ScheduledValue& v) const {
  const Statement& s = *v.statement;
  const std::string text = computed_text(v);
  return s.is_result() && !s_.only_moves(v) ? narrowed(text, s.dtype) : text;
}
std::string ThreadText::computed_text(const ScheduledValue& v) const {
  const Statement& s = *v.statement;
  if (const ScheduledValue* sum = inverted(v))
    return operand(v, s.expr->args[0]->operand).text + " * " + sum->inverse;
  const Narrow narrow = {s_.is_exponential(v) && s_.ends_narrow(static_cast<int>(&v - s_.values.data())),
                         s.is_result() && (s.dtype == DType::f16 || s.dtype == DType::bf16)};
  return expr_text(
             s.expr, s.compute, lane_of(v), [&](int i) { return operand(v, i); }, sizes_ != nullptr, narrow)
      .text;
}
bool ThreadText::stored_narrow(const ScheduledValue& v) const {
  const Statement& s = *v.statement;
  return (s.dtype == DType::f16 || s.dtype == DType::bf16) && s.is_result() && !s_.only_moves(v) &&
         argument(v.store).dtype == s.dtype && !(v.adds && !in_run(v));
}
void ThreadText::define(const ScheduledValue& v, bool stored) {
  const std::string head = lane_type(v.statement->dtype) + " " + v.name + " = ";
  if (!stored || !stored_narrow(v)) return line(head + value_text(v) + ";", v.node);
  const std::string type = memory_type(v.statement->dtype);
  line("const " + type + " st_" + v.name + " = to_" + type + "(" + computed_text(v) + ");", v.node);
  if (s_.is_read(static_cast<int>(&v - s_.values.data()))) line(head + "wide(st_" + v.name + ");", v.node);
}
std::string ThreadText::put_text(const std::string& to, const ScheduledValue& v) const {
  return stored_narrow(v) ? to + " = st_" + v.name + ";" : "put(" + to + ", " + v.name + ");";
}
// What is kept whole is divided as eager does.
const ScheduledValue* ThreadText::inverted(const ScheduledValue& v) const {
  return s_.ends_narrow(static_cast<int>(&v - s_.values.data())) ? s_.exponential_sum(v) : nullptr;
}
void ThreadText::define_inverse(const ScheduledValue& sum) {
  const bool wanted = std::any_of(s_.values.begin(), s_.values.end(),
                                  [&](const ScheduledValue& v) { return inverted(v) == &sum; });
  if (wanted) line("const f32 " + sum.inverse + " = 1.0f / " + sum.name + ";", sum.node);
}

std::string start_text(const ScheduledValue& v) {
  const DType lane = fusion::lane_dtype(v.statement->dtype);
  const double inf = std::numeric_limits<double>::infinity();
  switch (v.statement->reduce) {
    case Statement::Reduce::max:
      if (ir::is_float(lane)) return constant_text(-inf, lane);
      return lane == DType::i64 ? "-9223372036854775807ll - 1" : "-2147483647 - 1";
    case Statement::Reduce::min:
      if (ir::is_float(lane)) return constant_text(inf, lane);
      return lane == DType::i64 ? "9223372036854775807ll" : "2147483647";
    default:
      return constant_text(v.statement->reduce == Statement::Reduce::prod ? 1 : 0, lane);
  }
}
std::string joined(const ScheduledValue& v, const std::string& a, const std::string& b) {
  auto side = [](const std::string& t) { return t.find(' ') == std::string::npos ? t : "(" + t + ")"; };
  switch (v.statement->reduce) {
    case Statement::Reduce::max:
      return "maximum(" + a + ", " + b + ")";
    case Statement::Reduce::min:
      return "minimum(" + a + ", " + b + ")";
    case Statement::Reduce::prod:
      return a + " * " + side(b);
    default:
      return a + " + " + side(b);
  }
}
const char* functor(const ScheduledValue& v) {
  static constexpr const char* kFunctors[] = {"", "Sum", "Product", "Max", "Min"};
  return kFunctors[static_cast<size_t>(v.statement->reduce)];
}
std::vector<int> ThreadText::reductions(size_t phase) const {
  std::vector<int> out;
  for (int i : s_.phases[phase].values)
    if (reduces(value(i))) out.push_back(i);
  return out;
}

bool ThreadText::stores_here(size_t phase, int i) const {
  const ScheduledValue& v = value(i);
  return v.store >= 0 && !v.per_row && !reduces(v) && first_phase(i) == static_cast<int>(phase);
}
int ThreadText::first_phase(int value) const {
  for (size_t p = 0; p < s_.phases.size(); ++p)
    if (std::find(s_.phases[p].values.begin(), s_.phases[p].values.end(), value) != s_.phases[p].values.end())
      return static_cast<int>(p);
  return -1;
}
void ThreadText::comment(size_t phase) {
  if (s_.phases.size() < 2) return;
  std::string what;
  for (int i : s_.phases[phase].values)
    if (reduces(value(i)) || stores_here(phase, i)) what += (what.empty() ? "" : ", ") + value(i).name;
  line("// pass " + num(static_cast<int64_t>(phase) + 1) + " of " +
       num(static_cast<int64_t>(s_.phases.size())) + ": " + what);
}

void ThreadText::fold_pairs(const std::vector<int>& values) {
  folded_.clear();
  if (shape_.group <= 32 || !s_.pairs.empty() || clustered()) return;
  for (size_t a = 0; a < values.size(); ++a)
    for (size_t b = a + 1; b < values.size(); ++b) {
      const ScheduledValue &x = value(values[a]), &y = value(values[b]);
      if (folded_.contains(&x) || folded_.contains(&y) || x.statement->reduce != y.statement->reduce ||
          lane_of(x) != lane_of(y))
        continue;
      line("fold_both<" + num(shape_.group) + ">(acc_" + x.name + ", acc_" + y.name + ", " + functor(x) +
               "());",
           x.node);
      folded_.insert({&x, &y});
    }
}
std::string ThreadText::folded_text(const ScheduledValue& v) const {
  if (folded_.contains(&v) || shape_.group == 1) return "acc_" + v.name;
  if (clustered())
    return "fold_cluster<" + num(shape_.group) + ", " + num(shape_.cluster) + ">(acc_" + v.name + ", " +
           functor(v) + "(), " + sent(v) + ")";
  return std::string(shape_.group > 32 ? "fold_block<" : "fold_group<") + num(shape_.group) + ">(acc_" +
         v.name + ", " + functor(v) + "())";
}

void ThreadText::load_run(const Load& l) {
  if (known_of_run(l)) return line("bool " + l.name + " = " + loads_.inside(l, false) + ";", l.node);
  if (shape_.turn > 0 && l.kind == Load::Kind::drawn) return;  // draw_turns() has
  if (drawn_run(l)) return line("const auto p_" + l.name + " = " + loads_.drawn(l, true) + ";", l.node);
  if (!loads_.together(l)) return;
  if (shape_.shifted)
    return line(
        "const Pack<" + memory_type(l.dtype) + ", " + num(vector()) + "> p_" + l.name + " = " + read_pack(l),
        l.node);
  const Argument& a = argument(l.argument);
  const std::string run = num(vector()), pack = "Pack<" + memory_type(a.dtype) + ", " + run + "> p_" + l.name,
                    read = "load_pack<aligned, " + run + ">(" + pointer(a) + loads_.place(l) + ");";
  if (l.within.empty()) return line(pack + " = " + read, l.node);
  line(pack + " = {};", l.node);
  line("if (" + loads_.inside(l, false) + ") p_" + l.name + " = " + read, l.node);
}
std::string ThreadText::element(const Load& l) const {
  if (shape_.turn > 0 && l.kind == Load::Kind::drawn)
    return std::string(l.draw.normal ? "gauss" : "unit") + "(p_" + l.name + (vector() == 1 ? "[0]" : "[k]") +
           ", u)";
  if (drawn_run(l)) return "p_" + l.name + ".v[k]";
  if (waits_turned(l))
    return "wide(row_" + l.name + "[" + column_name() + (vector() > 1 ? " + k" : "") + "])";
  return loads_.together(l) ? "wide(p_" + l.name + ".v[k])" : loads_.element(l, false);
}
bool ThreadText::drawn_run(const Load& l) const {
  return l.kind == Load::Kind::drawn && !l.per_row && vector() > 1 && loads_.drawn_together(l);
}
bool ThreadText::known_of_run(const Load& l) const {
  return l.kind == Load::Kind::truth && loads_.at_once(l) && vector() > 1;
}
bool ThreadText::in_run(const ScheduledValue& v) const {
  return loads_.together(v.store_strides, 0) &&
         std::all_of(v.store_gathered.begin(), v.store_gathered.end(), [this](const Index& i) {
           const bool value_of_row = i.from.kind == OperandSource::Kind::value && value(i.from.index).per_row;
           const bool load_of_row = i.from.kind == OperandSource::Kind::load && load(i.from.index).per_row;
           return (value_of_row || load_of_row) && ir::divides(vector(), i.stride);
         });
}
std::string ThreadText::gathered(const ScheduledValue& v) const {
  std::string out;
  for (const Index& i : v.store_gathered) {
    std::string at = named(i.from).text;
    if (i.from_end) at = "from_end(" + at + ", " + sized(i.size) + ")";
    out +=
        " + index_at(" + at + ", " + sized(i.size) + ")" + (i.stride.same(1) ? "" : " * " + sized(i.stride));
  }
  return out;
}
void ThreadText::declare_stores(size_t phase) {
  for (int i : s_.phases[phase].values) {
    const ScheduledValue& v = value(i);
    if (stores_here(phase, i) && in_run(v))
      line("Pack<" + memory_type(argument(v.store).dtype) + ", " + num(vector()) + "> q_" + v.name + ";",
           v.node);
  }
}
void ThreadText::put_element(const ScheduledValue& v, const std::string& guard) {
  if (in_run(v)) return line(put_text("q_" + v.name + ".v[k]", v), v.node);
  std::string at = index_.row(v.store_strides, 0) + index_.column(v.store_strides) + gathered(v);
  if (vector() > 1) at += index_.term("k", v.store_strides.back());
  const std::string to = pointer(argument(v.store)) + "[" + IndexText::trimmed(at) + "]";
  line(guard + (v.adds ? "add_" + memory_type(v.statement->dtype) + "(" + to + ", " + v.name + ");"
                       : put_text(to, v)),
       v.node);
}
void ThreadText::write_stores(size_t phase) {
  for (int i : s_.phases[phase].values) {
    const ScheduledValue& v = value(i);
    if (!stores_here(phase, i) || !in_run(v)) continue;
    const std::string place = pointer(argument(v.store)) + index_.row(v.store_strides, 0) +
                              index_.column(v.store_strides) + gathered(v);
    const std::string how = v.adds ? "add_pack_" + memory_type(v.statement->dtype) : "store_pack",
                      all = how + "<aligned, " + num(vector()) + ">(" + place + ", q_" + v.name + ");";
    if (!shape_.shifted) {
      line(all, v.node);
      continue;
    }
    if (at_ends_) {
      line("store_part(" + place + ", q_" + v.name + ", 0, 1);", v.node);
      continue;
    }
    if (shape_.ends) {
      line(all, v.node);
      continue;
    }
    line("if (whole) " + all, v.node);
    line("else store_part(" + place + ", q_" + v.name + ", -c, " + sized(s_.columns()) + " - c);", v.node);
  }
}
void ThreadText::put_row(const ScheduledValue& v, const std::string& condition) {
  line((condition.empty() ? "" : "if (" + condition + ") ") + "put(" + pointer(argument(v.store)) + "[" +
           IndexText::trimmed(index_.row(v.store_strides, 0)) + "], " + v.name + ");",
       v.node);
}

void ThreadText::values_of_element(bool fetches) {
  const Phase& p = s_.phases[0];
  const auto define_load = [&](const Load& l, bool from_registers) {
    line(lane_type(l.dtype) + " " + l.name + " = " + (from_registers ? fetched_element(l) : element(l)) + ";",
         l.node);
  };
  for (int l : p.loads)
    if (!known_of_run(load(l))) define_load(load(l), fetches && fetched(load(l)));
  for (size_t k = 0; k < p.values.size(); ++k) {
    for (const Phase::Late& late : p.late)
      if (late.before == k) define_load(load(late.load), false);
    define(value(p.values[k]), false);
  }
}

}  // namespace vitrine::codegen::cuda
