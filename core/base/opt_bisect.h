// Counts what a compiler applies, and lets only the first so many of each kind happen: halving these limits
// finds the application at which a result turns wrong, as LLVM's -opt-bisect-limit does. One that watches
// also notes when a rule has rewritten which node, for the film.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vitrine {

class OptBisect {
 public:
  // rewrite: of a pass over a graph; fusion: of two loop nests, or of a product and what follows it; kernel:
  // one that is generated, where PyTorch's operators would compute the same.
  enum class Of : uint8_t { rewrite, fusion, kernel };
  static constexpr size_t kKinds = 3;
  static constexpr std::array<const char*, kKinds> kNames = {"rewrites", "fusions", "kernels"};

  struct Application {
    std::string text;  // "decompose: gelu at model.py:12"
    bool allowed = true;
  };

  // That a rule has rewritten a node of a graph, when (CLOCK_MONOTONIC, ns).
  struct Rewritten {
    int64_t node = 0;
    std::string rule;
    int64_t at_ns = 0;
  };

  // By kind: how many may happen; -1: all.
  explicit OptBisect(std::array<int64_t, kKinds> limits) : limits_(limits) {}

  // A compilation begins.
  void begin() { ++compilation_; }
  // Whether it may happen. text names it in its compilation: asked again, the answer is the same.
  bool allows(Of kind, const std::string& text);
  void watch() { watches_ = true; }
  void note(int64_t node, const std::string& rule);
  std::vector<Rewritten> take_noted();
  const std::vector<Application>& applications(Of kind) const { return applied_[static_cast<size_t>(kind)]; }

 private:
  std::array<int64_t, kKinds> limits_;
  int64_t compilation_ = 0;
  std::array<std::vector<Application>, kKinds> applied_;
  std::map<std::string, bool> answers_;  // by kind, compilation and text
  bool watches_ = false;
  std::vector<Rewritten> noted_;
};

}  // namespace vitrine
