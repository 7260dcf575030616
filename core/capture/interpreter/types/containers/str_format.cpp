// "{0.shape} {name:>{width}}".format(...): each field as an f-string's. Texts of which all is constant are
// formatted for real; what CPython refuses is left to it.
#include "core/capture/interpreter/types/containers/str_format.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/python_names.h"

namespace vitrine::capture {
namespace {

using torch_api::Name;

constexpr int kMostNested = 2;  // a field's specification may hold fields, these no more

// Of the whole text: which argument a field without a name takes.
struct Numbering {
  bool automatic = false, manual = false;
  size_t next = 0;
};

[[noreturn]] void refuse() {
  PyErr_Clear();
  stop("unsupported_builtin", "a text with fields that str.format() may refuse");
}

// By a function of CPython's own module of formatting.
PyRef parsed(Name function, PyObject* text) {
  PyRef result = torch_api::call(function, "(O)", text);
  if (!result) refuse();
  return result;
}

Value* argument_of(PyObject* first, const Arguments& a, Numbering& numbers) {
  if (PyUnicode_Check(first) && PyUnicode_GET_LENGTH(first) > 0) {
    Value* named = a.find(text_of(first));
    return named ? named : (refuse(), nullptr);
  }
  const bool automatic = PyUnicode_Check(first);
  (automatic ? numbers.automatic : numbers.manual) = true;
  const size_t i = automatic ? numbers.next++ : PyLong_AsSize_t(first);
  if ((numbers.automatic && numbers.manual) || PyErr_Occurred() || i >= a.positional.size()) refuse();
  return a.positional[i];
}

// "0.shape[1]": an argument, and the way on from it.
Value* field_value(Tracer& t, PyObject* field, const Arguments& a, Numbering& numbers) {
  const PyRef parts = parsed(Name::formatter_field_name_split, field);
  Value* v = argument_of(PyTuple_GET_ITEM(parts.get(), 0), a, numbers);
  const PyRef rest(PySequence_List(PyTuple_GET_ITEM(parts.get(), 1)));
  if (!rest) refuse();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rest.get()); ++i) {
    PyObject* step = PyList_GET_ITEM(rest.get(), i);
    PyObject* name = PyTuple_GET_ITEM(step, 1);
    const bool attribute = PyTuple_GET_ITEM(step, 0) == Py_True;
    v = attribute ? load_attr(t, v, text_of(name)) : get_item(t, v, t.constant(name));
  }
  return v;
}

std::string formatted(Tracer& t, PyObject* text, const Arguments& a, Numbering& numbers, int nested) {
  if (nested > kMostNested) refuse();
  const PyRef fields(PySequence_List(parsed(Name::formatter_parser, text).get()));
  if (!fields) refuse();
  std::string out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(fields.get()); ++i) {
    PyObject* part = PyList_GET_ITEM(fields.get(), i);
    PyObject *name = PyTuple_GET_ITEM(part, 1), *conversion = PyTuple_GET_ITEM(part, 3);
    out += text_of(PyTuple_GET_ITEM(part, 0));
    if (name == Py_None) continue;
    Value* v = field_value(t, name, a, numbers);
    PyObject* given_form = PyTuple_GET_ITEM(part, 2);
    const bool fields_inside = text_of(given_form).find_first_of("{}") != std::string::npos;
    Value* form =
        t.text(fields_inside ? formatted(t, given_form, a, numbers, nested + 1) : text_of(given_form));
    const std::string wanted = conversion == Py_None ? "" : text_of(conversion);
    const size_t kind = wanted.empty() ? 0 : std::string("-sra").find(wanted);
    if (kind == std::string::npos) refuse();
    out += str_of(t, format(t, v, form, static_cast<int>(kind)), false);
  }
  return out;
}

}  // namespace

Value* format_text(Tracer& t, PyObject* form, const Arguments& a) {
  Numbering numbers;
  return t.text(formatted(t, form, a, numbers, 1));
}

}  // namespace vitrine::capture
