#include "core/codegen/schedule/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/codegen/schedule/tensor_names.h"
#include "core/codegen/schedule/words.h"
#include "core/fusion/functions.h"
#include "core/fusion/space.h"
#include "core/fusion/types.h"

namespace vitrine::codegen {

using fusion::Access;
using fusion::ExprPtr;
using fusion::Member;
using fusion::Statement;
using ir::Dims;
using ir::DType;
using ir::Ref;

namespace {

constexpr int64_t kFlatBlock = 2048;  // elements of a work item of a kernel without rows
constexpr int kCheap = 8;             // at most so many additions are done again instead of kept
constexpr int kLoadCost = 2;
constexpr int64_t kLeastTile = 8;  // rows and columns that are worth turning over

class Scheduler {
 public:
  Scheduler(const fusion::LoopProgram& program, const fusion::Group& group, const std::vector<Ref>& stored,
            const Keeping& keeping)
      : program_(program), group_(group), stored_(stored), keeping_(keeping) {
    // Words of the generated text that a tensor's name must not take.
    names_.reserve(language_words());
    names_.reserve(keeping_.reserved);
  }

  Schedule make() {
    arrange();
    collect();
    out_.across = group_.reduces && !out_.both_ways() && lies_across();
    phases();
    argument_phases();
    return std::move(out_);
  }

