// How a module of the engine's Python package is started: as `python -m` does it, but without the folder one
// stands in on Python's path. A cuda.py or random.py that lies there would be imported in place of what
// PyTorch means.
#pragma once

#include <array>
#include <string>

namespace vitrine {

// What stands between the interpreter and the arguments. (-P says the same, but not to a Python that is too
// old to know it, which is then told so by the package.)
inline std::array<std::string, 3> python_module_words(const std::string& module) {
  return {"-c",
          "import sys, runpy; sys.path[:1] = filter(None, sys.path[:1]); "
          "name = sys.argv[1]; sys.argv[:2] = ['-m']; runpy._run_module_as_main(name)",
          module};
}

}  // namespace vitrine
