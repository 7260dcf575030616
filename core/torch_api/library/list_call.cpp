#include "core/torch_api/library/list_call.h"

#include <Python.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <optional>

#include "core/torch_api/api.h"
#include "core/torch_api/op_call.h"

namespace vitrine::torch_api {

namespace {

// What PyTorch's headers declare, as far as a call reads it. A tensor is the one pointer to its impl.
using Impl = void*;
struct TensorArray {  // c10::ArrayRef<at::Tensor>
  const Impl* first;
  size_t count;
};
struct TensorList {  // c10::IListRef<at::Tensor>
  TensorArray array;
  int32_t is = 0;  // an array
};
struct alignas(16) ScalarValue {  // c10::Scalar
  enum Holds : int32_t { real, integer } holds = real;
  union alignas(16) {
    double as_real = 2;
    int64_t as_integer;
  };
};
static_assert(sizeof(TensorList) == 24 && sizeof(ScalarValue) == 32);

struct EntryPoints {
  void* (*cat)(const TensorList&, int64_t dim, Impl* out) = nullptr;
  void* (*stack)(TensorArray, int64_t dim, Impl* out) = nullptr;
  // Its vector has the layout of any vector of pointers; each is a reference of the caller's.
  std::vector<Impl> (*norms)(TensorArray, const ScalarValue& order, std::optional<int8_t> dtype) = nullptr;
};

EntryPoints& entry_points() {
  static EntryPoints found = [] {
    EntryPoints e;
    void* lib = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    auto find = [&](auto& member, const char* name) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(lib ? dlsym(lib, name) : nullptr);
    };
    find(e.cat, "_ZN2at4_ops7cat_out4callERKN3c108IListRefINS_6TensorEEElRS4_");
    find(e.stack, "_ZN2at4_ops9stack_out4callEN3c108ArrayRefINS_6TensorEEElRS4_");
    find(e.norms,
         "_ZN2at4_ops20_foreach_norm_Scalar4callEN3c108ArrayRefINS_6TensorEEERKNS2_6ScalarESt8optionalINS2_"
         "10ScalarTypeEE");
    return e;
  }();
  return found;
}

// PyTorch's exceptions are C++'s, thrown through a pointer to one of its functions.
template <typename Call>
bool guarded(Call call) {
  try {
    call();
    return true;
  } catch (const std::exception& e) {
    set_python_error(e.what());
    return false;
  }
}

class ListCall : public LibraryCall {
 public:
  // The slots of a list that holds tensors alone.
  bool take_list(const ir::Arg& list, const SlotOf& slot_of) {
    if (!list.is<std::vector<ir::Arg>>()) return false;
    for (const ir::Arg& a : list.as<std::vector<ir::Arg>>()) {
      if (!a.is<ir::Ref>()) return false;
      slots_.push_back(slot_of(a.as<ir::Ref>()));
    }
    reads_ = slots_;
    return !slots_.empty();
  }

 protected:
  // Valid until the next call; the GIL is held.
  TensorArray gathered(const Handle* values) const {
    impls_.clear();
    for (int32_t slot : slots_) impls_.push_back(impl_of(values[slot]));
    return {impls_.data(), impls_.size()};
  }

 private:
  std::vector<int32_t> slots_;
  mutable std::vector<Impl> impls_;
};

// cat and stack: into the tensor that is given.
class Joined : public ListCall {
 public:
  static std::unique_ptr<LibraryCall> make(const ir::Node& node, const SlotOf& slot_of, bool stacks) {
    const EntryPoints& e = entry_points();
    if (!(stacks ? static_cast<bool>(e.stack) : static_cast<bool>(e.cat))) return nullptr;
    auto call = std::make_unique<Joined>();
    call->stacks_ = stacks;
    if (node.args.empty() || node.args.size() > 2 || !call->take_list(node.args[0], slot_of)) return nullptr;
    if (node.kwargs.size() > 1 || (!node.kwargs.empty() && node.kwargs[0].first != "dim")) return nullptr;
    const ir::Arg* dim = node.args.size() > 1   ? &node.args[1]
                         : !node.kwargs.empty() ? &node.kwargs[0].second
                                                : nullptr;
    if (dim && !dim->is<int64_t>()) return nullptr;
    if (dim) call->dim_ = dim->as<int64_t>();
    return call;
  }
  bool call(const Handle* values, Handle* outs) const override {
    const TensorArray list = gathered(values);
    auto* out = static_cast<Impl*>(outs[0]);
    return guarded([&] {
      if (stacks_)
        entry_points().stack(list, dim_, out);
      else
        entry_points().cat({list}, dim_, out);
    });
  }

