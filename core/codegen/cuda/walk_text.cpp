#include <algorithm>

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

// ---- loads some time before they are used ------------------------------------------------------------

std::string ThreadText::packs(const std::string& name, const Load& l, int64_t count) const {
  return "Pack<" + memory_type(l.dtype) + ", " + num(vector()) + "> " + name + "[" + num(count) + "];";
}
std::string ThreadText::read_pack(const Load& l) const {
  const std::string place = pointer(argument(l.argument)) + run_place(l),
                    all = "load_pack<" + std::string(vector() == 1 ? "true" : "aligned") + ", " +
                          num(vector()) + ">(" + place + ")";
  if (at_ends_) return "load_part<" + num(vector()) + ">(" + place + ", 0, 1);";
  if (!shape_.shifted || shape_.ends) return all + ";";
  return "whole ? " + all + " : load_part<" + num(vector()) + ">(" + place + ", -c, " + sized(s_.columns()) +
         " - c);";
}
std::string ThreadText::fetched_element(const Load& l) const {
  return "wide(p_" + l.name + "[u].v[" + (vector() == 1 && !arrays_of_one_ ? "0" : "k") + "])";
}

void ThreadText::shift_row() {
  if (!shape_.shifted) return;
  const auto first =
      std::find_if(s_.loads.begin(), s_.loads.end(), [](const Load& l) { return !l.per_row && l.affine(); });
  if (shape_.ends) {
    const std::string run = num(vector()), all = sized(s_.columns());
    line("const int head = (" + run + " - (" + IndexText::trimmed(index_.row(first->strides, first->offset)) +
         ") % " + run + ") % " + run + ", tail = head + (" + all + " - head) / " + run + " * " + run +
         ";  // between which runs are whole");
    return;
  }
  line("const int shift = (" + IndexText::trimmed(index_.row(first->strides, first->offset)) + ") % " +
       num(vector()) + ";  // elements of the row's first run that are not its own");
}
void ThreadText::whole_run() {
  if (shape_.shifted && !shape_.ends)
    line("const bool whole = c >= 0 && c + " + num(vector()) + " <= " + sized(s_.columns()) + ";");
}
void ThreadText::leave_out() {
  if (shape_.shifted && !shape_.ends)
    line("if (!whole && (c + k < 0 || c + k >= " + sized(s_.columns()) + ")) continue;");
}

int ThreadText::batch(size_t phase) const {
  constexpr int64_t kBytes = 64;  // of a thread, under way
  int64_t bytes = 0;
  for (int l : s_.phases[phase].loads)
    if (fetched(load(l))) bytes += vector() * ir::dtype_bytes(load(l).dtype);
  return static_cast<int>(bytes == 0 ? 4 : std::clamp<int64_t>(kBytes / bytes, 2, 8));
}

void ThreadText::walk_batches(size_t phase, const std::string& begin, const std::string& end, int64_t step,
                              const std::function<void()>& write) {
  const std::string type = index_type(), c = column_name(), runs = num(batch(phase));
  auto each = [&](const std::function<void()>& f) {
    line("#pragma unroll");
    open("for (int u = 0; u < " + runs + "; ++u) {");
    line("const " + type + " " + c + " = begin + u * " + num(step) + ";");
    line("if (" + c + " >= " + end + ") break;");
    decode_column();
    whole_run();
    f();
    close();
  };
  open("for (" + type + " begin = " + begin + "; begin < " + end + "; begin += " + num(step * batch(phase)) +
       ") {");
  read_batch(phase, batch(phase), each);
  start_batch(phase);
  each([&] {
    start_run(phase);
    write();
    end_run(phase);
  });
  end_batch(phase);
  close();
}

// What the phase reads of a batch, all of it on its way before any of it is used.
void ThreadText::read_batch(size_t phase, int64_t runs,
                            const std::function<void(const std::function<void()>&)>& each) {
  std::vector<int> wanted;
  for (int l : s_.phases[phase].loads)
    if (fetched(load(l))) wanted.push_back(l);
  for (int l : wanted) line(packs("p_" + load(l).name, load(l), runs), load(l).node);
  if (wanted.empty()) return;
  bool keeps = false;
  const std::string from = clustered() ? " - first" : shape_.ends ? " - head" : "";
  auto kept = [&](const Load& l) {
    return "kept_" + l.name + "[u32(" + column_name() + from + ") / " + num(vector()) + "]";
  };
  each([&] {
    for (int l : wanted) {
      const bool again = !at_ends_ && waits_shared(load(l)) && first_load(l) != phase;
      keeps |= !at_ends_ && waits_shared(load(l)) && !again;
      line("p_" + load(l).name + "[u] = " + (again ? kept(load(l)) + ";" : read_pack(load(l))), load(l).node);
    }
  });
  if (!keeps) return;
  each([&] {
    for (int l : wanted)
      if (waits_shared(load(l)) && first_load(l) == phase)
        line(kept(load(l)) + " = p_" + load(l).name + "[u];", load(l).node);
  });
}

