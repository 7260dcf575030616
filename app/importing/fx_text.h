// Graphs as torch.fx prints them, and Inductor's output code, read line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine::importing {

struct FxNode {
  std::string name, kind, op, type,
      detail;                  // kind: placeholder | op | output; detail: arguments, values as %name
  std::vector<size_t> inputs;  // of nodes before
  std::string file, code;      // of the user's line, "" = not told
  int64_t line = 0;
};

struct FxGraph {
  std::vector<FxNode> nodes;
  std::string text;  // as our graphs are written
};

// What is no line of a graph is passed over. At most 200 000 nodes.
FxGraph read_fx(std::string_view text, const std::string& stage);

// "f32[4, 16][16, 1]cuda:0" -> "f32[4,16]cuda:0": strides only where they are not contiguous.
std::string our_type(const std::string& theirs);
std::string shape_of(const std::string& type);  // "4,16"
int64_t bytes_of(const std::string& type);      // 0: not known
std::string family_of(const std::string& op);

struct OutputKernel {
  std::string name, language, source;
};
struct OutputLaunch {
  std::string text, args;
  int kernel = -1;      // of those generated; -1: a library's or PyTorch's operator
  std::string library;  // its name then
};
struct OutputCode {
  std::vector<OutputKernel> kernels;
  std::vector<OutputLaunch> launches;
  bool backward = false;
};
OutputCode read_output_code(std::string_view text);

}  // namespace vitrine::importing
