#include "core/package/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "core/base/private_folder.h"
#include "core/package/json_text.h"

namespace vitrine::package {

namespace {

constexpr size_t kLength = 8, kMostHeader = size_t{100} << 20, kMostDims = 64;

struct TypeName {
  ir::DType dtype;
  std::string_view name;
};
constexpr auto kTypeNames = std::to_array<TypeName>({
    {ir::DType::u8, "U8"},
    {ir::DType::i8, "I8"},
    {ir::DType::i16, "I16"},
    {ir::DType::i32, "I32"},
    {ir::DType::i64, "I64"},
    {ir::DType::f16, "F16"},
    {ir::DType::f32, "F32"},
    {ir::DType::f64, "F64"},
    {ir::DType::c64, "C64"},
    {ir::DType::b1, "BOOL"},
    {ir::DType::bf16, "BF16"},
    {ir::DType::u64, "U64"},
});

ir::DType dtype_of(const std::string& name) {
  const auto at = std::ranges::find(kTypeNames, std::string_view(name), &TypeName::name);
  if (at == kTypeNames.end()) throw JsonError("a tensor is of elements " + name + ", which are not known");
  return at->dtype;
}

void require(bool holds, const char* what) {
  if (!holds) throw JsonError(what);
}

// The tensor whose value in the header comes next; data: of all tensors.
StoredTensor read_tensor(JsonText& json, const std::string& name, std::string_view data) {
  StoredTensor out;
  out.name = name;
  std::optional<std::string> dtype;
  bool has_shape = false;
  std::vector<int64_t> offsets;
  json.each_member([&](const std::string& key) {
    if (key == "dtype") {
      dtype = json.text();
    } else if (key == "shape") {
      has_shape = true;
      json.each_item([&] {
        require(out.shape.size() < kMostDims, "a tensor has too many dimensions");
        out.shape.push_back(json.number());
      });
    } else if (key == "data_offsets") {
      json.each_item([&] {
        require(offsets.size() < 2, "a tensor lies in more than one place");
        offsets.push_back(json.number());
      });
    } else {
      throw JsonError("a tensor has a field that is not known");
    }
  });
  require(dtype && has_shape && offsets.size() == 2, "a tensor is not described");
  out.dtype = dtype_of(*dtype);
  int64_t bytes = ir::dtype_bytes(out.dtype);
  for (const int64_t size : out.shape)
    require(!__builtin_mul_overflow(bytes, size, &bytes), "a tensor has too many elements");
  require(offsets[0] <= offsets[1] && static_cast<uint64_t>(offsets[1]) <= data.size(),
          "a tensor lies outside of the file");
  require(offsets[1] - offsets[0] == bytes, "a tensor has other bytes than its sizes say");
  out.bytes = data.substr(static_cast<size_t>(offsets[0]), static_cast<size_t>(bytes));
  return out;
}

// They fill what is behind the header, one behind the other.
void expect_no_gaps(const SafeTensors& file, std::string_view data) {
  std::vector<std::string_view> parts;
  for (const auto& [name, tensor] : file.tensors)
    if (!tensor.bytes.empty()) parts.push_back(tensor.bytes);
  std::ranges::sort(parts, {}, [](std::string_view part) { return part.data(); });
  const char* end = data.data();
  for (const std::string_view part : parts) {
    require(part.data() == end, "tensors overlap, or leave a gap");
    end += part.size();
  }
  require(end == data.data() + data.size(), "something stands behind the last tensor");
}

std::string header_of(const std::vector<StoredTensor>& tensors) {
  std::string out = "{";
  size_t at = 0;
  for (const StoredTensor& tensor : tensors) {
    const auto type = std::ranges::find(kTypeNames, tensor.dtype, &TypeName::dtype);
    if (type == kTypeNames.end()) return "";
    out += (out.size() > 1 ? "," : "") + json_quoted(tensor.name) + R"(:{"dtype":")" +
           std::string(type->name) + R"(","shape":[)";
    for (size_t d = 0; d < tensor.shape.size(); ++d) out += (d ? "," : "") + std::to_string(tensor.shape[d]);
    out +=
        R"(],"data_offsets":[)" + std::to_string(at) + "," + std::to_string(at + tensor.bytes.size()) + "]}";
    at += tensor.bytes.size();
  }
  out += "}";
  out.resize((out.size() + kLength - 1) / kLength * kLength, ' ');
  return out;
}

}  // namespace

Result<SafeTensors> read_safetensors(std::string_view file) {
  uint64_t length = 0;
  if (file.size() < kLength) return Error{"it is too short for a file of tensors", "", ""};
  for (size_t i = kLength; i-- > 0;) length = length << 8 | static_cast<uint8_t>(file[i]);
  if (length > kMostHeader || length > file.size() - kLength)
    return Error{"its header is longer than the file, or than 100 MB", "", ""};
  const std::string_view data = file.substr(kLength + length);
  SafeTensors out;
  try {
    JsonText json(file.substr(kLength, length));
    json.each_member([&](const std::string& name) {
      if (name == "__metadata__")
        return json.each_member([&](const std::string& key) {
          require(out.metadata.try_emplace(key, json.text()).second, "its header says something twice");
        });
      StoredTensor tensor = read_tensor(json, name, data);
      require(out.tensors.try_emplace(name, std::move(tensor)).second, "two tensors have one name");
    });
    json.expect_end();
    expect_no_gaps(out, data);
  } catch (const JsonError& error) {
    return Error{error.what(), "", ""};
  }
  return out;
}

Status write_safetensors(const std::string& path, const std::vector<StoredTensor>& tensors) {
  const std::string header = header_of(tensors);
  if (header.empty()) return Error{"a tensor is of elements that safetensors does not have", "", path};
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  for (size_t i = 0; i < kLength; ++i) file.put(static_cast<char>(header.size() >> (8 * i)));
  file << header;
  for (const StoredTensor& tensor : tensors) file << tensor.bytes;
  file.close();
  if (!file) return Error{"the file cannot be written", "", path};
  return {};
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) return Error{std::strerror(errno), "", path};
  if (!S_ISREG(facts.st_mode)) return Error{"it is no file", "", path};
  const auto size = static_cast<size_t>(facts.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  // Private: what a program writes to its weights stays in the process.
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) return Error{std::strerror(errno), "", path};
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace vitrine::package
