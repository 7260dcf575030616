#include "core/torch_api/cuda/cuda_random.h"

#include <array>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "core/torch_api/bridge.h"
#include "core/torch_api/op_call.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

constexpr int64_t kBlock = 256, kTurn = 4;
constexpr int64_t kStep = 4099;  // elements between those that are looked at: no power of two divides it

// Philox 4x32, ten rounds: core/fusion/rng.h.
std::array<uint32_t, 4> philox(uint64_t seed, uint64_t call, uint64_t thread) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(call), static_cast<uint32_t>(call >> 32),
                               static_cast<uint32_t>(thread), static_cast<uint32_t>(thread >> 32)};
  auto a = static_cast<uint32_t>(seed), b = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, a += 0x9E3779B9u, b += 0xBB67AE85u) {
    const uint64_t x = uint64_t{0xD2511F53u} * c[0], y = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(y >> 32) ^ c[1] ^ a, static_cast<uint32_t>(y),
         static_cast<uint32_t>(x >> 32) ^ c[3] ^ b, static_cast<uint32_t>(x)};
  }
  return c;
}
float unit(uint32_t x) {
  return std::fma(static_cast<float>(x), 0x1p-32f, 0x1p-33f);
}
// The number of element i where a thread takes `beside` neighbours a turn; 1: four, `threads` apart.
float drawn(const CudaGenerator::State& from, int64_t threads, int64_t beside, int64_t i) {
  const int64_t group = i / beside, turn = group / threads, within = i % beside;
  const int64_t call =
      beside == 1 ? turn / kTurn : turn * std::max<int64_t>(1, beside / kTurn) + within / kTurn;
  const int64_t part = beside == 1 ? turn % kTurn : within % kTurn;
  return unit(philox(from.seed, from.offset / kTurn + static_cast<uint64_t>(call),
                     static_cast<uint64_t>(group % threads))[static_cast<size_t>(part)]);
}

// Every kStep-th element, on the CPU: a tensor.
PyObject* looked_at(PyObject* tensor) {
  PyRef step(PyLong_FromLongLong(kStep));
  PyRef slice(PySlice_New(nullptr, nullptr, step.get()));
  PyRef part(PyObject_GetItem(tensor, slice.get()));
  PyRef dense(part ? PyObject_CallMethod(part.get(), "contiguous", nullptr) : nullptr);
  return dense ? PyObject_CallMethod(dense.get(), "cpu", nullptr) : nullptr;
}

class RandomProbe {
 public:
  RandomProbe(int gpu, PyObject* torch) : torch_(torch), device_("cuda:" + std::to_string(gpu)) {}

  bool run(CudaGenerator& generator, CudaRng& found) {
    if (!ask_device(found.blocks) || !generator.take(0, before_)) return false;
    threads_ = found.blocks * kBlock;
    bool ok = true;
    const char* types[] = {nullptr, "float16", "float32", "float64"};
    for (size_t i = 1; ok && i < std::size(types); ++i) {
      for (int beside : {8, 4, 2})
        if (found.together[i] == 0 && ok) ok = dropout(generator, types[i], beside, found.together[i]);
    }
    ok = ok && uniform(generator, found.uniform);
    if (ok) found.skips = skips(generator);
    PendingError error;
    generator.set_offset(before_.offset);
    error.restore();
    return ok;
  }

