#include "core/capture/segment/marked_sizes.h"

#include <algorithm>

#include "core/capture/cpython/cpython.h"
#include "core/capture/objects/owned.h"
#include "core/capture/segment/instance.h"
#include "core/recording/relower.h"

namespace vitrine::capture {

namespace {

using SymbolValues = std::vector<int64_t>;  // by symbol
constexpr int64_t kLargest = 1 << 20;       // of the ends of a range that are tried

// The program for one set of other sizes, and the operator that raises.
class Attempt : public torch_api::NewSizes {
 public:
  Attempt(const Symbolic& symbolic, SymbolValues values, std::vector<bool> known)
      : values_(std::move(values)), known_(std::move(known)), answers_(symbolic, values_, known_) {}

  int64_t integer(int32_t number) override { return answers_.integer(number); }
  bool answered(size_t question, PyObject* answer) override { return answers_.answered(question, answer); }
  void fails(const ir::Node& call, const std::string& error) override {
    const ir::Origin& at = call.origin;
    failure = {"", call.op + (error.empty() ? " has other results" : " raises: " + error),
               at.file.empty() ? "" : at.file + ":" + std::to_string(at.line)};
  }

  std::optional<MarkError> failure;

 private:
  SymbolValues values_;
  std::vector<bool> known_;
  Answers answers_;
};

class SizeProbe {
 public:
  SizeProbe(const Trace& trace, const std::vector<PyObject*>& inputs, const std::optional<ir::Device>& as_if)
      : trace_(trace), symbolic_(*trace.symbolic), inputs_(inputs), as_if_(as_if) {
    known_.assign(symbols().size(), false);
    for (const Symbolic::Input& input : symbolic_.inputs)
      for (int32_t symbol : input.symbols)
        if (symbol >= 0) known_[static_cast<size_t>(symbol)] = true;
  }

  std::optional<MarkError> run() {
    for (size_t i = 0; i < symbols().size(); ++i)
      if (symbolic_.origins[i].mark.enforced && known_[i] && symbols()[i].specialised_by.empty())
        if (auto error = judge(i)) return error;
    return {};
  }

 private:
  const std::deque<ir::Symbol>& symbols() const { return symbolic_.table.symbols(); }

  // Recording the program for a size asks one question; the first size that is taken ends it.
  std::optional<MarkError> judge(size_t symbol) const {
    std::optional<MarkError> failure;
    for (const SymbolValues& values : candidates(symbol)) {
      Attempt attempt(symbolic_, values, known_);
      const auto how = record(values, attempt);
      if (how == torch_api::Relowered::Done) return at_ends(symbol);
      if (how != torch_api::Relowered::Other || !attempt.failure) return {};  // it cannot be told
      if (!failure) failure = attempt.failure;
    }
    if (!failure) return {};
    const ir::Symbol& s = symbols()[symbol];
    return MarkError{s.source,
                     "You marked " + s.source +
                         " as dynamic but your code specialized it to be a constant (" +
                         std::to_string(s.hint) + "): at other sizes " + failure->text +
                         "\n    Either remove mark_dynamic or use maybe_mark_dynamic.",
                     failure->place};
  }

  // The ends of a range that was given, where no other size follows from this one.
  std::optional<MarkError> at_ends(size_t symbol) const {
    const ir::Symbol& s = symbols()[symbol];
    const ir::SymRange& range = symbolic_.origins[symbol].mark.range;
    for (size_t i = 0; i < symbols().size(); ++i)
      if (known_[i] && symbols()[i].hint != s.hint) return {};
    for (const int64_t end : {range.lo, range.hi}) {
      if (end == s.hint || end < 2 || end > kLargest) continue;
      std::vector<SymbolValues> one;
      add(one, [&](size_t, int64_t) { return end; });
      for (const SymbolValues& values : one) {
        Attempt attempt(symbolic_, values, known_);
        if (record(values, attempt) == torch_api::Relowered::Other && attempt.failure)
          return MarkError{s.source,
                           "Not all values of " + s.source + " in the specified range " +
                               ir::range_text(range) + " are possible: at " + std::to_string(end) + " " +
                               attempt.failure->text,
                           attempt.failure->place};
      }
    }
    return {};
  }

