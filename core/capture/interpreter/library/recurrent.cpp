// Recurrent layers: what is compiled of them, and what is left to eager.
#include <unordered_set>

#include "core/capture/interpreter/library/recurrent.h"
#include "core/capture/interpreter/state/signals.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// A recurrent layer whose derivative PyTorch has step by step only is as many operators as there are steps:
// not worth it where these are many, or where each batch has its own number of them. Eager runs it as one
// call.
void refuse_long_recurrence(Tracer& t, const std::string& name, const Arguments& a, size_t operators) {
  static const std::unordered_set<std::string> recurrent = {"torch.lstm", "torch.gru", "torch.rnn_tanh",
                                                            "torch.rnn_relu"};
  constexpr size_t kFew = 100, kMost = 1500, kBatchFirst = 8;
  if (operators <= kFew || !recurrent.contains(name)) return;
  const std::string what =
      name + " is written out step by step, in " + std::to_string(operators) + " operators";
  const char* hint = "Nothing is lost: it runs as in eager, and what surrounds it is compiled.";
  if (operators > kMost) stop("limit", what, hint);
  if (!dynamic(t) || a.positional.size() <= kBatchFirst) return;
  Value* first = t.look(a.positional[kBatchFirst]);
  const int64_t time = first->is(ValueKind::Constant) && first->obj == Py_True ? 1 : 0;
  Value* steps = dimension(t, t.look(a.positional[0]), time);
  if (steps->is(ValueKind::Symbol)) stop("limit", what + ", and the number of steps changes", hint);
}

}  // namespace vitrine::capture
