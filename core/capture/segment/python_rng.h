// The random numbers that a segment draws from Python's generators before its graph runs.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/capture/objects/owned.h"

namespace vitrine::capture {

class PythonDraws {
 public:
  // Sources that are ways to draw (SourceKind::Drawn), by their ordinals, become the numbers, in order.
  // false: one cannot be drawn, or is no float; nothing has been drawn, and no Python error is set.
  bool make(std::span<PyRef> sources, const std::vector<int32_t>& drawn);
  // The program runs again, and draws them itself.
  void take_back();

 private:
  bool draw(PyRef& source);
  std::vector<std::pair<PyRef, PyRef>> before_;  // each generator, and its state
};

}  // namespace vitrine::capture
