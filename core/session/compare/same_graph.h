// Whether two programs were captured alike, whoever captured them: PyTorch's Dynamo writes the same calls
// with other names and no modules. And which kernels of two compilers do the same work, by the operators in
// their names.
#pragma once

#include <string>
#include <vector>

#include "core/session/reader.h"

namespace vitrine::session {

// A torch call of a captured graph. word: "linear", "" where it is not known ("x + y" of an imported one);
// type: of what it gives, without strides, "" where it gives several tensors.
struct ComparedCall {
  std::string word, type;
  std::string text() const {
    return (word.empty() ? "an operator" : word) + (type.empty() ? "" : " " + type);
  }
};

// Of the first captured graph of a compilation; what takes one of several results is no call.
std::vector<ComparedCall> captured_calls(const Reader& session, Id compilation);
// In the same order, as far as both are known; false for two of none.
bool same_calls(const std::vector<ComparedCall>& a, const std::vector<ComparedCall>& b);

// "torch._C._nn.linear", "aten._softmax.default", "x.view" -> "linear", "softmax", "view".
std::string call_word(const std::string& op);

// 0 to 1: of the operators that two kernels' names tell, how many both have:
// "cpp_fused_add_native_layer_norm_1" and "add_layer_norm" are 1.
double kernel_likeness(const std::string& a, const std::string& b);
constexpr double kAlike = 0.3;  // from which on they are one another's counterpart, if nothing is liker

}  // namespace vitrine::session
