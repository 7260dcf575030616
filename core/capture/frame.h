// A live CPython frame, version-free. One implementation file a minor version (frame_311.cpp, ...): nothing
// else knows _PyInterpreterFrame. Instruction positions are byte offsets as `dis` prints them.
#pragma once

#include <cstdint>

struct _object;
struct _PyInterpreterFrame;
struct _ts;

namespace vitrine::capture {

class Frame {
 public:
  explicit Frame(_PyInterpreterFrame* frame) : f_(frame) {}
  _object* code() const;                     // borrowed
  _object* function() const;                 // borrowed
  _object* globals() const;                  // borrowed
  _object* builtins() const;                 // borrowed
  int local_count() const;                   // localsplus slots: locals, cells, free variables
  _object* local(int slot) const;            // borrowed, nullptr = unbound; a cell slot gives the cell object
  void set_local(int slot, _object* owned);  // steals, releases what was there
  int depth() const;                         // value stack entries
  _object* stack(int index) const;           // borrowed, nullptr = NULL entry; 0 = bottom
  void set_stack(int index, _object* owned);
  void push(_object* owned);
  _object* pop();            // new reference
  void truncate(int depth);  // releases entries above
  int pc() const;            // next instruction to run (start of it, EXTENDED_ARG included), bytes
  void set_pc(int pc);
  _PyInterpreterFrame* raw() const { return f_; }

 private:
  _PyInterpreterFrame* f_;
};

}  // namespace vitrine::capture
