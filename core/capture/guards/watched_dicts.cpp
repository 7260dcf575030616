#include "core/capture/guards/watched_dicts.h"

#include <algorithm>
#include <unordered_map>

namespace vitrine::capture {

#if PY_VERSION_HEX >= 0x030C0000

// CPython's callback has no argument of ours: who watches a dict is found by its address.
class DictRegistry {
 public:
  static DictRegistry& get() {
    static DictRegistry* const all = new DictRegistry;  // dicts end after static objects do
    return *all;
  }

  bool add(PyObject* dict, WatchedDicts& by, int32_t node) {
    if (watcher_ < 0) return false;
    const auto [at, is_new] = watching_.try_emplace(dict);
    if (is_new && PyDict_Watch(watcher_, dict) != 0) {
      PyErr_Clear();
      watching_.erase(at);
      return false;
    }
    at->second.push_back({&by, node});
    return true;
  }

  void remove(PyObject* dict, const WatchedDicts& by) {
    const auto at = watching_.find(dict);
    if (at == watching_.end()) return;
    std::erase_if(at->second, [&](const Watching& w) { return w.by == &by; });
    if (!at->second.empty()) return;
    watching_.erase(at);
    if (Py_IsInitialized() && PyDict_Unwatch(watcher_, dict) != 0) PyErr_Clear();
  }

 private:
  struct Watching {
    WatchedDicts* by;
    int32_t node;
  };

  DictRegistry() : watcher_(PyDict_AddWatcher(on_change)) {
    if (watcher_ < 0) PyErr_Clear();  // all are taken
  }

  // Before the change, or before the dict is gone. Runs nothing of Python's.
  static int on_change(PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*) {
    auto& watching = get().watching_;
    const auto at = watching.find(dict);
    if (at == watching.end()) return 0;
    for (const Watching& w : at->second) w.by->changed_ = w.node;
    if (event == PyDict_EVENT_DEALLOCATED) watching.erase(at);
    return 0;
  }

  const int watcher_;
  std::unordered_map<PyObject*, std::vector<Watching>> watching_;
};

bool WatchedDicts::add(PyObject* dict, int32_t node) {
  if (!DictRegistry::get().add(dict, *this, node)) return false;
  dicts_.push_back(dict);
  return true;
}

WatchedDicts::~WatchedDicts() {
  for (PyObject* dict : dicts_) DictRegistry::get().remove(dict, *this);
}

#else

bool WatchedDicts::add(PyObject*, int32_t) {
  return false;
}

WatchedDicts::~WatchedDicts() = default;

#endif

}  // namespace vitrine::capture
