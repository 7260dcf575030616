// The file format `safetensors`, which weights are kept in: 8 bytes of length, a header of JSON, the bytes of
// the tensors. What is read may be anybody's: each length is checked against the file, and nothing is copied.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/types.h"

namespace vitrine::package {

struct StoredTensor {
  std::string name;
  ir::DType dtype = ir::DType::u8;
  std::vector<int64_t> shape;
  std::string_view bytes;  // row by row
};

struct SafeTensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;
  const StoredTensor* find(const std::string& name) const {
    const auto at = tensors.find(name);
    return at == tensors.end() ? nullptr : &at->second;
  }
};

// file: must outlive what is returned. Errors: in what it is no such file.
Result<SafeTensors> read_safetensors(std::string_view file);

// Errors: an element type that the format lacks; the file cannot be written.
Status write_safetensors(const std::string& path, const std::vector<StoredTensor>& tensors);

// A file that is read where it lies.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, size_t size) : data_(data), size_(size) {}
  const char* data_;
  size_t size_;
};

}  // namespace vitrine::package