 private:
  // Orders and joins the dims; a kernel without reductions gets its innermost dim as columns.
  void arrange() {
    members_ = group_.members;
    std::vector<Dims*> strides;
    for (Member& m : members_) {
      for (Access& a : m.operands) fusion::each_strides(a, [&](Dims& s) { strides.push_back(&s); });
      for (Access& a : m.stores) strides.push_back(&a.strides);
    }
    out_.dims = group_.dims;
    out_.reduces = group_.reduces;
    size_t boundary = group_.reduces ? group_.rows : 0;
    if (group_.reduces)
      sort_reduction(strides);
    else if (members_.back().stores[0].gathered.empty())
      sort_dims(members_.back().stores[0].strides, 0, out_.dims.size(), strides);
    each_range([&](fusion::Range& r) { fusion::stretch(r, out_.dims); });
    fusion::collapse(out_.dims, boundary, strides);
    if (out_.dims.empty()) {
      out_.dims = {1};
      for (Dims* s : strides) s->push_back(0);
    }
    out_.rows = boundary;
    if (!group_.reduces) {
      out_.rows = out_.dims.size() - 1;
      if (out_.rows == 0)
        out_.block = kFlatBlock;
      else if (!turn_rows(strides))
        split_long_columns(strides);
    }
    each_range([&](fusion::Range& r) { fusion::shrink(r, out_.dims); });
  }
  template <class F>
  void each_range(F&& f) {
    for (Member& m : members_)
      for (Access& a : m.operands)
        for (fusion::Range& r : a.within) f(r);
  }
  bool on_gpu() const {
    return program_.graph->node(program_.loops[members_.front().loop].node).type().device.is_cuda();
  }
  // Places of dim `d` through which strides move.
  int64_t moved(const Dims& strides, size_t d) const { return strides[d].same(0) ? 1 : out_.dims[d].hint(); }
  // On a CPU, makes the dim along which most is read that lies apart in columns the last of the rows.
  bool turn_rows(const std::vector<Dims*>& strides) {
    std::vector<int64_t> bytes(out_.rows, 0);
    for (const Member& m : members_)
      for (size_t i = 0; i < m.operands.size(); ++i) {
        const Access& a = m.operands[i];
        if (!a.is_affine() || !lies_apart(a.strides.back())) continue;
        int64_t size = ir::dtype_bytes(program_.loops[m.loop].operands[i].dtype);
        for (size_t d = 0; d < out_.dims.size(); ++d) size *= moved(a.strides, d);
        for (size_t k = 0; k < out_.rows; ++k)
          if (a.strides[k].same(1) && out_.dims[k].hint() >= kLeastTile) bytes[k] += size;
      }
    const auto most = std::max_element(bytes.begin(), bytes.end());
    if (on_gpu() || *most == 0 || out_.dims.back().hint() < kLeastTile) return false;
    const auto to_end = [&](Dims& d) {
      const auto at = d.begin() + (most - bytes.begin());
      std::rotate(at, at + 1, d.begin() + static_cast<std::ptrdiff_t>(out_.rows));
    };
    to_end(out_.dims);
    for (Dims* s : strides) to_end(*s);
    return out_.turns = true;
  }
  // dims[from, to) by falling stride of `key`, so that the last of them is read or written in order.
  void sort_dims(const Dims key, size_t from, size_t to, const std::vector<Dims*>& strides) {
    std::vector<size_t> order(out_.dims.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin() + static_cast<int64_t>(from), order.begin() + static_cast<int64_t>(to),
                     [&](size_t a, size_t b) { return key[a].hint() > key[b].hint(); });
    auto permute = [&](Dims& d) {
      Dims sorted;
      for (size_t k : order) sorted.push_back(d[k]);
      d = std::move(sorted);
    };
    permute(out_.dims);
    for (Dims* s : strides) permute(*s);
  }
  // By the first place that runs through most dims.
  void sort_reduction(const std::vector<Dims*>& strides) {
    const Dims* key = nullptr;
    auto moves = [](const Dims& d) {
      return std::count_if(d.begin(), d.end(), [](const ir::Sym& s) { return !s.same(0); });
    };
    for (const Member& m : members_)
      for (const std::vector<Access>* list : {&m.operands, &m.stores})
        for (const Access& a : *list)
          if (!m.per_row && (!key || moves(a.strides) > moves(*key))) key = &a.strides;
    VITRINE_CHECK(key, "a reduction reads nothing");
    const Dims rows_by = *key;
    sort_dims(rows_by, 0, group_.rows, strides);
    const Dims columns_by = *key;  // in its new order
    sort_dims(columns_by, group_.rows, out_.dims.size(), strides);
  }
  // Whether more bytes lie side by side along the last row dim than along the last column dim. Each element
  // counts once, however often it is read.
  bool lies_across() const {
    const bool gpu = on_gpu();
    const bool plain = std::all_of(out_.loads.begin(), out_.loads.end(),
                                   [&](const Load& l) { return gpu ? l.plain() : l.affine(); });
    if (out_.rows == 0 || !plain) return false;
    int64_t along = 0, across = 0;
    auto count = [&](const Dims& strides, int argument) {
      int64_t bytes = ir::dtype_bytes(out_.arguments[static_cast<size_t>(argument)].dtype);
      for (size_t d = 0; d < strides.size(); ++d) bytes *= moved(strides, d);
      if (strides.back().same(1))
        along += bytes;
      else if (strides[out_.rows - 1].same(1) && !strides.back().same(0))
        across += bytes;
    };
    for (const Load& l : out_.loads)
      if (!l.per_row && l.affine()) count(l.strides, l.argument);
    for (const ScheduledValue& v : out_.values)
      if (v.store >= 0 && !v.per_row) count(v.store_strides, v.store);
    return across > along;
  }
  // Few rows of great length would leave threads idle.
  void split_long_columns(const std::vector<Dims*>& strides) {
    if (out_.dims.back().symbolic()) return;
    const int64_t columns = out_.dims.back();
    if (columns <= 4 * kFlatBlock || out_.row_count().hint() >= 64) return;
    int64_t part = kFlatBlock;
    while (part > 256 && columns % part != 0) part /= 2;
    if (columns % part != 0) return;
    out_.dims.back() = columns / part;
    out_.dims.push_back(part);
    for (Dims* s : strides) {
      const ir::Sym inner = s->back();
      s->back() = inner * part;
      s->push_back(inner);
    }
    ++out_.rows;
  }

