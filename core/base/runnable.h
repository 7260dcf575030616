// The files that a run takes, by their endings: Python's, a notebook, a program that torch.export wrote.
#pragma once

#include <array>
#include <string_view>

namespace vitrine {

inline constexpr std::array<std::string_view, 3> kRunnable = {".py", ".ipynb", ".pt2"};

constexpr bool is_runnable(std::string_view path) {
  for (const std::string_view ending : kRunnable)
    if (path.ends_with(ending)) return true;
  return false;
}

}  // namespace vitrine
