// Functions of PyTorch that take a number only: given an open float, they are computed in another way,
// written in Python, which leaves it open.
#include "core/capture/trace/builtins.h"
#include "core/capture/trace/torch_names.h"

namespace vitrine::capture {
namespace {

struct Row {
  const char* name;
  size_t position, most;  // of the number; how many arguments the other way takes
  const char *keyword, *otherwise;
};
constexpr Row kRows[] = {
    {"torch.nn.functional.batch_norm", 6, 8, "momentum", "batch_norm"},
    {"torch.nn.functional.leaky_relu", 1, 2, "negative_slope", "leaky_relu"},
};

}  // namespace

Value* call_with_open_float(Tracer& t, const std::string& name, const Arguments& a) {
  for (const Row& row : kRows) {
    if (name != row.name || a.positional.size() + a.keyword.size() > row.most) continue;
    Value* number = row.position < a.positional.size() ? a.positional[row.position] : a.find(row.keyword);
    if (number && t.open_float(number))
      return t.call(t.pinned(find_object(std::string("vitrine._library.") + row.otherwise)), a);
  }
  return nullptr;
}

}  // namespace vitrine::capture