  // Loads, values and arguments, in program order.
  void collect() {
    for (const Member& m : members_) {
      const fusion::Loop& loop = program_.loops[m.loop];
      std::vector<OperandSource> sources(loop.operands.size());
      std::vector<bool> known(loop.operands.size(), false);
      for (const Statement& s : loop.body) {
        operands_of(s.expr, m, loop, sources, known);
        if (s.output >= 0)
          for (const fusion::Gathered& p : m.stores[static_cast<size_t>(s.output)].gathered)
            operand(static_cast<size_t>(p.value), m, loop, sources, known);
        const int again = s.node >= 0 ? computed_again(s, sources) : -1;
        sources.push_back(
            {OperandSource::Kind::value, again >= 0 ? again : static_cast<int>(out_.values.size())});
        if (again < 0) add_value(m, loop, s, sources);
      }
    }
  }
  // The operands that an expression uses, and what they are gathered by: earlier statements may be among
  // these.
  void operands_of(const ExprPtr& e, const Member& m, const fusion::Loop& loop,
                   std::vector<OperandSource>& sources, std::vector<bool>& known) {
    if (e->kind == fusion::Expr::Kind::operand)
      operand(static_cast<size_t>(e->operand), m, loop, sources, known);
    for (const ExprPtr& a : e->args) operands_of(a, m, loop, sources, known);
  }
  void operand(size_t i, const Member& m, const fusion::Loop& loop, std::vector<OperandSource>& sources,
               std::vector<bool>& known) {
    if (i >= known.size() || known[i]) return;
    known[i] = true;
    const Access& a = m.operands[i];
    auto inside = value_of_.find(a.root);
    if (a.in_memory() && inside != value_of_.end()) {
      sources[i] = {OperandSource::Kind::value, inside->second};
      return;
    }
    std::vector<Index> gathered;
    for (const fusion::Gathered& p : a.gathered) {
      operand(static_cast<size_t>(p.value), m, loop, sources, known);
      gathered.push_back({sources.at(static_cast<size_t>(p.value)), p.stride, p.size, p.from_end});
    }
    sources[i] = load(a, loop.operands[i].dtype, std::move(gathered), loop.node);
  }
  OperandSource load(const Access& a, DType dtype, std::vector<Index> gathered, ir::NodeId reader) {
    Load load;
    load.kind = a.in_memory()        ? Load::Kind::memory
                : a.draw             ? Load::Kind::drawn
                : dtype == DType::b1 ? Load::Kind::truth
                                     : Load::Kind::number;
    if (a.in_memory()) load.argument = add_argument(a.root, false);
    if (a.draw) {
      load.draw = *a.draw;
      if (a.draw->aligned_by.node >= 0) load.aligned_by = add_argument(a.draw->aligned_by, false);
    }
    load.strides = a.strides;
    load.offset = a.offset;
    load.within = a.within;
    load.gathered = std::move(gathered);
    for (size_t i = 0; i < out_.loads.size(); ++i) {
      const Load& other = out_.loads[i];
      if (other.kind == load.kind && other.argument == load.argument &&
          ir::same(other.strides, load.strides) && other.offset.same(load.offset) &&
          other.draw == load.draw && other.within == load.within && other.gathered == load.gathered)
        return {OperandSource::Kind::load, static_cast<int>(i)};
    }
    load.node = reader;
    load.dtype = a.in_memory() ? out_.arguments[static_cast<size_t>(load.argument)].dtype : dtype;
    load.name = names_.unique(a.in_memory() ? out_.arguments[static_cast<size_t>(load.argument)].name
                              : load.kind == Load::Kind::truth ? "here"
                              : load.kind == Load::Kind::drawn ? "drawn"
                                                               : "index");
    find_columns(load, a);
    out_.loads.push_back(std::move(load));
    return {OperandSource::Kind::load, static_cast<int>(out_.loads.size() - 1)};
  }
  // Whether a load moves along the columns, and when what it is gathered by is known.
  void find_columns(Load& load, const Access& a) const {
    bool moves = false, gathered_by_row = true;
    fusion::each_strides(a, [&](const Dims& strides) {
      for (size_t k = out_.rows; k < strides.size(); ++k) moves |= !strides[k].same(0);
    });
    for (const Index& index : load.gathered) {
      const auto i = static_cast<size_t>(index.from.index);
      const bool value = index.from.kind == OperandSource::Kind::value;
      gathered_by_row &= value ? out_.values[i].per_row : out_.loads[i].per_row;
      load.phase = std::max(load.phase, value ? known_from(out_.values[i]) : out_.loads[i].phase);
      load.late |= value || out_.loads[i].late;
    }
    load.per_row = !moves && gathered_by_row;
    load.gathered_by_row = !load.gathered.empty() && gathered_by_row;
    load.late &= load.per_row || !gathered_by_row;
  }
  static int known_from(const ScheduledValue& v) {
    return v.statement->reduce == Statement::Reduce::none ? v.phase : v.phase + 1;
  }
  int add_argument(Ref root, bool written) {
    for (size_t i = 0; i < out_.arguments.size(); ++i)
      if (out_.arguments[i].root == root) return static_cast<int>(i);
    const ir::Node& node = program_.graph->node(root.node);
    Argument a;
    a.root = root;
    a.dtype = node.outputs[static_cast<size_t>(root.output)].dtype;
    a.written = written;
    const ir::Node& computed = program_.graph->node(program_.loops[members_.front().loop].node);
    a.by_value =
        computed.type().device.is_cuda() && node.outputs[static_cast<size_t>(root.output)].device.is_cpu();
    a.name = arguments_.unique(base_name(node));
    out_.arguments.push_back(std::move(a));
    return static_cast<int>(out_.arguments.size() - 1);
  }
  void add_value(const Member& m, const fusion::Loop& loop, const Statement& s,
                 const std::vector<OperandSource>& sources) {
    ScheduledValue v;
    v.statement = &s;
    v.node = s.node >= 0 ? s.node : loop.node;
    v.sources = sources;
    v.per_column = m.per_column;
    v.per_row = !v.per_column && (m.per_row || s.per_row || (s.node >= 0 && stands_still(v)));
    static constexpr const char* kSuffix[] = {"", "_sum", "_prod", "_max", "_min"};
    std::string name = base_name(program_.graph->node(v.node));
    bool whole = s.output == 0 && loop.stores.size() == 1;
    v.name = names_.unique(whole                          ? name
                           : s.output > 0                 ? name + "_" + std::to_string(s.output)
                           : s.output == 0 || s.node >= 0 ? name
                                                          : name + kSuffix[static_cast<size_t>(s.reduce)]);
    if (s.reduce == Statement::Reduce::sum) v.inverse = "inv_" + v.name;
    int self = static_cast<int>(out_.values.size());
    if (s.output >= 0) {
      const Access& store = m.stores[static_cast<size_t>(s.output)];
      value_of_[store.root] = self;
      if (std::find(stored_.begin(), stored_.end(), store.root) != stored_.end()) {
        v.store = add_argument(store.root, true);
        v.store_strides = store.strides;
        v.adds = loop.adds;
        for (const fusion::Gathered& p : store.gathered)
          v.store_gathered.push_back(
              {sources.at(static_cast<size_t>(p.value)), p.stride, p.size, p.from_end});
      }
    }
    v.cost = fusion::expr_cost(*s.expr);
    each_source(s.expr, v, [&](OperandSource src) {
      v.used.push_back(src);
      if (src.kind == OperandSource::Kind::load) {
        v.cost += kLoadCost;
        v.phase = std::max(v.phase, out_.loads[static_cast<size_t>(src.index)].phase);
        return;
      }
      const ScheduledValue& from = out_.values[static_cast<size_t>(src.index)];
      if (!from.per_row) v.cost += from.cost;
      v.phase = std::max(v.phase, known_from(from));
    });
    out_.values.push_back(std::move(v));
  }
  // The same value of another operator that another member has computed already; -1: there is none.
  int computed_again(const Statement& s, const std::vector<OperandSource>& sources) {
    ScheduledValue asked;
    asked.sources = sources;
    std::vector<std::pair<OperandSource::Kind, int>> key;
    each_source(s.expr, asked, [&](OperandSource from) { key.emplace_back(from.kind, from.index); });
    auto [known, fresh] = again_.try_emplace({s.node, std::move(key)}, static_cast<int>(out_.values.size()));
    return fresh ? -1 : known->second;
  }
  // Whether all it is made of is the same along a row.
  bool stands_still(const ScheduledValue& v) const {
    bool still = true;
    each_source(v.statement->expr, v, [&](OperandSource s) {
      const auto i = static_cast<size_t>(s.index);
      still &= s.kind == OperandSource::Kind::load ? out_.loads[i].per_row : out_.values[i].per_row;
    });
    return still;
  }
  template <class F>
  static void each_source(const ExprPtr& e, const ScheduledValue& v, F&& f) {
    if (e->kind == fusion::Expr::Kind::operand) f(v.sources[static_cast<size_t>(e->operand)]);
    for (const ExprPtr& a : e->args) each_source(a, v, f);
  }

