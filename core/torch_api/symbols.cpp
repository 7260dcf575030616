#include "core/torch_api/symbols.h"

#include <dlfcn.h>

#include <string>

namespace vitrine::torch_api {

namespace {
// The library is in the process already (Python loaded it); RTLD_NOLOAD never loads a second copy.
void* loaded(const char* name) {
  return dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
}
}  // namespace

Result<Symbols> load_symbols() {
  struct {
    void *cpu, *c10, *python;
  } libraries{loaded("libtorch_cpu.so"), loaded("libc10.so"), loaded("libtorch_python.so")};
  if (!libraries.cpu || !libraries.c10 || !libraries.python)
    return Error{"PyTorch's libraries are not loaded", "Run `import torch` before vitrine is used."};
  Symbols symbols;
  std::string missing;
#define X(member, library, needed, symbol, ...)                                                \
  symbols.member = reinterpret_cast<Symbols::member##_type>(dlsym(libraries.library, symbol)); \
  if (needed && !symbols.member) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
  VITRINE_TORCH_SYMBOLS(X)
#undef X
  if (!symbols.wrap_move && !symbols.wrap_copy) missing += " THPVariable_Wrap";
  if (!missing.empty())
    return Error{"this PyTorch does not export " + missing,
                 "Use a PyTorch version that vitrine supports (2.6 or newer)."};
  return symbols;
}

}  // namespace vitrine::torch_api