void ThreadText::walk_ends(size_t phase, const std::function<void()>& write) {
  const std::string c = column_name(), all = sized(s_.columns());
  open(std::string("if (") + (clustered() ? "part == 0 && " : "") + "lane < head + " + all + " - tail) {");
  line("const int u = 0;");
  line(std::string("const ") + index_type() + " " + c + " = lane < head ? lane : tail + lane - head;");
  at_ends_ = true;
  read_batch(phase, 1, [](const std::function<void()>& f) { f(); });
  start_batch(phase);
  start_run(phase);
  write();
  end_run(phase);
  end_batch(phase);
  at_ends_ = false;
  close();
}

bool ThreadText::waits_shared(const Load& l) const {
  const auto i = static_cast<int>(&l - s_.loads.data());
  return shape_.shared > 0 && shape_.turned < 0 && in_run(l) && fetched(l) && phases_of(s_, i) > 1;
}
// Each thread reads there what it put there itself: nobody waits.
void ThreadText::declare_shared() {
  if (shape_.shared == 0) return;
  if (shape_.turned >= 0) return read_turned();
  line("extern __shared__ __align__(16) char kept[];  // " + num(shape_.shared) + " bytes");
  int64_t at = 0;
  for (const Load& l : s_.loads) {
    if (!waits_shared(l)) continue;
    const std::string pack = "Pack<" + memory_type(l.dtype) + ", " + num(vector()) + ">";
    line(pack + "* kept_" + l.name + " = reinterpret_cast<" + pack + "*>(kept" + (at ? " + " + num(at) : "") +
             ");",
         l.node);
    at += shared_bytes(s_, l, shape_);
  }
}
void ThreadText::declare_stretch() {
  const std::string type = index_type(), length = sized(stretch_of(s_, shape_)),
                    all = shape_.ends ? "tail" : sized(s_.columns());
  line("const " + type + " first = " + (shape_.ends ? "head + " : "") + "part * " + length +
       ", end = first + " + length + " < " + all + " ? first + " + length + " : " + all + ";");
  for (const ScheduledValue& v : s_.values)
    if (reduces(v))
      line("__shared__ " + lane_type(v.statement->dtype) + " " + sent(v) + "[" +
               num(int64_t{1} * shape_.cluster * shape_.group / 32) + "];",
           v.node);
  line("begin_cluster();");
}
size_t ThreadText::first_load(int load) const {
  size_t p = 0;
  while (std::count(s_.phases[p].loads.begin(), s_.phases[p].loads.end(), load) == 0) ++p;
  return p;
}

// ---- two reductions in one ---------------------------------------------------------------------------

const Pair* ThreadText::first_of(int value) const {
  for (const Pair& p : s_.pairs)
    if (p.first == value) return &p;
  return nullptr;
}
const Pair* ThreadText::second_of(int value) const {
  for (const Pair& p : s_.pairs)
    if (p.second == value) return &p;
  return nullptr;
}
std::vector<const Pair*> ThreadText::pairs(size_t phase, Pair::Kind kind) const {
  std::vector<const Pair*> out;
  for (int i : reductions(phase))
    if (const Pair* p = second_of(i); p && p->kind == kind) out.push_back(p);
  return out;
}

