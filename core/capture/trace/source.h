// Where a value came from: a path from the frame that the program itself can walk again. Sources are guards'
// access paths, names of graph inputs and recipes for values that pass through a segment untouched. Interned:
// one object a path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct _object;

namespace vitrine::capture {

enum class SourceKind : uint8_t {
  Local,         // index: slot in localsplus; name: for people                L['x']
  Stack,         // index: position from the bottom of the value stack         S[0]
  Global,        // name, in the frame function's globals                      G['F']
  GlobalOf,      // base: a function or module value; name in its globals      G(base)['F']
  Builtin,       // name in builtins                                           B['len']
  Attr,          // base.name through getattr semantics of plain objects       base.name
  InstanceDict,  // base.__dict__[name] (modules: also _parameters, ...)       base.__dict__['name']
  Item,          // base[key], key a constant                                  base[0], base['k']
  ItemOf,        // base[key], key what a weak reference refers to: a tensor   base[L['p']]
  Cell,          // contents of a cell object                                  base.cell_contents
  Closure,       // base: function; index: position in __closure__             base.__closure__[0]
  Default,       // base: function; index: position in __defaults__            base.__defaults__[0]
  KwDefault,     // base: function; name in __kwdefaults__                     base.__kwdefaults__['n']
  Type,          // type(base)                                                 type(base)
  BoundSelf,     // base: method; its __self__
  BoundFunc,     // base: method; its __func__
  TensorOver,    // base: a NumPy array; a tensor over its memory              tensor(base)
  WeakTarget,    // base: weakref.ref; what it refers to, or None            base()
  Proxied,       // base: a mappingproxy; the dict behind it
  DictKey,       // base: dict; index: key in insertion order                  list(base)[0]
  IterRest,      // base: list, tuple, range or dict iterator, or a set; list of what it has left, from its
                 // __reduce__ (which does not advance it)
  IterState,     // base: enumerate, zip, map, filter, count, repeat, chain, islice; index 1: tuple of what it
                 // was made from and where it stands, 2: its state or None; both from its __reduce__
  Drawn,         // index: how many were drawn before; key: tuple of a method of a random.Random and its
                 // arguments, called once a call, before the graph runs       random.gauss(0.0, 1.0)
  Computed,      // index: in Trace::computed; a float that sizes give, computed once a call, before the graph
  Derived,       // base: a float; key: tuple of a function of Python's and its arguments, each a number, such
                 // a tuple, or ... for the float                              math.exp(-L['t'])
  Constant,      // an object fixed at capture (a class, a module imported inside); needs no guard by itself
};

// What a number that is drawn anew at each call is taken to be where there is no call.
constexpr double kSomeDraw = 0.5;

struct Source {
  SourceKind kind;
  const Source* base = nullptr;
  int32_t index = -1;
  std::string name;            // attribute, global, ... or the repr of `key`
  _object* key = nullptr;      // Item: the key object; ItemOf: a weak reference to it; Constant: the object
                               // (owned by the pool)
  std::string path() const;    // as a person writes it: members of modules by name, "L['self'].fc.weight"
  std::string text() const;    // "L['self'].fc.weight"
  const Source* root() const;  // the Local, Stack, Global ... it starts from
};

// Owns the sources of one trace; the segment keeps it alive. Needs the GIL when keys are involved.
class SourcePool {
 public:
  ~SourcePool();
  // Its references to the keys, which whoever takes them has for as long as the pool lives.
  std::vector<_object*> take_keys();
  const Source* make(SourceKind kind, const Source* base, int32_t index, const std::string& name,
                     _object* key = nullptr);
  const Source* local(int slot, const std::string& name) {
    return make(SourceKind::Local, nullptr, slot, name);
  }
  const Source* attr(const Source* base, const std::string& name) {
    return make(SourceKind::Attr, base, -1, name);
  }

 private:
  std::vector<std::unique_ptr<Source>> all_;
  std::unordered_map<std::string, std::vector<Source*>> by_path_;
  bool has_keys_ = true;
};

}  // namespace vitrine::capture
