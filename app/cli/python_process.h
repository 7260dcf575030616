// Starts the engine's Python in place of this process, or a sibling program of the build.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::cli {

// Where this build keeps its programs and its Python package.
struct Places {
  std::string bin;      // folder of this program
  std::string python;   // interpreter: VITRINE_PYTHON, else the one of the build
  std::string package;  // folder to put on PYTHONPATH
};
Places places();

// Replaces this process by `python -m module args...`; returns only on failure.
Error exec_module(const Places& places, const std::string& module, const std::vector<std::string>& args);
// Runs it as a child and waits; the child's exit status, 128 + signal when it was killed.
Result<int> run_module(const Places& places, const std::string& module, const std::vector<std::string>& args);
Error exec_program(const std::string& path, const std::vector<std::string>& args);

bool has_display();

}  // namespace vitrine::cli
