// Bytecode and the frame loop as functions of vitrine._engine, for tests and for people who look inside.
#include <Python.h>

#include "core/capture/bytecode.h"
#include "core/python/parts.h"

namespace vitrine::python {
namespace {

// instructions(code) -> [(name, pc, at, next_pc, arg, aux, flag, target, handler, line, column), ...]
PyObject* instructions(PyObject*, PyObject* code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "a code object is needed");
  const capture::Bytecode bytecode(code);
  PyObject* out = PyList_New(0);
  if (!out) return nullptr;
  for (const capture::Instruction& in : bytecode.instructions()) {
    const capture::Position position = bytecode.position(in);
    PyObject* row = Py_BuildValue("(siiiiiOiiii)", capture::op_name(in.op).data(), in.pc, in.at, in.next_pc,
                                  in.arg, in.aux, in.flag ? Py_True : Py_False, in.target, in.handler,
                                  position.line, position.column);
    if (!row || PyList_Append(out, row) != 0) {
      Py_XDECREF(row);
      Py_DECREF(out);
      return nullptr;
    }
    Py_DECREF(row);
  }
  return out;
}

PyMethodDef kMethods[] = {
    {"instructions", instructions, METH_O,
     "The instructions of a code object, as both interpreters see them."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_frames(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
