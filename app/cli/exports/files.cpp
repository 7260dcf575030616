#include <fstream>

#include "app/cli/exports/exports.h"

namespace vitrine::cli {

using namespace session;

std::optional<Error> write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out) return std::nullopt;
  return Error{"It could not be written.", "Choose another place with -o.", path};
}

std::vector<std::pair<std::string, std::string>> kernel_files(const Reader& session,
                                                              const KernelRow& kernel) {
  const bool gpu = kernel.language == "cuda c++";
  const std::string stem = file_word(kernel.label) + "_" + file_word(kernel.name);
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [blob, ending] : {std::pair{kernel.source, gpu ? ".cu" : ".cpp"},
                                     {kernel.ir, gpu ? ".ptx" : ".ll"},
                                     {kernel.assembly, gpu ? ".sass" : ".s"}})
    if (std::string text = session.text(blob); !text.empty())
      out.emplace_back(stem + ending, std::move(text));
  return out;
}

}  // namespace vitrine::cli
