// What was measured for products and a GPU's kernels on this machine, kept on disk so that no later process
// measures it again. An entry is a small text file that appears by an atomic rename; a damaged one counts as
// missing.
#pragma once

#include <optional>
#include <string>

#include "core/codegen/products.h"

namespace vitrine::runtime {

class ChoiceStore {
 public:
  // cache_dir "": nothing is kept.
  explicit ChoiceStore(const std::string& cache_dir);

  // `product`: everything about the product itself. The key adds what else a time depends on: this processor,
  // PyTorch's version, the threads.
  static std::string key(const std::string& product, int threads);

  // work: everything about a GPU's product or kernel itself; machine: the GPU, its driver and libraries.
  static std::string gpu_key(const std::string& work, const std::string& machine);

  std::optional<codegen::ProductChoice> find(const std::string& key) const;
  // Best effort: a choice that cannot be written is measured again.
  void insert(const std::string& key, const codegen::ProductChoice& choice) const;

 private:
  std::string dir_;
};

}  // namespace vitrine::runtime
