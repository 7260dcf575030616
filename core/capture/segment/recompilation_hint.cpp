#include "core/capture/segment/recompilation_hint.h"

namespace vitrine::capture {

namespace {

struct Row {
  const char* part;  // of the failure's source
  const char* hint;
};
constexpr Row kRows[] = {
    {".stride(",
     "Strides that have changed may be any from then on; each order of dimensions is compiled by itself: "
     "call contiguous() before, or keep one layout."},
    {".dim()", "Each number of dimensions is compiled by itself."},
    {".requires_grad", "Keep requires_grad of inputs and parameters as it was."},
    {"torch.is_grad_enabled()", "Each grad mode is compiled by itself, once."},
    {"torch.is_inference_mode_enabled()", "Each grad mode is compiled by itself, once."},
    {"autocast", "Call it in one autocast mode."},
    {"torch.", "Set it once, before the first call."},
    {".dtype", "Convert inputs to one dtype before the call."},
    {"rest(",
     "A graph break inside a loop: what comes after it is compiled for the items that are left, none and one "
     "or more apart. Mend the break, and the loop is one graph."},
};

// What the first training step finds missing and the others do not.
struct FirstStep {
  const char *ending, *expected;  // of the failure's source; what the guard expected
  const char* hint;
};
constexpr FirstStep kFirstStep[] = {
    {".grad", "None", "Nothing to mend: a gradient is None in the first step and there from the second on."},
    {"['state']", "absent",
     "Nothing to mend: the first step makes the optimizer's state, which is there from then on."},
};

std::string size_hint(const GuardFailure& failure, DynamicMode dynamic) {
  const auto is_special = [](const std::string& size) { return size == "0" || size == "1"; };
  if (dynamic == DynamicMode::Never)
    return "dynamic=False compiles each size by itself: leave it out, or pad to a few fixed sizes.";
  if (is_special(failure.expected) || is_special(failure.actual))
    return "Sizes 0 and 1 are compiled by themselves, for operators treat them in ways of their own.";
  return "A size that has changed is a symbol from then on, and other values of it need no compilation, "
         "unless mark_static fixes it; vitrine.mark_dynamic or dynamic=True spares this one too.";
}

}  // namespace

std::string recompilation_hint(const GuardFailure& failure, DynamicMode dynamic) {
  if (!failure.hint.empty()) return failure.hint;
  if (failure.source.find(".size(") != std::string::npos) return size_hint(failure, dynamic);
  for (const FirstStep& row : kFirstStep)
    if (failure.source.ends_with(row.ending) && failure.expected == row.expected) return row.hint;
  for (const Row& row : kRows)
    if (failure.source.find(row.part) != std::string::npos) return row.hint;
  return "Pass the changing value as a tensor, or keep it constant.";
}

}  // namespace vitrine::capture