 private:
  bool stacks_ = false;
  int64_t dim_ = 0;
};

class Norms : public ListCall {
 public:
  static std::unique_ptr<LibraryCall> make(const ir::Node& node, const SlotOf& slot_of) {
    if (!entry_points().norms || node.args.empty() || node.args.size() > 3) return nullptr;
    auto call = std::make_unique<Norms>();
    call->into_out_ = false;
    if (!call->take_list(node.args[0], slot_of)) return nullptr;
    call->outs_ = node.outputs.size();
    if (node.args.size() > 1 && !call->take("ord", node.args[1])) return nullptr;
    if (node.args.size() > 2 && !call->take("dtype", node.args[2])) return nullptr;
    for (const auto& [key, arg] : node.kwargs)
      if (!call->take(key, arg)) return nullptr;
    return call->reads_.size() == call->outs_ ? std::move(call) : nullptr;
  }
  bool call(const Handle* values, Handle* outs) const override {
    const TensorArray list = gathered(values);
    return guarded([&] {
      const std::vector<Impl> made = entry_points().norms(list, order_, dtype_);
      for (size_t i = 0; i < made.size(); ++i) outs[i] = new Impl(made[i]);  // as `new at::Tensor` is
    });
  }

 private:
  bool take(const std::string& key, const ir::Arg& arg) {
    if (key == "dtype" && arg.is<ir::DType>()) dtype_ = ir::dtype_to_scalar_type(arg.as<ir::DType>());
    if (key == "dtype") return arg.is_none() || arg.is<ir::DType>();
    if (key != "ord") return false;
    if (arg.is<double>()) order_ = {ScalarValue::real, {.as_real = arg.as<double>()}};
    if (arg.is<int64_t>()) order_ = {ScalarValue::integer, {.as_integer = arg.as<int64_t>()}};
    return arg.is<double>() || arg.is<int64_t>();
  }

  ScalarValue order_ = {ScalarValue::integer, {.as_integer = 2}};
  std::optional<int8_t> dtype_;
};

Handle numbers(std::initializer_list<float> values) {  // owned
  ir::TensorType type = ir::TensorType::contiguous(ir::DType::f32, {static_cast<int64_t>(values.size())});
  const Handle out = empty_strided(type);
  std::copy(values.begin(), values.end(), static_cast<float*>(data(out)));
  return out;
}

bool equal(Handle t, std::initializer_list<float> values) {
  return std::equal(values.begin(), values.end(), static_cast<float*>(data(t)));
}

bool joins(Handle out, const std::function<void(TensorArray, Impl*)>& join) {
  const Handle first = numbers({3, 4}), second = numbers({12, 5});
  const std::array<Impl, 2> list{impl_of(first), impl_of(second)};
  bool ok = guarded([&] { join({list.data(), list.size()}, static_cast<Impl*>(out)); });
  ok = ok && equal(out, {3, 4, 12, 5});
  release(first), release(second);
  return ok;
}

bool norms_are_right() {
  const Handle first = numbers({3, 4}), second = numbers({12, 5});
  const std::array<Impl, 2> list{impl_of(first), impl_of(second)};
  std::vector<Impl> made;
  const ScalarValue two = {ScalarValue::integer, {.as_integer = 2}};
  bool ok = guarded([&] { made = entry_points().norms({list.data(), list.size()}, two, {}); });
  ok = ok && made.size() == 2;
  const std::array<float, 2> right{5, 13};
  for (size_t i = 0; i < made.size(); ++i) {
    const Handle norm = new Impl(made[i]);
    ok = ok && view(norm).ndim == 0 && equal(norm, {right[i]});
    release(norm);
  }
  release(first), release(second);
  return ok;
}

}  // namespace

std::string test_list_calls() {
  EntryPoints& e = entry_points();
  const NoGradScope no_grad;
  const Handle row = numbers({0, 0, 0, 0});
  if (e.cat && !joins(row, [&](TensorArray list, Impl* out) { e.cat({list}, 0, out); })) e.cat = nullptr;
  release(row);
  const Handle rows = empty_strided(ir::TensorType::contiguous(ir::DType::f32, {2, 2}));
  if (e.stack && !joins(rows, [&](TensorArray list, Impl* out) { e.stack(list, 0, out); })) e.stack = nullptr;
  release(rows);
  if (e.norms && !norms_are_right()) e.norms = nullptr;
  PyErr_Clear();
  std::string missing;
  for (const auto& [name, found] :
       {std::pair("cat", e.cat != nullptr), std::pair("stack", e.stack != nullptr),
        std::pair("_foreach_norm", e.norms != nullptr)})
    if (!found) missing += (missing.empty() ? "" : ", ") + std::string(name);
  return missing.empty() ? "ok" : "not found: " + missing + " are called through Python";
}

std::unique_ptr<LibraryCall> make_list_call(const ir::Node& node, const LibraryCall::SlotOf& slot_of) {
  if (node.op == "aten.cat.default") return Joined::make(node, slot_of, false);
  if (node.op == "aten.stack.default") return Joined::make(node, slot_of, true);
  if (node.op == "aten._foreach_norm.Scalar") return Norms::make(node, slot_of);
  return nullptr;
}

}  // namespace vitrine::torch_api
