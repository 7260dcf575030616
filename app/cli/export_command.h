// `vitrine export SESSION --to FORMAT`: what other programs read.
#pragma once

#include <string>

namespace vitrine::cli {

struct ExportArguments {
  std::string session, format, output, compilation, stage;  // "": fused, else the last
};

// Exit status: 0; 1 the session or the place to write to is at fault; 2 wrong arguments.
int export_command(const ExportArguments& arguments);

}  // namespace vitrine::cli