  // Other sizes of a mark: alone, with those that are equal to it now, and with all in proportion.
  std::vector<SymbolValues> candidates(size_t symbol) const {
    std::vector<SymbolValues> out;
    const int64_t now = symbols()[symbol].hint;
    for (const int64_t other : {2 * now, now - 1, now + 1, now / 2, 3 * now, now + 8, now - 2}) {
      add(out, [&](size_t i, int64_t hint) { return i == symbol ? other : hint; });
      add(out, [&](size_t, int64_t hint) { return hint == now ? other : hint; });
      add(out,
          [&](size_t, int64_t hint) { return other % now == 0 ? hint * (other / now) : hint + other - now; });
    }
    return out;
  }

  template <class Other>
  void add(std::vector<SymbolValues>& out, Other other) const {
    SymbolValues values;
    bool fits = true;
    for (size_t i = 0; i < symbols().size(); ++i) {
      values.push_back(known_[i] ? other(i, symbols()[i].hint) : 0);
      const bool is_size = symbols()[i].range.lo >= 2;
      fits = fits && (!known_[i] ||
                      ((!is_size || values[i] >= 2) && !symbolic_.origins[i].mark.contradicts(values[i])));
    }
    if (fits && symbolic_.table.may_hold(values, known_) &&
        std::find(out.begin(), out.end(), values) == out.end())
      out.push_back(std::move(values));
  }

  torch_api::Relowered record(const SymbolValues& values, Attempt& attempt) const {
    using torch_api::Relowered;
    const PyRef sized = resized(values);
    if (!sized || sized.get() == Py_None) return Relowered::Unsure;
    std::vector<PyObject*> inputs, results;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sized.get()); ++i)
      inputs.push_back(PyList_GET_ITEM(sized.get(), i));
    torch_api::Lowering lowering(as_if_);
    return torch_api::relower(trace_.graphs, inputs, attempt, lowering, results);
  }

  // Tensors like the inputs, of these sizes; None: there are none.
  PyRef resized(const SymbolValues& values) const {
    const PyRef tensors(PyList_New(0)), sizes(PyList_New(0));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const PyRef own = sizes_of(trace_.inputs[i], values);
      if (!own || PyList_Append(sizes.get(), own.get()) != 0 || PyList_Append(tensors.get(), inputs_[i]) != 0)
        return {};
    }
    return call(Name::resized, "OO", tensors.get(), sizes.get());
  }

  // By dim; -1: as it is. None: all are.
  PyRef sizes_of(const Source* source, const SymbolValues& values) const {
    const auto input =
        std::find_if(symbolic_.inputs.begin(), symbolic_.inputs.end(),
                     [&](const Symbolic::Input& s) { return s.source == source && s.is_tensor; });
    if (input == symbolic_.inputs.end()) return PyRef(Py_NewRef(Py_None));
    PyRef out(PyTuple_New(static_cast<Py_ssize_t>(input->symbols.size())));
    for (size_t d = 0; out && d < input->symbols.size(); ++d) {
      const int32_t symbol = input->symbols[d];
      const int64_t size = symbol < 0 ? -1 : values[static_cast<size_t>(symbol)];
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(d), PyLong_FromLongLong(size));
    }
    return out;
  }

  const Trace& trace_;
  const Symbolic& symbolic_;
  const std::vector<PyObject*>& inputs_;
  const std::optional<ir::Device>& as_if_;
  std::vector<bool> known_;  // by symbol: a call finds its value before the program runs
};

}  // namespace

std::optional<MarkError> mark_fixed_by_operators(const Trace& trace, const std::vector<PyObject*>& inputs,
                                                 const std::optional<ir::Device>& as_if) {
  if (!trace.symbolic || !trace.graphs.captured || inputs.size() != trace.inputs.size()) return {};
  auto found = SizeProbe(trace, inputs, as_if).run();
  PyErr_Clear();
  return found;
}

}  // namespace vitrine::capture
