#include "core/capture/guards/lifeline.h"

#include <memory>
#include <utility>

namespace vitrine::capture {

namespace {

constexpr const char* kLink = "vitrine.lifeline";

// What is reached from an object, up to a number of objects.
struct ReachWalk {
  static constexpr size_t kMost = 64;
  std::vector<PyObject*> open;
  size_t met = 0;
  PyObject* type =
      nullptr;  // of the object that is walked: an instance of a class has it among its referents
  bool light = true;
};

// A class that C code made: nothing that a program defines.
bool is_of_c(PyTypeObject* type) {
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ||
         reinterpret_cast<PyHeapTypeObject*>(type)->ht_module != nullptr;
}

int visit(PyObject* o, void* to) {
  auto& walk = *static_cast<ReachWalk*>(to);
  if (PyWeakref_Check(o)) return 0;
  if (PyType_Check(o)) {
    auto* type = reinterpret_cast<PyTypeObject*>(o);
    walk.light = (o == walk.type && is_of_c(type)) || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  } else if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(o)) && !PyAnySet_CheckExact(o)) {
    PyObject* self = PyCFunction_CheckExact(o) ? PyCFunction_GET_SELF(o) : o;
    walk.light = !self || (self != o && PyModule_Check(self));
  } else if (PyObject_IS_GC(o)) {
    walk.light = ++walk.met <= ReachWalk::kMost;
    walk.open.push_back(o);
  }
  return walk.light ? 0 : 1;
}

}  // namespace

bool is_light(PyObject* o) {
  ReachWalk walk;
  visit(o, &walk);
  while (walk.light && !walk.open.empty()) {
    PyObject* next = walk.open.back();
    walk.open.pop_back();
    walk.type = reinterpret_cast<PyObject*>(Py_TYPE(next));
    if (traverseproc traverse = Py_TYPE(next)->tp_traverse) traverse(next, visit, &walk);
  }
  return walk.light;
}

bool is_of_module(PyObject* o) {
  const PyRef module(PyObject_GetAttrString(o, "__module__")),
      name(PyObject_GetAttrString(o, "__qualname__"));
  const PyRef found(module && name ? PyImport_GetModule(module.get()) : nullptr);
  const bool is = found && PyModule_Check(found.get()) &&
                  PyDict_GetItemWithError(PyModule_GetDict(found.get()), name.get()) == o;
  PyErr_Clear();
  return is;
}

namespace {

struct WalkApart {
  static constexpr size_t kMost = 256;
  const std::unordered_set<PyObject*>& held;
  std::unordered_set<PyObject*> met = {};
  std::vector<PyObject*> open = {};
  bool apart = true;
};

int visit_apart(PyObject* o, void* to) {
  auto& walk = *static_cast<WalkApart*>(to);
  if (!PyObject_IS_GC(o) || PyWeakref_Check(o) || PyModule_Check(o)) return 0;
  const bool is_type = PyType_Check(o);
  if (is_type && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE)) return 0;
  if (!walk.met.insert(o).second) return 0;
  if (walk.held.contains(o) || walk.met.size() > WalkApart::kMost)
    walk.apart = false;
  else if (is_type || PyFunction_Check(o))
    walk.apart = is_of_module(o);
  else
    walk.open.push_back(o);
  return walk.apart ? 0 : 1;
}

}  // namespace

bool Lifeline::is_apart(PyObject* o) const {
  WalkApart walk{held_};
  visit_apart(o, &walk);
  while (walk.apart && !walk.open.empty()) {
    PyObject* next = walk.open.back();
    walk.open.pop_back();
    if (traverseproc traverse = Py_TYPE(next)->tp_traverse) traverse(next, visit_apart, &walk);
  }
  return walk.apart;
}

void Lifeline::free_link(PyObject* capsule) {
  delete static_cast<Link*>(PyCapsule_GetPointer(capsule, kLink));
}

// Called while the object is still whole. At the end of the interpreter nothing is taken apart any more.
PyObject* Lifeline::object_ended(PyObject* capsule, PyObject* reference) {
  const PyRef alive = share(reference);  // the one that calls is among those that go
  auto* link = static_cast<Link*>(PyCapsule_GetPointer(capsule, kLink));
  if (Lifeline* line = link ? std::exchange(link->to, nullptr) : nullptr) {
    line->over_ = true;
    for (const Weak& weak : line->weak_)
      if (weak.reference.get() == reference) line->ended_at_ = weak.to;
    const std::function<void()> ended = std::move(line->ended_);
    if (ended && !Py_IsFinalizing()) ended();
  }
  return Py_NewRef(Py_None);
}

bool Lifeline::is_told_by(PyObject* callback) {
  return PyCFunction_Check(callback) && PyCFunction_GET_FUNCTION(callback) == object_ended;
}

bool Lifeline::make_callback() {
  if (callback_) return true;
  static PyMethodDef method = {"object_ended", object_ended, METH_O, nullptr};
  auto made = std::make_unique<Link>(Link{this});
  PyRef capsule(PyCapsule_New(made.get(), kLink, free_link));
  if (!capsule) return false;
  link_ = made.release();
  callback_ = PyRef(PyCFunction_New(&method, capsule.get()));
  if (!callback_) link_ = nullptr;
  return static_cast<bool>(callback_);
}

PyRef Lifeline::weak_reference(PyObject* o) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(o)) || !make_callback()) return PyErr_Clear(), PyRef();
  PyRef made(PyWeakref_NewRef(o, callback_.get()));
  if (!made) PyErr_Clear();
  return made;
}

// What is held by the caller's reference alone has nobody else.
void Lifeline::loosen(PyRef o) {
  const bool stays = Py_REFCNT(o.get()) == 1 ||
                     (PyType_Check(o.get()) &&
                      !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o.get()), Py_TPFLAGS_HEAPTYPE));
  PyRef weak = stays ? PyRef() : weak_reference(o.get());
  if (weak)
    weak_.push_back({std::move(weak), o.get()});
  else
    strong_.push_back(std::move(o));
}

PyObject* Lifeline::hold(PyObject* o) {
  if (!o || !held_.insert(o).second) return o;
  if (settled_)
    loosen(share(o));
  else
    waiting_.push_back(share(o));
  return o;
}

PyObject* Lifeline::hold_weakly(PyObject* o) {
  if (!o || !held_.insert(o).second) return o;
  PyRef weak = weak_reference(o);
  if (weak)
    weak_.push_back({std::move(weak), o});
  else
    strong_.push_back(share(o));
  return o;
}

void Lifeline::settle() {
  settled_ = true;
  std::vector<PyRef> waiting = std::exchange(waiting_, {});
  for (PyRef& o : waiting) loosen(std::move(o));
}

void Lifeline::cut() {
  if (link_) link_->to = nullptr;
  link_ = nullptr;
}

}  // namespace vitrine::capture
