#include "core/ir/types.h"

#include <charconv>

namespace vitrine::ir {

namespace {
struct DTypeRow {
  std::string_view name, torch_name;
  int64_t bytes;
  int scalar_type;
};
constexpr DTypeRow kRows[] = {
#define X(e, s, t, b, n) {s, t, b, n},
    VITRINE_DTYPES(X)
#undef X
        {"other", "other", 1, -1},
};
const DTypeRow& row(DType t) {
  return kRows[static_cast<size_t>(t)];
}
}  // namespace

std::string_view dtype_name(DType t) {
  return row(t).name;
}
std::string_view dtype_torch_name(DType t) {
  return row(t).torch_name;
}
int64_t dtype_bytes(DType t) {
  return row(t).bytes;
}
int dtype_to_scalar_type(DType t) {
  return row(t).scalar_type;
}

DType dtype_from_scalar_type(int n) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].scalar_type == n) return static_cast<DType>(i);
  }
  return DType::other;
}

DType dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].name == name || kRows[i].torch_name == name) return static_cast<DType>(i);
  }
  return DType::other;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = sizes[i] > 1 ? strides[i] * sizes[i] : strides[i];
  return strides;
}

Sym numel(const Dims& sizes) {
  Sym n = 1;
  for (const Sym& s : sizes) n *= s;
  return n;
}

bool same(const Dims& a, const Dims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Sym& x, const Sym& y) { return x.same(y); });
}

std::vector<int64_t> integers(const Dims& dims) {
  return {dims.begin(), dims.end()};
}

Dims dims_of(std::span<const int64_t> integers) {
  return {integers.begin(), integers.end()};
}

std::string Device::text() const {
  return is_cpu() ? "cpu" : "cuda:" + std::to_string(index);
}

std::optional<Device> device_from_text(std::string_view text) {
  if (text == "cpu" || text == "cpu:0") return Device{};
  if (!text.starts_with("cuda")) return {};
  text.remove_prefix(4);
  int index = 0;
  if (!text.empty()) {
    auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), index);
    if (text[0] != ':' || error != std::errc() || end != text.data() + text.size()) return {};
  }
  if (index < 0 || index > 127) return {};
  return Device{Device::Type::cuda, static_cast<int8_t>(index)};
}

TensorType TensorType::contiguous(DType dtype, Dims sizes) {
  Dims strides = contiguous_strides(sizes);
  return {dtype, std::move(sizes), std::move(strides), 0};
}

bool TensorType::is_contiguous() const {
  if (numel() == 0) return true;
  Sym expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

std::string dims_text(const Dims& dims, const char* separator) {
  std::string out;
  for (const Sym& d : dims) out += (out.empty() ? "" : separator) + ir::text(d);
  return out;
}

bool TensorType::same(const TensorType& other) const {
  return dtype == other.dtype && device == other.device && offset.same(other.offset) &&
         ir::same(sizes, other.sizes) && ir::same(strides, other.strides);
}

bool same(const std::vector<TensorType>& a, const std::vector<TensorType>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TensorType& x, const TensorType& y) { return x.same(y); });
}

std::string TensorType::text() const {
  std::string out = std::string(dtype_name(dtype)) + "[" + dims_text(sizes) + "]";
  const bool symbolic = std::any_of(sizes.begin(), sizes.end(), [](const Sym& n) { return n.symbolic(); });
  if (symbolic ? !ir::same(strides, contiguous_strides(sizes)) : !is_contiguous())
    out += "{" + dims_text(strides) + "}";
  if (!device.is_cpu()) out += device.text();
  return out;
}

}  // namespace vitrine::ir
