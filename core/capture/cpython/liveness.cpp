#include "core/capture/cpython/liveness.h"

#include <algorithm>
#include <string_view>

#include "core/capture/cpython/cpython.h"

namespace vitrine::capture {
namespace {

constexpr std::string_view kLookingAtFrames[] = {
    "locals", "vars", "dir", "eval", "exec", "stack", "breakpoint", "set_trace", "_getframe", "currentframe"};

bool looks_at_frames(const Bytecode& code) {
  PyObject* names = reinterpret_cast<PyCodeObject*>(code.code())->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    for (std::string_view name : kLookingAtFrames)
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name.data()) == 0) return true;
  return false;
}

bool reads_slot(const Instruction& in, int slot) {
  switch (in.op) {
    case Op::LoadFastLoadFast:
      return in.arg == slot || in.aux == slot;
    case Op::StoreFastLoadFast:
      return in.aux == slot && in.arg != slot;
    case Op::LoadFast:
    case Op::LoadFastAndClear:
    case Op::DeleteFast:
    case Op::MakeCell:
    case Op::LoadClosure:
    case Op::LoadDeref:
    case Op::StoreDeref:
    case Op::DeleteDeref:
      return in.arg == slot;
    default:
      return false;
  }
}

bool writes_slot(const Instruction& in, int slot) {
  return (in.op == Op::StoreFast && in.arg == slot) || (in.op == Op::StoreFastLoadFast && in.arg == slot) ||
         (in.op == Op::StoreFastStoreFast && (in.arg == slot || in.aux == slot));
}

bool ends_here(Op op) {
  return op == Op::ReturnValue || op == Op::ReturnConst || op == Op::Raise || op == Op::Reraise;
}

}  // namespace

bool may_be_read(const Bytecode& code, int pc, int slot) {
  if (looks_at_frames(code)) return true;
  const auto& all = code.instructions();
  std::vector<bool> seen(all.size(), false);
  std::vector<int> todo = {code.index_of(pc)};
  while (!todo.empty()) {
    const int index = todo.back();
    todo.pop_back();
    if (index < 0 || static_cast<size_t>(index) >= all.size()) return true;
    if (seen[static_cast<size_t>(index)]) continue;
    seen[static_cast<size_t>(index)] = true;
    const Instruction& i = all[static_cast<size_t>(index)];
    if (i.op == Op::Unsupported || i.op == Op::Name || reads_slot(i, slot)) return true;
    if (i.handler >= 0) todo.push_back(code.index_of(i.handler));
    if (writes_slot(i, slot)) continue;
    if (i.target >= 0) todo.push_back(code.index_of(i.target));
    if (!ends_here(i.op) && i.op != Op::Jump) todo.push_back(index + 1);
  }
  return false;
}

}  // namespace vitrine::capture
