// Matrix products through cuBLASLt, which is opened at run time as PyTorch has loaded it: one problem with
// the algorithms that its heuristics propose, asked once and kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/types.h"

namespace vitrine::torch_api {

enum class LtEpilogue : uint8_t { none, bias, relu_bias, gelu_bias };  // gelu: by tanh

// A stored matrix whose rows, or whose columns, are `lead` elements apart; the other step is 1.
struct LtMatrix {
  bool columns = false;  // columns are `lead` apart
  int64_t lead = 0;
  int64_t batch = 0;  // elements to the next matrix
  bool operator==(const LtMatrix&) const = default;
};
// out[i, j] = epilogue(alpha sum_k a[i, k] b[k, j] + beta c[i, j]) for each of `batch`; bias by j. Everything
// that heuristics go by.
struct LtProblem {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  LtMatrix a, b, c, out;  // out: rows apart; c: where something is added
  bool adds = false;
  ir::DType dtype = ir::DType::f32;  // f16, bf16, f32: sums are f32
  bool tf32 = false;                 // of f32: factors may be rounded to TF32
  int alignment = 16;                // bytes, of all addresses
  int device = 0;                    // which GPU
  LtEpilogue epilogue = LtEpilogue::none;
  bool operator==(const LtProblem&) const = default;
};
// How the last two dims of a tensor lie; nothing: neither step is 1, or rows overlap.
std::optional<LtMatrix> lt_matrix(const ir::TensorType& type);

class LtProduct {
 public:
  // At most `wanted` algorithms, the best first, none of which takes more than `workspace` bytes. Errors: no
  // cuBLASLt, or its words.
  static Result<std::unique_ptr<LtProduct>> make(const LtProblem& problem, int wanted, int64_t workspace);
  // The best one alone, which may be that of a problem of about these sizes: whether it computes this one is
  // asked in microseconds, heuristics in a tenth of a millisecond.
  static Result<std::unique_ptr<LtProduct>> make_for_any_size(const LtProblem& problem, int64_t workspace);
  ~LtProduct();
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  size_t algorithms() const { return results_.size(); }
  int64_t workspace(size_t algorithm) const;  // bytes that it needs
  struct Arguments {
    const void *a = nullptr, *b = nullptr, *c = nullptr, *bias = nullptr;
    void *out = nullptr, *workspace = nullptr;
    float alpha = 1, beta = 0;
  };
  // Asynchronous on `stream`. "" or cuBLASLt's words.
  std::string run(size_t algorithm, const Arguments& with, void* stream);

 private:
  struct Heuristic {  // cublasLtMatmulHeuristicResult_t
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };
  LtProduct() = default;
  static Result<std::unique_ptr<LtProduct>> described(const LtProblem& problem);
  int describe(const LtProblem& problem);
  bool computes(const Heuristic& known, int64_t workspace);
  Status ask(const LtProblem& problem, int wanted, int64_t workspace);

  int device_ = 0;
  void *handle_ = nullptr, *operation_ = nullptr, *left_ = nullptr, *right_ = nullptr, *added_ = nullptr,
       *out_ = nullptr;
  bool biased_ = false;
  std::vector<Heuristic> results_;
};

// cuBLASLt's version, 130201 for 13.2.1; 0: there is none here.
int64_t lt_version();

}  // namespace vitrine::torch_api
