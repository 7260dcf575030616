// What a segment was compiled for, held so that it may go: classes, functions, modules and other objects by
// weak references. When one of them ends, what was compiled for it has no use any more, and its address means
// nothing: whoever compares addresses is told at once, before another object can lie there.
#pragma once

#include <functional>
#include <unordered_set>
#include <vector>

#include "core/capture/objects/owned.h"

namespace vitrine::capture {

// Whether nothing of the program's hangs on it: numbers, words, and small containers of such.
bool is_light(PyObject* o);

// Found in its module under its name: a class or function that stays as long as the module does.
bool is_of_module(PyObject* o);

// Needs the GIL throughout.
class Lifeline {
 public:
  // `ended` is called once, when an object that is held weakly ends; it may destroy the lifeline.
  explicit Lifeline(std::function<void()> ended) : ended_(std::move(ended)) {}
  ~Lifeline() { cut(); }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // Holds it, by a reference of its own until settle(). Returns it.
  PyObject* hold(PyObject* o);
  // The same, weakly from the start: whoever has it need not be found out.
  PyObject* hold_weakly(PyObject* o);
  bool holds(PyObject* o) const { return held_.contains(o); }
  // Whether it leads to nothing that is held, as far as can be seen: to keep it alive keeps none of that
  // alive.
  bool is_apart(PyObject* o) const;
  // From now on objects are held weakly. What has no weak references stays, and what nobody else has: it was
  // made for the segment.
  void settle();
  // Whether an object has ended.
  bool is_over() const { return over_; }
  // Where that object was: an address to compare only.
  const void* ended_at() const { return ended_at_; }
  // Nobody is told any more.
  void cut();
  // Whether a weak reference's callback is a lifeline's: of the program's nobody hears of that object's end.
  static bool is_told_by(PyObject* callback);

 private:
  struct Link {
    Lifeline* to;
  };
  static PyObject* object_ended(PyObject* link, PyObject* reference);
  static void free_link(PyObject* capsule);
  bool make_callback();
  PyRef weak_reference(PyObject* o);
  void loosen(PyRef o);

  std::function<void()> ended_;
  std::unordered_set<PyObject*> held_;
  std::vector<PyRef> waiting_;  // until settle()
  std::vector<PyRef> strong_;
  struct Weak {
    PyRef reference;
    const void* to;
  };
  std::vector<Weak> weak_;
  PyRef callback_;        // of all weak references
  Link* link_ = nullptr;  // of the callback, which may outlive this
  bool settled_ = false, over_ = false;
  const void* ended_at_ = nullptr;
};

}  // namespace vitrine::capture
