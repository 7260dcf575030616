// What the interpreter knows of one Python type: a row of operations, as CPython's PyTypeObject. Each type is
// one file below types/, which ends with its row; types/type_table.cpp has them all. What works on any value
// (Tracer::next, Tracer::get_attr ...) finds the row and asks it. A value is looked at before its row is
// asked.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

class RecipeMaker;

using Method = Value* (*)(Tracer& t, Value* self, const Arguments& a);
using MethodTable = std::unordered_map<std::string, Method>;

// One of the operators with two operands.
struct OperatorRow {
  const char *name, *method, *reflected, *sign;
};
struct BinaryOperation {
  const OperatorRow& row;
  bool in_place;
  std::string name;  // of module operator: "add", "iadd"
  bool is(const char* plain) const { return std::string_view(plain) == row.name; }
};

// An operation that a type lacks is nullptr: what then happens is said beside the general one.
struct TypeOps {
  const char* name;
  // Of two operands the higher one is asked first; from kBeforeClasses on even before the program's own
  // classes.
  int precedence = 0;
  // The class of a value that does not tell its own; nullptr: that depends on the value.
  PyTypeObject* cls = nullptr;
  // It may be another one in the next call: its class, and its operators, are known before it is looked at.
  bool symbolic = false;
  void (*guard_class)(Tracer& t, Value* v) = nullptr;  // before its class is told
  // For people: "f32[8,128]", "list of 4"; also of what is not looked at. Lacking: its name.
  std::string (*describe)(Tracer& t, Value* v) = nullptr;
  // A real object equal to it, of constants only (deep); a new reference. nullptr: it holds anything else.
  PyObject* (*constant)(Tracer& t, Value* v) = nullptr;

  // v.name; nullptr: it has none.
  Value* (*attr)(Tracer& t, Value* v, const std::string& name) = nullptr;
  void (*set_attr)(Tracer& t, Value* v, const std::string& name, Value* value) = nullptr;
  // A native method, from the type's table; nullptr: it stands in none.
  Method (*method)(const std::string& name) = nullptr;
  // Other native methods; the result is nullptr where it has none by that name.
  Value* (*call_method)(Tracer& t, Value* self, const std::string& name, const Arguments& a) = nullptr;
  // A method that stands in no table, of arguments that are no constants; nullptr as above.
  Value* (*method_of_values)(Tracer& t, Value* self, const std::string& name, const Arguments& a) = nullptr;
  // Whether a method that stands in no table changes nothing: it is called for real.
  bool (*only_reads)(const std::string& method) = nullptr;
  Value* (*call)(Tracer& t, Value* v, Arguments a) = nullptr;

  // nullptr: it knows nothing of these operands, as NotImplemented.
  Value* (*binary)(Tracer& t, const BinaryOperation& op, Value* a, Value* b) = nullptr;
  // op: a name of module operator: "neg", "pos", "invert", "abs".
  Value* (*unary)(Tracer& t, const std::string& op, Value* v) = nullptr;
  Value* (*compare)(Tracer& t, int op, Value* a, Value* b) = nullptr;
  std::optional<bool> (*equal)(Tracer& t, Value* a, Value* b) = nullptr;
  bool (*truth)(Tracer& t, Value* v, const char* where) = nullptr;

  int64_t (*length)(Tracer& t, Value* v) = nullptr;
  bool (*contains)(Tracer& t, Value* v, Value* item) = nullptr;
  Value* (*get_item)(Tracer& t, Value* v, Value* key) = nullptr;
  void (*set_item)(Tracer& t, Value* v, Value* key, Value* value) = nullptr;
  void (*del_item)(Tracer& t, Value* v, Value* key) = nullptr;

  Value* (*iter)(Tracer& t, Value* v) = nullptr;
  bool iter_first = false;  // before its class is asked for an __iter__ in Python
  // nullptr: it is exhausted.
  Value* (*next)(Tracer& t, Value* v, Value** returned) = nullptr;

  // Of a real object, whose type is guarded: what it is takes the place of what is not looked at yet.
  void (*enter)(Tracer& t, Value* v) = nullptr;
  // What PyTorch is given for it, fake tensors in place of tensors; a new reference. Lacking: it takes no
  // such object.
  PyObject* (*to_torch)(Tracer& t, Value* v) = nullptr;
  // How one that existed before and was changed is changed for real. nullptr: only its attributes are.
  void (*effect)(Tracer& t, RecipeMaker& make, Value* v, std::vector<Effect>& out) = nullptr;
  // How the segment makes it where it leaves; nullptr: it does not leave.
  Recipe (*recipe)(Tracer& t, RecipeMaker& make, Value* v) = nullptr;
  bool by_value = false;  // nobody tells two that are equal apart: it is made wherever it is met

  // --- iterators
  Recipe (*exhausted)(Tracer& t, RecipeMaker& make, Value* v) = nullptr;  // one that has nothing left
  bool repeatable = false;  // a real one that wraps it may ask for its items again
  // Takes what a real one's __reduce__ gave: the arguments of the call that makes it, looked at.
  void (*restore)(Tracer& t, Value* v, PyObject* reduced, Values parts) = nullptr;
};

constexpr int kBeforeClasses = 10;

const TypeOps& ops_of(const Value* v);

// dict_views.cpp: what a view of this class shows of a dict now.
Values items_of_view(Tracer& t, Value* dict, PyTypeObject* cls);

}  // namespace vitrine::capture
