#include "core/torch_api/layout.h"

#include <Python.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/ir/types.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

namespace {

// Sample tensors of every kind that a guard must tell apart, and PyTorch's own answers about each.
constexpr const char* kSamples = R"(
import torch
def samples():
    base = torch.arange(24., device='cpu', dtype=torch.float32).reshape(2, 3, 4)
    leaf = torch.ones(3, 2, device='cpu', dtype=torch.float64).requires_grad_(True)
    frozen = torch.nn.Parameter(torch.ones(5, device='cpu'), requires_grad=False)
    with torch.enable_grad():
        result = leaf * 2
        view = leaf[0]
    bumped = torch.zeros(4, 1, device='cpu')
    for _ in range(5):
        bumped.add_(1)
    plain = [base, base[1, 1:, ::2], base.transpose(0, 2), leaf, frozen, result, view, bumped, leaf.detach(),
             torch.nn.Parameter(torch.ones(2, 2, device='cpu')), torch.ones((), dtype=torch.bool, device='cpu'),
             torch.zeros(0, 3, dtype=torch.int64, device='cpu')]
    with torch.no_grad():
        plain.append(leaf[1])
    plain += [torch.zeros(2, 1, 3, 1, 2, dtype=torch.int8, device='cpu').transpose(0, 2),
              torch.zeros(1, 2, 1, 3, 1, 2, dtype=torch.bfloat16, device='cpu')]
    other = [torch.ones(2, dtype=torch.complex64, device='cpu').conj(), torch.ones(2, 3, device='meta')]
    return plain, other
def answer(t):
    return (t._cdata, torch._C._dispatch_keys(t).raw_repr(), t.untyped_storage()._cdata, t._version,
            int(t.requires_grad), int(t.grad_fn is None), int(t._is_view()), t.storage_offset(), t.data_ptr(),
            tuple(t.shape), t.stride())
def guard():
    t = torch.ones(3, device='cpu')
    return t, lambda: torch._C._set_throw_on_mutable_data_ptr(t)
def place(t):
    return str(t.device), str(t.untyped_storage().device)
def raises(f):
    try:
        f()
    except RuntimeError:
        return True
    return False
def guarded(t):
    return all(map(raises, (t.tolist, t.data_ptr, t.numpy, t.item, lambda: t.view(torch.int32).tolist())))
)";

struct ProbedTensor {
  PyRef tensor;
  uint64_t cdata = 0, keys = 0, storage = 0, version = 0, requires_grad = 0, is_leaf = 0, is_view = 0,
           offset = 0, data = 0;
  std::vector<int64_t> sizes, strides;
};

std::vector<int64_t> int_list(PyObject* tuple) {
  std::vector<int64_t> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    out.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)));
  return out;
}

class Prober {
 public:
  explicit Prober(const Symbols& symbols) : symbols_(symbols) {}

  LayoutReport run() {
    try {
      if (!load()) {
        note("samples", take_python_error());
        return report_;
      }
      const bool tensors = test("tensor handle", [&] { return find_handle(); }) &&
                           test("tensor metadata", [&] { return check_metadata(); }) &&
                           test("wrapping", [&] { return check_wrap(); });
      if (!tensors) return report_;
      test("dispatch keys", [&] { return find_word(&ObjectLayout::keys_word, &ProbedTensor::keys, true); });
      const bool storage = test(
          "storage", [&] { return find_word(&ObjectLayout::storage_word, &ProbedTensor::storage, true); });
      test("version counter", [&] { return find_version(); });
      test("requires_grad", [&] { return find_autograd(); });
      test("sizes and strides", [&] { return find_dims(); });
      test("element type", [&] { return find_dtype(); });
      if (storage) test("element address", [&] { return find_address(); });
      if (storage) test("storage owners", [&] { return find_owners(); });
      if (storage) test("device", [&] { return find_device(); });
      report_.ready = storage && test("storage guard", [&] { return find_guard(); });
    } catch (const std::exception& error) {
      note("self-test", error.what());
      report_.ready = false;
    }
    return report_;
  }

 private:
  void note(const std::string& name, const std::string& result) { report_.tests.emplace_back(name, result); }
  bool test(const std::string& name, const std::function<bool()>& f) {
    const bool ok = f();
    const std::string error = take_python_error();
    note(name, ok ? "ok" : "not found" + (error.empty() ? "" : ": " + error));
    return ok;
  }
  PyObject* name(const char* key) { return PyDict_GetItemString(scope_.get(), key); }

