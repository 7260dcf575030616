#include "core/capture/cpython/code_entry.h"

#include "core/base/result.h"
#include "core/capture/cpython/cpython.h"

namespace vitrine::capture {
namespace {

// co_extra's layout, the same from 3.6 on: CPython keeps it private, entry_of() checks it at every use.
struct Extras {
  Py_ssize_t size;
  void* slots[1];
};

void free_entry(void* entry) {
  delete static_cast<CodeEntry*>(entry);
}

Py_ssize_t request_index() {
  const Py_ssize_t index = _PyEval_RequestCodeExtraIndex(free_entry);
  VITRINE_CHECK(index >= 0, "CPython has no free slot for extras of code objects");
  return index;
}

Py_ssize_t extra_index = -1;

}  // namespace

CodeEntry* find_entry(PyObject* code) {
  const auto* extras = static_cast<const Extras*>(reinterpret_cast<PyCodeObject*>(code)->co_extra);
  if (!extras || extra_index < 0 || extra_index >= extras->size) return nullptr;
  return static_cast<CodeEntry*>(extras->slots[extra_index]);
}

CodeEntry& entry_of(PyObject* code) {
  if (CodeEntry* found = find_entry(code)) return *found;
  if (extra_index < 0) extra_index = request_index();
  auto made = std::make_unique<CodeEntry>();
  VITRINE_CHECK(_PyCode_SetExtra(code, extra_index, made.get()) == 0, "the code object takes no extras");
  CodeEntry* entry = made.release();
  VITRINE_CHECK(find_entry(code) == entry, "extras of code objects are laid out differently here");
  return *entry;
}

const Bytecode& bytecode_of(PyObject* code) {
  CodeEntry& entry = entry_of(code);
  if (!entry.bytecode) entry.bytecode = std::make_unique<Bytecode>(code);
  return *entry.bytecode;
}

}  // namespace vitrine::capture