void ThreadText::count_of(const Pair& p) {
  const ScheduledValue& v = value(p.second);
  if (p.kind == Pair::Kind::squares) line(lane_type(v.statement->dtype) + " n_" + v.name + " = 0;", v.node);
}
// The x of a batch, beside which there is nothing that would count.
void ThreadText::start_batch(size_t phase) {
  for (const Pair* p : pairs(phase, Pair::Kind::exponentials)) {
    const std::string run = "run_" + value(p->second).name, runs = num(batch(phase));
    const std::string size = s_.across ? "[" + num(vector()) + "][" + runs + "]"
                                       : "[" + num(int64_t{1} * batch(phase) * vector()) + "]";
    line("f32 " + run + size + ";", value(p->first).node);
    line("#pragma unroll");
    if (s_.across)
      line("for (int k = 0; k < " + num(vector()) + "; ++k)\n" +
           std::string(static_cast<size_t>(indent_) * 2 + 2, ' ') + "for (int u = 0; u < " + runs +
           "; ++u) " + run + "[k][u] = -kInf;");
    else
      line("for (int k = 0; k < " + num(int64_t{1} * batch(phase) * vector()) + "; ++k) " + run +
           "[k] = -kInf;");
  }
}
void ThreadText::start_run(size_t phase) {
  for (const Pair* p : pairs(phase, Pair::Kind::squares)) {
    const ScheduledValue& v = value(p->second);
    const std::string type = lane_type(v.statement->dtype), n = "n_" + v.name;
    if (!s_.across)
      line(type + " run_" + v.name + "[" + num(at_ends_ ? 1 : vector()) + "];", v.node);
    else
      line("const " + type + " run_share_" + v.name + " = " + n + " > 0 ? 1 / " + n + " : 0, run_weight_" +
               v.name + " = " + n + " / (" + n + " + 1);",
           v.node);
  }
}
void ThreadText::put_run(const Pair& p) {
  const ScheduledValue &first = value(p.first), &second = value(p.second);
  const std::string x = value_text(first), run = "run_" + second.name;
  if (p.kind == Pair::Kind::places) {
    const std::string k = s_.across ? "[k]" : "";
    return line(std::string("take_place<") + functor(first) + ">(acc_" + first.name + k + ", acc_" +
                    second.name + k + ", " + x + ", " + lane_type(second.statement->dtype) + "(" +
                    named(p.number).text + "));",
                second.node);
  }
  const bool one = vector() == 1 && !s_.across;
  if (p.kind == Pair::Kind::exponentials)
    return line(run +
                    (s_.across ? "[k][u]"
                     : one     ? "[u]"
                               : "[u * " + num(vector()) + " + k]") +
                    " = " + x + ";",
                first.node);
  if (!s_.across) return line(run + (one ? "[0]" : "[k]") + " = " + x + ";", first.node);
  const std::string apart = "run_apart_" + second.name;
  line("const " + lane_type(second.statement->dtype) + " " + apart + " = " + x + " - acc_" + first.name +
           "[k] * run_share_" + second.name + ";",
       second.node);
  line("acc_" + second.name + "[k] += " + apart + " * " + apart + " * run_weight_" + second.name + ";",
       second.node);
  line("acc_" + first.name + "[k] += " + x + ";", first.node);
}
void ThreadText::end_run(size_t phase) {
  for (const Pair* p : pairs(phase, Pair::Kind::squares)) {
    const ScheduledValue& v = value(p->second);
    if (s_.across)
      line("n_" + v.name + " += 1;", v.node);
    else
      line("add_squares(acc_" + value(p->first).name + ", acc_" + v.name + ", n_" + v.name + ", run_" +
               v.name + ");",
           v.node);
  }
}
void ThreadText::end_batch(size_t phase) {
  for (const Pair* p : pairs(phase, Pair::Kind::exponentials)) {
    const ScheduledValue& v = value(p->second);
    const std::string k = s_.across ? "[k]" : "";
    auto add = [&] {
      line("add_exponentials<" + std::string(s_.ends_narrow(p->second) ? "true" : "false") + ">(acc_" +
               value(p->first).name + k + ", acc_" + v.name + k + ", run_" + v.name + k + ");",
           v.node);
    };
    s_.across ? each_of_run(add) : add();
  }
}
std::string ThreadText::settled(const Pair& p, const std::string& acc, const std::string& own,
                                const std::string& count, const std::string& all,
                                const std::string& total) const {
  if (p.kind == Pair::Kind::exponentials) return "rescaled(" + acc + ", " + own + ", " + all + ")";
  if (p.kind == Pair::Kind::places) return "placed(" + acc + ", " + own + ", " + all + ")";
  const std::string type = lane_type(value(p.second).statement->dtype);
  return "moved(" + acc + ", " + own + ", " + count + ", " + all + " / " + type + "(" + total + "))";
}
void ThreadText::mend(const Pair& p, const std::string& acc, const std::string& all) {
  if (p.kind == Pair::Kind::exponentials)
    line("if (is_inf(" + all + ")) " + acc + " = kNan;  // as the difference of infinities is",
         value(p.second).node);
}

}  // namespace vitrine::codegen::cuda