  // Phases in order; each computes its reductions and what they need; what must be stored and was not needed
  // before is computed in the last one.
  void phases() {
    int last = 0;
    for (const ScheduledValue& v : out_.values) {
      const bool reduction = v.statement->reduce != Statement::Reduce::none;
      bool full = reduction || (!v.per_row && !v.per_column);
      if (full) last = std::max(last, v.phase);
    }
    last_ = last;
    hosts_.assign(out_.values.size(), false);
    done_.assign(out_.values.size(), -1);
    for (int p = 0; p <= last; ++p) {
      out_.phases.emplace_back();
      here_value_.assign(out_.values.size(), false);
      here_load_.assign(out_.loads.size(), false);
      for (size_t i = 0; i < out_.values.size(); ++i) {
        const ScheduledValue& v = out_.values[i];
        bool reduction = v.statement->reduce != Statement::Reduce::none;
        const bool stored = !v.per_row && !v.per_column && v.store >= 0;
        if (reduction ? v.phase == p : p == last && stored && done_[i] < 0) need(static_cast<int>(i), p);
      }
    }
  }
  bool cheap(const ScheduledValue& v) const { return v.cost <= kCheap; }
  bool in_order(const Dims& strides) const {
    return (out_.across ? strides[out_.rows - 1] : strides.back()).same(1);
  }
  // Keeps a value between phases: in an output's row that is written later anyhow, else in a scratch row.
  bool keep(int index) {
    ScheduledValue& v = out_.values[static_cast<size_t>(index)];
    if (v.kept()) return true;
    DType dtype = v.statement->dtype;
    if (dtype != fusion::lane_dtype(dtype) || dtype == DType::b1) return false;
    for (int w = 0; keeping_.in_outputs && v.host < 0 && w < static_cast<int>(out_.values.size()); ++w) {
      const ScheduledValue& to = out_.values[static_cast<size_t>(w)];
      bool free = w == index || (to.phase == last_ && !hosts_[static_cast<size_t>(w)]);
      if (!free || to.store < 0 || to.per_row || to.statement->dtype != dtype || !in_order(to.store_strides))
        continue;
      if (w != index && v.store >= 0) continue;  // its own output keeps it
      hosts_[static_cast<size_t>(w)] = true;
      v.host = w;
    }
    if (v.host >= 0) return true;
    // An array's length is a number of the text.
    if (out_.across || out_.columns().symbolic()) return false;
    if (out_.columns() * ir::dtype_bytes(dtype) * (out_.scratch_rows + 1) > keeping_.scratch_bytes)
      return false;
    v.scratch = out_.scratch_rows++;
    return true;
  }
  void need(OperandSource s, int p) {
    const auto i = static_cast<size_t>(s.index);
    if (s.kind == OperandSource::Kind::value) {
      if (!out_.values[i].per_row) need(s.index, p);
      return;
    }
    if (out_.loads[i].per_row || here_load_[i]) return;
    here_load_[i] = true;
    for (const Index& index : out_.loads[i].gathered) need(index.from, p);
    Phase& phase = out_.phases[static_cast<size_t>(p)];
    if (out_.loads[i].late)
      phase.late.push_back({s.index, phase.values.size()});
    else
      phase.loads.push_back(s.index);
  }
  void need(int index, int p) {
    if (here_value_[static_cast<size_t>(index)]) return;
    here_value_[static_cast<size_t>(index)] = true;
    ScheduledValue& v = out_.values[static_cast<size_t>(index)];
    bool reduction = v.statement->reduce != Statement::Reduce::none;
    if (v.per_row && !reduction) return;
    Phase& phase = out_.phases[static_cast<size_t>(p)];
    if (!reduction && done_[static_cast<size_t>(index)] >= 0 && !cheap(v) && keep(index)) {
      phase.from_scratch.push_back(index);
      return;
    }
    each_source(v.statement->expr, v, [&](OperandSource s) { need(s, p); });
    for (const Index& i : v.store_gathered) need(i.from, p);
    phase.values.push_back(index);
    if (done_[static_cast<size_t>(index)] < 0) done_[static_cast<size_t>(index)] = p;
  }

