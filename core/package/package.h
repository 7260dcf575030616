// A model that has left Python: one file with a program as the program store keeps it, its kernels' machine
// code, and its weights. The file is one of safetensors: what is not a weight is a tensor of bytes. It may be
// anybody's. Opening one runs nothing, and takes nothing that the file does not hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/package/safetensors.h"

namespace vitrine::package {

inline constexpr const char* kFormat = "vitrine package 1";
inline constexpr const char *kPlan = "vitrine/plan", *kKernel = "vitrine/kernel/";

// By position of the program's inputs.
struct PackageArgument {
  bool weight = false;  // of the package; else whoever runs it gives it
  std::string name;
};

// What the model returns, leaf by leaf.
struct Returned {
  std::string name;
  bool given = false;  // argument `number` as it came; else result `number`
  size_t number = 0;
};

class Package {
 public:
  // Errors: the file cannot be read, or in what it is no package, or not the one that was written.
  static Result<std::unique_ptr<Package>> open(const std::string& path);

  const codegen::Program& program() const { return program_; }  // of expressions where symbols() are some
  const ir::SymbolTable& symbols() const { return symbols_; }
  const std::vector<PackageArgument>& arguments() const { return arguments_; }
  const std::vector<Returned>& returned() const { return returned_; }
  const std::vector<std::string>& schemas() const { return schemas_; }  // of the operators that it calls
  const StoredTensor& weight(const std::string& name) const { return file_.tensors.at(name); }
  std::string_view kernel(size_t number) const;  // a shared object, or a cubin
  // "x86-64-v4", "sm_90": what the kernels were compiled for; "": there are none.
  const std::string& cpu() const { return cpu_; }
  const std::string& gpu() const { return gpu_; }
  const std::string& made_by() const { return made_by_; }

 private:
  explicit Package(MappedFile file) : mapped_(std::move(file)) {}
  void read();
  void read_symbols(const std::string& lines);
  void read_arguments(const std::string& lines);
  void read_returned(const std::string& lines);
  void read_program();
  std::string required(const char* key) const;

  MappedFile mapped_;
  SafeTensors file_;
  ir::SymbolTable symbols_;
  codegen::Program program_;
  std::vector<PackageArgument> arguments_;
  std::vector<Returned> returned_;
  std::vector<std::string> schemas_;
  std::string cpu_, gpu_, made_by_;
};

// The symbol that the size is; nothing: it is a number, or an expression of some.
std::optional<size_t> symbol_of(const ir::SymbolTable& table, const ir::Sym& size);
// Bytes from a tensor's first element to behind its last, of the sizes that are its numbers; nothing: more
// than 63 bits, or a negative size or stride.
std::optional<int64_t> extent(const ir::TensorType& type);
// "", or which of its buffers reaches beyond its memory, for the sizes that are its numbers.
std::string unsound_views(const codegen::Program& program);

}  // namespace vitrine::package
