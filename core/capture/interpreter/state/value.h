// A value of the symbolic interpreter: what it knows about one Python object of the traced program. Objects
// that existed before the segment carry their source and are looked at only on demand (Lazy): looking emits a
// guard. Every change to them stays in the Value; the real object is never touched.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/capture/objects/python.h"
#include "core/capture/trace/source.h"
#include "core/ir/sym.h"

namespace vitrine::capture {

class Value;
struct VirtualFrame;
using Values = std::vector<Value*>;

enum class ValueKind : uint8_t {
  Null,      // an empty stack entry
  Lazy,      // obj and source; not looked at yet
  Symbol,    // an int that may be another one in the next call; obj: what it is now
  Float,     // a float that may be another one; obj: what it is now
  Text,      // a str that holds numbers of tensors, symbolic_text.cpp
  Constant,  // obj: immutable, or an object whose identity is fixed (function, class, module, enum member
             // ...)
  Tensor,    // obj: the storage-less fake tensor
  Tuple,     // cls: tuple, torch.Size, a named tuple, ...
  List,      // or a deque
  Dict,
  Set,
  Slice,
  Iterator,
  Function,  // made in the segment
  Cell,
  Method,
  Object,  // any other object: obj (nullptr: made in the segment), cls, attrs
  Super,
  Generator
};

// Contents of a dict. A dict that existed before is loaded entry by entry until something needs them all.
struct DictState {
  std::vector<std::pair<Value*, Value*>> entries;  // a removed entry has a null key
  PyRef index;                                     // real dict: key object -> position in entries
  bool complete = true;                            // false: entries hold only what was looked up
  bool shown = false;                              // a mappingproxy's value has copies of the entries
  uint64_t keys_changed = 0;                       // how often a key came or went
};

enum class IteratorKind : uint8_t {
  Sequence,    // children[0]: Tuple or List, index
  Keys,        // of the Dict children[0], index into its entries
  Entries,     // (key, value)
  DictValues,  //
  Range,       // object: a range or str constant, index
  Reversed,    // of the Tuple or List children[0], index counts down
  Enumerate,   // children[0]: iterator, index
  Zip,         // children: iterators; strict
  Map,         // function, children: iterators
  Filter,      // function (None constant: truth), children[0]
  Chain,       // children: iterables, index: the current one; inner
  Count,       // children: current, step
  Repeat,      // children[0]; index: how many are left, -1 = endless
  Islice,      // children[0]; index: position, limits
  Generator,   // children[0]: Generator
  Callable,    // iter(function, sentinel children[0])
};

struct IteratorState {
  IteratorKind kind = IteratorKind::Sequence;
  Values children;
  Value* function = nullptr;
  Value* inner = nullptr;
  int64_t index = 0, stop = 0, step = 1;
  int64_t passed = 0;  // Islice: how many children[0] has given
  bool strict = false, done = false;
  // Of an iterator that existed before: how often it was asked since the segment began, and how many of these
  // a real enumerate() around it repeats by itself when it is advanced.
  int64_t taken = 0, covered = 0;
  PyObject* over = nullptr;  // the container that it walks; must not change meanwhile
  Value* set = nullptr;      // Sequence: children[0] are the elements of this one, in their order
  uint64_t walked = 0;       // the set's version, or the changes of the dict's keys, when the walk began
};

// What an exception made here says of others.
struct ExceptionChain {
  Value *cause = nullptr, *context = nullptr;
  bool suppressed = false;
  bool open = false;  // its context is up to what was handled when the segment began
};

struct FunctionState {
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  const Source* globals_owner = nullptr;  // a function with these globals; nullptr: the frame's function
  Values closure;
  Value* defaults = nullptr;     // Tuple or nullptr
  Value* kwdefaults = nullptr;   // Dict or nullptr
  Value* annotations = nullptr;  // or nullptr
  Value* qualname = nullptr;
};

// What only values of one kind have, in the order of ValueKind.
struct NullValue {};
struct LazyValue {};
struct SymbolValue {
  ir::Sym sym;
};
struct FloatValue {
  Value* tensor = nullptr;    // of one that sizes give: once the graph has it
  Values roots;               // what it is computed from
  Values items;               // of one that sizes give: function and arguments
  PyObject* parts = nullptr;  // of one that Python can compute from one root alone: how (SourceKind::Derived)
};
struct TextValue {
  Values items;
};
struct ConstantValue {};
struct TensorValue {
  PyObject* real = nullptr;     // the tensor it stands for, if it is an input
  bool inference_view = false;  // a view of a normal tensor, made in inference mode
  bool freed_first = false;     // its gradient was set to None before anything was computed
};
struct TupleValue {
  Values items;
  Value* owner = nullptr;    // a view of this dict
  PyObject* real = nullptr;  // torch.return_types.*: answers its field names
};
struct ListValue {
  Values items;
  bool open = false;   // only what was added since is known: items
  int64_t limit = -1;  // a deque made with maxlen: so many items at most
};
struct DictValue : DictState {
  Value* owner = nullptr;  // it is the __dict__ of this object, writes go there
};
struct SetValue {
  Values items;  // all constants
  // A real one that came about in the same way, as it was at that version. Its order is the program's.
  PyRef twin;
  uint64_t twin_version = 0;
  std::vector<std::pair<const char*, PyObject*>> changes;  // from before: methods called, and with what
  uint64_t changes_version = 0;                            // behind the last of them
};
struct SliceValue {
  Values items;  // start, stop, step
};
struct CellValue {
  Values items;  // the contents, nullptr = empty, when loaded
};
struct MethodValue {
  Values items;  // function, self
};
struct ObjectValue {
  Values items;         // its parts, where it is of a class that the interpreter knows
  bool worded = false;  // an exception: items are its args, word for word
  std::unique_ptr<ExceptionChain> chain;
  PyRef stand_in;  // of one made here: hashed by identity in its place
};
struct SuperValue {
  Values items;            // class, object
  Value* owner = nullptr;  // no value of the program: the exception that a frame handles
};
struct GeneratorValue {
  std::shared_ptr<VirtualFrame> frame;  // suspended
};

class Value {
 public:
  ValueKind kind() const { return static_cast<ValueKind>(content_.index()); }
  bool is(ValueKind kind) const { return this->kind() == kind; }

