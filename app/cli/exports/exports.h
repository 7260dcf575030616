// What `vitrine export` writes that takes more than a few lines to make.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/session/reader.h"

namespace vitrine::cli {

// The page of a whole run.
std::string html_page(const session::Reader& session);

// Name and text of a Python file for each ATen graph: `forward`, its inputs, and a call. compilation: only
// this one
// ("" = all).
std::vector<std::pair<std::string, std::string>> fx_files(const session::Reader& session,
                                                          const std::string& compilation);

// A folder of files about each compilation; compilation: only this one ("" = all).
std::optional<Error> debug_folder(const session::Reader& session, const std::string& path,
                                  const std::string& compilation);

// Letters and digits of a text, for a file's name.
std::string file_word(const std::string& text);

// Name and text of each file of a kernel: its source, LLVM IR or PTX, assembly or SASS.
std::vector<std::pair<std::string, std::string>> kernel_files(const session::Reader& session,
                                                              const session::KernelRow& kernel);

// nullopt: it is written.
std::optional<Error> write_file(const std::string& path, const std::string& text);

}  // namespace vitrine::cli