 private:
  bool ask_device(int64_t& blocks) {
    const PyRef facts = call(Name::cuda_device_properties, "s", device_.c_str());
    PyRef count(facts ? PyObject_GetAttrString(facts.get(), "multi_processor_count") : nullptr);
    PyRef threads(count ? PyObject_GetAttrString(facts.get(), "max_threads_per_multi_processor") : nullptr);
    if (!threads) return false;
    blocks = PyLong_AsLongLong(count.get()) * (PyLong_AsLongLong(threads.get()) / kBlock);
    return blocks > 0 && !PyErr_Occurred();
  }
  // torch.<make>(n, dtype=..., device=...)
  PyObject* tensor(const char* make, int64_t n, const char* dtype) {
    PyRef function(PyObject_GetAttrString(torch_, make)), type(PyObject_GetAttrString(torch_, dtype));
    if (!function || !type) return nullptr;
    PyRef args(Py_BuildValue("(L)", static_cast<long long>(n)));
    PyRef names(Py_BuildValue("{sOss}", "dtype", type.get(), "device", device_.c_str()));
    return PyObject_Call(function.get(), args.get(), names.get());
  }
  int64_t elements(int64_t beside) const { return threads_ * beside * 2 + 8 * kStep; }
  // Puts `beside` into `found` if that is how dropout draws here.
  bool dropout(CudaGenerator& generator, const char* dtype, int beside, int& found) {
    constexpr float kStay = 0.5F;
    PyRef ones(tensor("ones", elements(beside), dtype));
    if (!ones || !generator.set_offset(before_.offset)) return false;
    PyRef made(PyObject_CallMethod(torch_, "native_dropout", "OdO", ones.get(), 0.5, Py_True));
    PyRef mask(made && PyTuple_Check(made.get()) ? looked_at(PyTuple_GetItem(made.get(), 1)) : nullptr);
    CudaGenerator::State after;
    if (!mask || !generator.take(0, after)) return false;
    bool same = after.offset == before_.offset + advance(elements(beside));
    const std::span<const bool> kept = values<bool>(mask.get());
    for (size_t i = 0; i < kept.size() && same; ++i)
      same = kept[i] == (drawn(before_, threads_, beside, static_cast<int64_t>(i) * kStep) < kStay);
    if (same) found = beside;
    return true;
  }
  bool uniform(CudaGenerator& generator, bool& found) {
    const int64_t n = elements(1) * kTurn;
    if (!generator.set_offset(before_.offset)) return false;
    PyRef made(tensor("rand", n, "float32"));
    PyRef part(made ? looked_at(made.get()) : nullptr);
    CudaGenerator::State after;
    if (!part || !generator.take(0, after)) return false;
    found = after.offset == before_.offset + advance(n);
    const std::span<const float> got = values<float>(part.get());
    for (size_t i = 0; i < got.size() && found; ++i) {
      const float u = drawn(before_, threads_, 1, static_cast<int64_t>(i) * kStep);
      found = got[i] == (u == 1 ? 0 : u);
    }
    return true;
  }
  bool skips(CudaGenerator& generator) {
    bool same = true;
    for (int64_t advance : {4, 12, 260}) {
      CudaGenerator::State after;
      same = same && generator.set_offset(before_.offset) && generator.skip(advance) &&
             generator.take(0, after) && after.offset == before_.offset + static_cast<uint64_t>(advance);
    }
    PyErr_Clear();  // a GPU that has no such attention
    return same;
  }
  uint64_t advance(int64_t n) const {
    return static_cast<uint64_t>((n - 1) / (threads_ * kTurn) + 1) * kTurn;
  }
  template <class T>
  static std::span<const T> values(PyObject* tensor) {
    const Handle h = handle_of(tensor);
    return {static_cast<const T*>(data(h)), static_cast<size_t>(view(h).sizes[0])};
  }

  PyObject* torch_;
  std::string device_;
  int64_t threads_ = 0;
  CudaGenerator::State before_;
};

}  // namespace

std::unique_ptr<CudaGenerator> CudaGenerator::of(int gpu) {
  const PyRef all = find(Name::cuda_default_generators);
  PyObject* generator = all ? PySequence_GetItem(all.get(), gpu) : nullptr;
  if (!generator) return nullptr;
  std::unique_ptr<CudaGenerator> out(new CudaGenerator);
  out->generator_ = generator;
  out->gpu_ = gpu;
  return out;
}

CudaGenerator::~CudaGenerator() {
  Py_XDECREF(generator_);
}

bool CudaGenerator::take(int64_t advance, State& state) {
  PyRef seed(PyObject_CallMethod(generator_, "initial_seed", nullptr));
  PyRef offset(seed ? PyObject_CallMethod(generator_, "get_offset", nullptr) : nullptr);
  if (!offset) return false;
  state.seed = PyLong_AsUnsignedLongLongMask(seed.get());
  state.offset = PyLong_AsUnsignedLongLongMask(offset.get());
  if (PyErr_Occurred()) return false;
  return advance == 0 || set_offset(state.offset + static_cast<uint64_t>(advance));
}

bool CudaGenerator::set_offset(uint64_t offset) {
  PyRef value(PyLong_FromUnsignedLongLong(offset));
  PyRef done(PyObject_CallMethod(generator_, "set_offset", "O", value.get()));
  return static_cast<bool>(done);
}

// Attention that drops out draws a number for each pair of a query and a key: of `advance` queries and a key.
bool CudaGenerator::skip(int64_t advance) {
  const PyRef attention = find(Name::efficient_attention), empty(attention ? find(Name::empty) : PyRef());
  if (!empty) return false;
  const std::string device = "cuda:" + std::to_string(gpu_);
  PyRef names(Py_BuildValue("{ss}", "device", device.c_str()));
  auto tensor = [&](int64_t rows) {
    PyRef args(Py_BuildValue("((iiLi))", 1, 1, static_cast<long long>(rows), 8));
    return args ? PyObject_Call(empty.get(), args.get(), names.get()) : nullptr;
  };
  PyRef query(tensor(advance)), key(query ? tensor(1) : nullptr);
  if (!key) return false;
  PyRef made(PyObject_CallFunction(attention.get(), "OOOOOd", query.get(), key.get(), key.get(), Py_None,
                                   Py_False, 0.5));
  return static_cast<bool>(made);
}

CudaRng cuda_rng(int gpu) {
  static std::map<int, CudaRng> known;  // what a GPU is does not change
  if (auto it = known.find(gpu); it != known.end()) return it->second;
  const NoGradScope off;
  CudaRng found;
  const PyRef torch = find(Name::torch);
  std::unique_ptr<CudaGenerator> generator = torch ? CudaGenerator::of(gpu) : nullptr;
  if (!generator || !RandomProbe(gpu, torch.get()).run(*generator, found)) {
    PyErr_Clear();  // while a stream is recorded, say: another compilation may ask again
    return {};
  }
  known.emplace(gpu, found);
  return found;
}

}  // namespace vitrine::torch_api
