#include "core/capture/interpreter/state/frame_state.h"

namespace vitrine::capture {

FrameState::~FrameState() {
  for (PyObject* o : codes_) Py_DECREF(o);
}

const Bytecode* FrameState::bytecode_of(PyCodeObject* code) {
  auto& entry = bytecodes[code];
  if (!entry) entry = std::make_unique<Bytecode>(reinterpret_cast<PyObject*>(code));
  if (seen_codes_.insert(code).second) {
    Py_INCREF(code);
    codes_.push_back(reinterpret_cast<PyObject*>(code));
  }
  return entry.get();
}

}  // namespace vitrine::capture