  // When each argument is first written and last read, which decides what may share storage.
  void argument_phases() {
    std::vector<bool> stored(out_.values.size(), false);
    for (size_t p = 0; p < out_.phases.size(); ++p) {
      auto read = [&](int l) {
        const Load& load = out_.loads[static_cast<size_t>(l)];
        if (load.kind == Load::Kind::memory)
          out_.arguments[static_cast<size_t>(load.argument)].last_read = static_cast<int>(p);
      };
      for (int l : out_.phases[p].loads) read(l);
      for (const Phase::Late& l : out_.phases[p].late) read(l.load);
      for (int i : out_.phases[p].values) {
        const ScheduledValue& v = out_.values[static_cast<size_t>(i)];
        if (stored[static_cast<size_t>(i)]) continue;
        for (int w : {v.store >= 0 && !v.per_row && !v.per_column ? i : -1, v.host}) {
          if (w < 0) continue;
          int& first =
              out_.arguments[static_cast<size_t>(out_.values[static_cast<size_t>(w)].store)].first_store;
          if (first < 0) first = static_cast<int>(p);
        }
        stored[static_cast<size_t>(i)] = true;
      }
    }
    for (const ScheduledValue& v : out_.values) {
      if (!v.per_column) continue;
      const auto last = static_cast<int>(out_.phases.size());
      if (v.store >= 0) out_.arguments[static_cast<size_t>(v.store)].first_store = last;
      if (v.statement->reduce != Statement::Reduce::none) continue;
      for (const OperandSource& s : v.used)
        if (s.kind == OperandSource::Kind::load && out_.loads[static_cast<size_t>(s.index)].argument >= 0)
          out_.arguments[static_cast<size_t>(out_.loads[static_cast<size_t>(s.index)].argument)].last_read =
              last;
    }
  }

  const fusion::LoopProgram& program_;
  const fusion::Group& group_;
  const std::vector<Ref>& stored_;
  const Keeping keeping_;
  std::vector<Member> members_;
  std::map<ir::Ref, int> value_of_;
  std::map<std::pair<ir::NodeId, std::vector<std::pair<OperandSource::Kind, int>>>, int> again_;
  std::vector<int> done_;  // by value: first phase that computes it, or -1
  std::vector<bool> here_value_, here_load_, hosts_;
  int last_ = 0;  // the last phase
  UniqueNames names_, arguments_;
  Schedule out_;
};

}  // namespace

Schedule make_schedule(const fusion::LoopProgram& program, const fusion::Group& group,
                       const std::vector<Ref>& stored, const Keeping& keeping) {
  return Scheduler(program, group, stored, keeping).make();
}

}  // namespace vitrine::codegen