  // What it has as a value of this kind. One of another kind is a mistake of ours: an internal error.
  template <class T>
  T& as() {
    if (T* held = std::get_if<T>(&content_)) return *held;
    wrong_kind();
  }
  template <class T>
  const T& as() const {
    if (const T* held = std::get_if<T>(&content_)) return *held;
    wrong_kind();
  }
  template <class T>
  const T* if_is() const {
    return std::get_if<T>(&content_);
  }
  Values& items();  // of every kind that has some
  const Values& items() const;
  const Values& items_if_any() const;  // empty where its kind has none
  DictState& dict() { return as<DictValue>(); }
  const DictState& dict() const { return as<DictValue>(); }
  IteratorState& iterator() { return as<IteratorState>(); }
  const IteratorState& iterator() const { return as<IteratorState>(); }
  FunctionState& function() { return as<FunctionState>(); }
  const FunctionState& function() const { return as<FunctionState>(); }
  std::shared_ptr<VirtualFrame>& generator() { return as<GeneratorValue>().frame; }
  const std::shared_ptr<VirtualFrame>& generator() const { return as<GeneratorValue>().frame; }

  bool pinned =
      false;  // its identity is certain without a guard (it hangs on a guarded class, or was imported)
  bool mutated = false;     // differs from what the source gives now
  bool typed = false;       // the type guard was emitted
  bool identified = false;  // the identity or equality guard was emitted
  bool sized = false;       // the length guard was emitted
  int32_t shared = -1;      // number of its recipe once one was made
  uint64_t version = 0;     // counts changes: iteration over a changed dict raises
  PyObject* obj = nullptr;  // borrowed from the tracer's keep-alive list
  PyTypeObject* cls = nullptr;
  const Source* source = nullptr;
  Value* forward = nullptr;                           // the value that stands for the same object
  std::vector<std::pair<std::string, Value*>> attrs;  // written attributes in order; a null value = deleted
  Value* own_dict = nullptr;                          // its __dict__, once it was asked for

 private:
  friend void become(Value* v, ValueKind kind);
  [[noreturn]] void wrong_kind() const;

  using Content =
      std::variant<NullValue, LazyValue, SymbolValue, FloatValue, TextValue, ConstantValue, TensorValue,
                   TupleValue, ListValue, DictValue, SetValue, SliceValue, IteratorState, FunctionState,
                   CellValue, MethodValue, ObjectValue, SuperValue, GeneratorValue>;
  static_assert(std::variant_size_v<Content> == static_cast<size_t>(ValueKind::Generator) + 1);
  Content content_;
};

// The one way to another kind. What it had as one of its kind before is gone, what all kinds have stays.
void become(Value* v, ValueKind kind);

// What a value of any kind has of these; nothing where its kind has none.
Value* owner_of(const Value* v);    // the object whose __dict__ it is, the dict that it is a view of
PyObject* real_of(const Value* v);  // the real tensor, the torch.return_types.*
ExceptionChain* chain_if_any(Value* v);
inline bool is_freed_first(const Value* v) {
  const auto* tensor = v->if_is<TensorValue>();
  return tensor && tensor->freed_first;
}
inline bool is_open(const Value* v) {
  const auto* list = v->if_is<ListValue>();
  return list && list->open;
}
inline bool is_worded(const Value* v) {
  const auto* object = v->if_is<ObjectValue>();
  return object && object->worded;
}

// Whether its class may be one of the program's, with operators of its own: objects, and lists, tuples,
// dicts, sets.
bool may_have_methods(const Value* v);

// A tuple itself, of no class derived from it, and no view of a dict.
inline bool is_plain_tuple(const Value* v) {
  return v->is(ValueKind::Tuple) && v->cls == &PyTuple_Type && !owner_of(v);
}

// constants.cpp. Types whose values are compared by value: an equal object of the same type behaves the same
// everywhere.
bool is_plain_constant(PyObject* o);
bool is_frozen_set_of_constants(PyObject* o);
// Objects that are compared by identity: what they are does not change while they live.
bool is_identity_constant(PyObject* o);
bool is_constant_object(PyObject* o);  // any of these

// set.cpp: an object hashed by identity that is not there yet, so that a set's order with it is nobody's.
bool is_made_here(const Value* key);

}  // namespace vitrine::capture