  bool load() {
    scope_ = PyRef::steal(PyDict_New());
    PyDict_SetItemString(scope_.get(), "__builtins__", PyEval_GetBuiltins());
    if (!PyRef::steal(PyRun_String(kSamples, Py_file_input, scope_.get(), scope_.get()))) return false;
    PyRef both = PyRef::steal(PyObject_CallNoArgs(name("samples")));
    if (!both) return false;
    for (Py_ssize_t group = 0; group < 2; ++group) {
      PyObject* list = PyTuple_GET_ITEM(both.get(), group);
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
        if (!add(PyList_GET_ITEM(list, i), group == 0 ? plain_ : other_)) return false;
    }
    return true;
  }
  bool add(PyObject* tensor, std::vector<ProbedTensor>& to) {
    PyRef t = PyRef::steal(PyObject_CallOneArg(name("answer"), tensor));
    if (!t) return false;
    uint64_t n[9];
    for (int i = 0; i < 9; ++i) n[i] = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(t.get(), i));
    to.push_back({PyRef::borrow(tensor), n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8],
                  int_list(PyTuple_GET_ITEM(t.get(), 9)), int_list(PyTuple_GET_ITEM(t.get(), 10))});
    return !PyErr_Occurred();
  }

  static size_t words_in(void* object) { return std::min<size_t>(malloc_usable_size(object) / 8, 40); }
  void* impl(const ProbedTensor& a) const { return word_at(a.tensor.get(), report_.layout.handle_word); }
  void* handle(const ProbedTensor& a) const {
    return reinterpret_cast<void**>(a.tensor.get()) + report_.layout.handle_word;
  }
  template <class F>
  bool all(F&& f, bool with_other) const {
    return std::all_of(plain_.begin(), plain_.end(), f) &&
           (!with_other || std::all_of(other_.begin(), other_.end(), f));
  }

  bool find_handle() {
    const auto words = static_cast<int>(Py_TYPE(plain_[0].tensor.get())->tp_basicsize / 8);
    for (int w = 2; w < words; ++w) {
      auto same = [&](const ProbedTensor& a) {
        return reinterpret_cast<uint64_t>(word_at(a.tensor.get(), w)) == a.cdata;
      };
      if (all(same, true)) return report_.layout.handle_word = w, true;
    }
    return false;
  }

  bool check_metadata() const {
    return all(
        [&](const ProbedTensor& a) {
          int64_t dim = 0, offset = 0, *sizes = nullptr, *strides = nullptr;
          void* data = nullptr;
          void* h = handle(a);
          if (symbols_.get_dim(h, &dim) || symbols_.get_sizes(h, &sizes) ||
              symbols_.get_strides(h, &strides) || symbols_.get_storage_offset(h, &offset) ||
              symbols_.get_data_ptr(h, &data))
            return false;
          return std::vector<int64_t>(sizes, sizes + dim) == a.sizes &&
                 std::vector<int64_t>(strides, strides + dim) == a.strides &&
                 offset == static_cast<int64_t>(a.offset) && reinterpret_cast<uint64_t>(data) == a.data;
        },
        false);
  }

  // A second handle of a living tensor must wrap to the very same Python object, with no reference lost.
  bool check_wrap() const {
    PyObject* tensor = plain_[0].tensor.get();
    const Py_ssize_t before = Py_REFCNT(tensor);
    void* copy = nullptr;
    if (symbols_.new_handle(handle(plain_[0]), &copy)) return false;
    PyRef wrapped = PyRef::steal(symbols_.wrap_move ? symbols_.wrap_move(copy) : symbols_.wrap_copy(copy));
    symbols_.delete_tensor(copy);
    const bool same = wrapped.get() == tensor && Py_REFCNT(tensor) == before + 1;
    wrapped = PyRef();
    return same && Py_REFCNT(tensor) == before;
  }

  bool find_word(int ObjectLayout::* slot, uint64_t ProbedTensor::* expected, bool with_other) {
    const auto words = static_cast<int>(words_in(impl(plain_[0])));
    for (int w = 1; w < words; ++w) {
      auto same = [&](const ProbedTensor& a) {
        return reinterpret_cast<uint64_t>(word_at(impl(a), w)) == a.*expected;
      };
      if (all(same, with_other)) return report_.layout.*slot = w, true;
    }
    return false;
  }

  bool has_dims_at(const ProbedTensor& a, int word) const {
    const auto* words = static_cast<int64_t*>(impl(a)) + word;
    const auto n = static_cast<int64_t>(a.sizes.size());
    if (words[0] != n || n > ObjectLayout::kInlineDims) return words[0] == n;
    return std::equal(a.sizes.begin(), a.sizes.end(), words + 1) &&
           std::equal(a.strides.begin(), a.strides.end(), words + 1 + ObjectLayout::kInlineDims);
  }

  bool find_dims() {
    const auto words = static_cast<int>(words_in(impl(plain_[0])));
    for (int w = 1; w + 2 * ObjectLayout::kInlineDims < words; ++w)
      if (all([&](const ProbedTensor& a) { return has_dims_at(a, w); }, false))
        return report_.layout.dims_word = w, true;
    return false;
  }

  bool find_dtype() {
    const size_t bytes = 8 * words_in(impl(plain_[0]));
    for (size_t at = 8; at + sizeof(uint16_t) <= bytes; at += sizeof(uint16_t)) {
      auto same = [&](const ProbedTensor& a) {
        int32_t official = -1;
        uint16_t found = 0;
        std::memcpy(&found, static_cast<char*>(impl(a)) + at, sizeof found);
        return !symbols_.get_dtype(handle(a), &official) && found == official;
      };
      if (!all(same, true)) continue;
      if (report_.layout.dtype_offset >= 0) return report_.layout.dtype_offset = -1, false;
      report_.layout.dtype_offset = static_cast<int>(at);
    }
    return report_.layout.dtype_offset >= 0;
  }

  static uint64_t count(const ProbedTensor& a) {
    uint64_t n = 1;
    for (int64_t size : a.sizes) n *= static_cast<uint64_t>(size);
    return n;
  }

  // The first word of the object that every CPU sample has as expected; -1: none.
  template <class Object, class Expected>
  int first_word(Object&& object, Expected&& expected) const {
    const auto words = static_cast<int>(words_in(object(plain_[0])));
    for (int w = 1; w < words; ++w) {
      auto same = [&](const ProbedTensor& a) {
        return expected(a, reinterpret_cast<uint64_t>(word_at(object(a), w)));
      };
      if (all(same, false)) return w;
    }
    return -1;
  }

  // Offset and count, and where the storage begins: what an element's address is made of. PyTorch gives an
  // empty tensor none.
  bool find_address() {
    ObjectLayout& layout = report_.layout;
    auto tensor = [&](const ProbedTensor& a) { return impl(a); };
    auto storage = [&](const ProbedTensor& a) { return word_at(impl(a), layout.storage_word); };
    auto begins_at = [&](const ProbedTensor& a, uint64_t word) {
      int32_t dtype = 0;
      if (symbols_.get_dtype(handle(a), &dtype)) return false;
      const int64_t item = ir::dtype_bytes(ir::dtype_from_scalar_type(dtype));
      return count(a) == 0 || word == a.data - a.offset * static_cast<uint64_t>(item);
    };
    layout.offset_word = first_word(tensor, [](const ProbedTensor& a, uint64_t w) { return w == a.offset; });
    layout.numel_word = first_word(tensor, [](const ProbedTensor& a, uint64_t w) { return w == count(a); });
    layout.data_word = first_word(storage, begins_at);
    return layout.offset_word >= 0 && layout.numel_word >= 0 && layout.data_word >= 0;
  }

  // A counter object {vtable, reference counts, version}: the word whose target holds the version of every
  // sample.
  bool find_version() {
    for (int w = report_.layout.storage_word + 1; w < 10 && w > 0; ++w) {
      for (int offset : {8, 12, 16, 20}) {
        auto same = [&](const ProbedTensor& a) {
          void* counter = word_at(impl(a), w);
          if (reinterpret_cast<uintptr_t>(counter) < 4096 || reinterpret_cast<uintptr_t>(counter) % 8)
            return false;
          if (counter == a.tensor.get()) return false;
          uint32_t version = 0;
          std::memcpy(&version, static_cast<char*>(counter) + offset, sizeof version);
          return version == a.version;
        };
        if (!all(same, false)) continue;
        report_.layout.version_word = w;
        report_.layout.version_offset = offset;
        return true;
      }
    }
    return false;
  }

  // A word that counts one up with each tensor that shares the storage, and down again.
  bool find_owners() {
    const int64_t size = 4, stride = 1;
    void *one = nullptr, *two = nullptr;
    if (symbols_.empty_strided(1, &size, &stride, 6, 0, -1, &one)) return false;
    auto* storage = static_cast<uint64_t*>(word_at(*static_cast<void**>(one), report_.layout.storage_word));
    const size_t words = std::min<size_t>(words_in(storage), 4);
    const std::vector<uint64_t> alone(storage, storage + words);
    const bool shared = !symbols_.reinterpret_tensor(one, 1, &size, &stride, 0, &two);
    const std::vector<uint64_t> together(storage, storage + words);
    if (shared) symbols_.delete_tensor(two);
    for (size_t w = 1; shared && w < words && report_.layout.owners_word < 0; ++w) {
      if (together[w] != alone[w] + 1 || storage[w] != alone[w]) continue;
      report_.layout.owners_word = static_cast<int>(w);
      report_.layout.sole_owner = alone[w];
    }
    symbols_.delete_tensor(one);
    return report_.layout.owners_word >= 0;
  }

  const ProbedTensor& leaf() const { return plain_[3]; }

  // Switches the leaf's flag off and on and looks for the byte that follows.
  int flag_offset(void* meta) const {
    const size_t bytes = std::min<size_t>(malloc_usable_size(meta), 512);
    auto* memory = static_cast<unsigned char*>(meta);
    const std::vector<unsigned char> on(memory, memory + bytes);
    PyObject* tensor = leaf().tensor.get();
    PyRef off_call = PyRef::steal(PyObject_CallMethod(tensor, "requires_grad_", "O", Py_False));
    const std::vector<unsigned char> off(memory, memory + bytes);
    PyRef on_call = PyRef::steal(PyObject_CallMethod(tensor, "requires_grad_", "O", Py_True));
    if (!off_call || !on_call) return -1;
    int found = -1;
    for (size_t i = 0; i < bytes; ++i) {
      if (on[i] == off[i]) continue;
      if (found >= 0 || on[i] != 1 || off[i] != 0) return -1;
      found = static_cast<int>(i);
    }
    return found;
  }

  // requires_grad() is flag || grad_fn, and for a view also its base's: a view with neither takes the
  // official way.
  bool agrees(const ProbedTensor& a, int word, int flag, int grad_fn, int is_view) const {
    auto* m = static_cast<char*>(word_at(impl(a), word));
    const bool has_grad_fn = m && word_at(m, grad_fn) != nullptr;
    if (has_grad_fn == (a.is_leaf != 0)) return false;
    if (m && m[is_view] != 0 && m[is_view] != 1) return false;
    if ((m && m[is_view]) != (a.is_view != 0)) return false;
    const bool fast = m && (m[flag] || has_grad_fn);
    return fast == (a.requires_grad != 0) || (!fast && m && m[is_view]);
  }

  bool find_autograd() {
    ObjectLayout& layout = report_.layout;
    for (int w = layout.storage_word + 1; w < 8 && w > 0; ++w) {
      // bumped and the bool scalar never met autograd; leaf, result and its view did.
      auto null = [&](size_t i) { return word_at(impl(plain_[i]), w) == nullptr; };
      if (!null(7) || !null(10) || null(3) || null(5) || null(6)) continue;
      const int flag = flag_offset(word_at(impl(leaf()), w));
      if (flag < 0) return false;
      for (int g = 1; g < 16; ++g) {
        for (int v = flag + 1; v < flag + 8; ++v) {
          if (!all([&](const ProbedTensor& a) { return agrees(a, w, flag, g, v); }, false)) continue;
          layout.autograd_word = w;
          layout.requires_offset = flag;
          layout.grad_fn_word = g;
          layout.is_view_offset = v;
          return true;
        }
      }
    }
    return false;
  }

  // Where every CPU sample has `cpu` and the meta sample `meta`; -1 if that is not one place.
  int find_bytes(const std::vector<unsigned char>& cpu, const std::vector<unsigned char>& meta,
                 const std::function<void*(const ProbedTensor&)>& object) const {
    const size_t bytes = std::min<size_t>(malloc_usable_size(object(plain_[0])), 320);
    int found = -1;
    for (size_t at = 8; at + cpu.size() <= bytes; ++at) {
      auto holds = [&](const ProbedTensor& a, const std::vector<unsigned char>& what) {
        return std::memcmp(static_cast<char*>(object(a)) + at, what.data(), what.size()) == 0;
      };
      if (!holds(other_[1], meta) || !all([&](const ProbedTensor& a) { return holds(a, cpu); }, false))
        continue;
      if (found >= 0) return -1;
      found = static_cast<int>(at);
    }
    return found;
  }

  // c10::Device is two bytes, kind and index (-1: the only one); TensorImpl keeps it as an optional. Tried by
  // moving a tensor of our own to a GPU and back, which moves nothing.
  bool find_device() {
    constexpr unsigned char kCpu = 0, kCuda = 1, kMeta = 14, kNoIndex = 0xff;
    auto tensor_of = [&](const ProbedTensor& a) { return impl(a); };
    auto storage = [&](const ProbedTensor& a) { return word_at(impl(a), report_.layout.storage_word); };
    const int in_tensor = find_bytes({kCpu, kNoIndex, 1}, {kMeta, kNoIndex, 1}, tensor_of);
    const int in_storage = find_bytes({kCpu, kNoIndex}, {kMeta, kNoIndex}, storage);
    if (in_tensor < 0 || in_storage < 0) return false;
    auto* tensor_bytes = static_cast<unsigned char*>(tensor_of(plain_[7])) + in_tensor;
    auto* storage_bytes = static_cast<unsigned char*>(storage(plain_[7])) + in_storage;
    auto put = [&](unsigned char type, unsigned char index) {
      tensor_bytes[0] = storage_bytes[0] = type;
      tensor_bytes[1] = storage_bytes[1] = index;
    };
    put(kCuda, 0);
    PyRef said = PyRef::steal(PyObject_CallOneArg(name("place"), plain_[7].tensor.get()));
    put(kCpu, kNoIndex);
    for (Py_ssize_t i = 0; i < 2; ++i) {
      const char* text = said ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(said.get(), i)) : nullptr;
      if (!text || std::strcmp(text, "cuda:0") != 0) return false;
    }
    report_.layout.device_offset = in_tensor;
    report_.layout.storage_device_offset = in_storage;
    return true;
  }

  // PyTorch sets "mutable access raises" for us; the flag for every access is the byte after it. Tried on a
  // tensor of our own.
  bool find_guard() {
    PyRef pair = PyRef::steal(PyObject_CallNoArgs(name("guard")));
    if (!pair) return false;
    PyObject* tensor = PyTuple_GET_ITEM(pair.get(), 0);
    void* storage = word_at(word_at(tensor, report_.layout.handle_word), report_.layout.storage_word);
    auto* memory = static_cast<unsigned char*>(storage);
    const size_t bytes = std::min<size_t>(malloc_usable_size(storage), 128);
    const std::vector<unsigned char> before(memory, memory + bytes);
    if (!PyRef::steal(PyObject_CallNoArgs(PyTuple_GET_ITEM(pair.get(), 1)))) return false;
    std::vector<size_t> changed;
    for (size_t i = 16; i < bytes; ++i)
      if (before[i] != memory[i]) changed.push_back(i);
    // has_mutable_data_ptr_check_, throw_on_mutable_data_ptr_, throw_on_immutable_data_ptr_: three bytes in a
    // row.
    if (changed.size() != 2 || changed[1] != changed[0] + 1 || memory[changed[1] + 1] != 0) return false;
    const size_t check = changed[0], all_access = changed[1] + 1;
    memory[changed[1]] = 0;
    memory[all_access] = 1;
    PyRef guarded = PyRef::steal(PyObject_CallOneArg(name("guarded"), tensor));
    memory[check] = memory[all_access] = 0;
    if (guarded.get() != Py_True) return false;
    report_.layout.data_guard_offset = static_cast<int>(all_access);
    return true;
  }

  const Symbols& symbols_;
  LayoutReport report_;
  PyRef scope_;
  std::vector<ProbedTensor> plain_, other_;
};

}  // namespace

LayoutReport find_layout(const Symbols& symbols) {
  return Prober(symbols).run();
}

}  // namespace vitrine::torch_api
