#include "core/capture/cpython/bytecode.h"

#include <array>

#include "core/capture/cpython/cpython.h"

namespace vitrine::capture {
namespace {

// Entries of co_exceptiontable are four big-endian numbers of 6-bit groups: start, size, target (in units)
// and depth << 1 | lasti. Bit 64 says that another group follows; bit 128 marks the first byte of an entry.
class ExceptionTable {
 public:
  ExceptionTable(const uint8_t* begin, const uint8_t* end) : at_(begin), end_(end) {}
  bool more() const { return at_ < end_; }
  int number() {
    int value = 0;
    while (at_ < end_) {
      const uint8_t byte = *at_++;
      value = value << 6 | (byte & 63);
      if (!(byte & 64)) break;
    }
    return value;
  }

 private:
  const uint8_t *at_, *end_;
};

int32_t number_or_unknown(PyObject* item) {
  return item == Py_None ? -1 : static_cast<int32_t>(PyLong_AsLong(item));
}

}  // namespace

std::string_view op_name(Op op) {
  static constexpr std::array<std::string_view, static_cast<size_t>(Op::Count)> kNames = {
#define X(name, text) text,
      VITRINE_OPS(X)
#undef X
  };
  return kNames[static_cast<size_t>(op)];
}

std::string_view binary_symbol(int arg) {
  static constexpr std::array<std::string_view, 26> kSymbols = {
      "+",  "&",  "//",  "<<",  "@",  "*",  "%",  "|",  "**",  ">>",  "-",  "/",  "^",
      "+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^="};
  return arg >= 0 && arg < 26 ? kSymbols[static_cast<size_t>(arg)] : "?";
}

std::string_view compare_symbol(int arg) {
  static constexpr std::array<std::string_view, 6> kSymbols = {"<", "<=", "==", "!=", ">", ">="};
  return arg >= 0 && arg < 6 ? kSymbols[static_cast<size_t>(arg)] : "?";
}

Bytecode::Bytecode(PyObject* code) : code_(code) {
  auto* c = reinterpret_cast<PyCodeObject*>(code);
  constants_ = c->co_consts;
  names_ = c->co_names;
  local_names_ = c->co_localsplusnames;
  PyObject* bytes = PyCode_GetCode(c);
  if (!bytes) {
    PyErr_Clear();
    return;
  }
  const int size = static_cast<int>(PyBytes_GET_SIZE(bytes));
  instructions_ = decode(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes)), size);
  Py_DECREF(bytes);
  index_.assign(static_cast<size_t>(size) / 2, -1);
  for (size_t i = 0; i < instructions_.size(); ++i)
    index_[static_cast<size_t>(instructions_[i].pc) / 2] = static_cast<int32_t>(i);
  find_cells(c->co_localspluskinds);
  find_return();
  find_handlers(c->co_exceptiontable);
  for (const Instruction& in : instructions_) {
    if (in.op != Op::MakeCell && in.op != Op::CopyFreeVars && in.op != Op::Resume) break;
    body_pc_ = in.next_pc;
    if (in.op == Op::Resume) break;
  }
}

// From CPython 3.13 on the cell itself is loaded as any local is.
void Bytecode::find_cells(PyObject* kinds) {
  constexpr int kCell = 0x40, kFree = 0x80;  // as inspect and dis know them
  for (Instruction& in : instructions_)
    if (in.op == Op::LoadFast && in.arg < PyBytes_GET_SIZE(kinds) &&
        (PyBytes_AS_STRING(kinds)[in.arg] & (kCell | kFree)))
      in.op = Op::LoadClosure;
}

void Bytecode::find_return() {
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Op op = instructions_[i].op;
    if (op == Op::ReturnValue || (op == Op::ReturnConst && return_ < 0)) return_ = static_cast<int32_t>(i);
    if (op == Op::ReturnValue) return;
  }
}

void Bytecode::find_handlers(PyObject* table) {
  if (!PyBytes_Check(table)) return;
  const auto* bytes = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(table));
  ExceptionTable entries(bytes, bytes + PyBytes_GET_SIZE(table));
  while (entries.more()) {
    const int start = entries.number() * 2;
    const int size = entries.number() * 2;
    const int target = entries.number() * 2;
    const int depth_and_lasti = entries.number();
    for (Instruction& in : instructions_)
      if (in.at >= start && in.at < start + size) {
        in.handler = target;
        in.handler_depth = depth_and_lasti >> 1;
        in.handler_lasti = depth_and_lasti & 1;
      }
  }
}

Position Bytecode::position(const Instruction& instruction) const {
  if (positions_.empty()) read_positions();
  const auto unit = static_cast<size_t>(instruction.at) / 2;
  return unit < positions_.size() ? positions_[unit] : Position{};
}

void Bytecode::read_positions() const {
  positions_.assign(index_.size(), Position{});
  PyObject* iterator = PyObject_CallMethod(code_, "co_positions", nullptr);
  size_t unit = 0;
  while (PyObject* item = iterator ? PyIter_Next(iterator) : nullptr) {
    if (unit < positions_.size() && PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 4)
      positions_[unit] = {
          number_or_unknown(PyTuple_GET_ITEM(item, 0)), number_or_unknown(PyTuple_GET_ITEM(item, 1)),
          number_or_unknown(PyTuple_GET_ITEM(item, 2)), number_or_unknown(PyTuple_GET_ITEM(item, 3))};
    ++unit;
    Py_DECREF(item);
  }
  Py_XDECREF(iterator);
  if (PyErr_Occurred()) PyErr_Clear();
}

PyObject* Bytecode::constant(int index) const {
  return PyTuple_GET_ITEM(constants_, index);
}
PyObject* Bytecode::name(int index) const {
  return PyTuple_GET_ITEM(names_, index);
}
PyObject* Bytecode::local_name(int slot) const {
  return PyTuple_GET_ITEM(local_names_, slot);
}

}  // namespace vitrine::capture
