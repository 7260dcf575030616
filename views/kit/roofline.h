// Where each kernel of a compilation stands under the ceilings that were measured of its machine.
//
// A kernel that moves B bytes and does F operations takes at least max(B / copy, F / product); the part of
// the roof that it reaches is this time divided by its own.
#pragma once

#include <string>
#include <vector>

#include "views/kit/session_data.h"

namespace vitrine::kit {

struct RoofPoint {
  Id kernel = 0;
  double ns = 0;  // of all its launches in one call; 0 = not measured
  int64_t launches = 0;
  double bytes = 0, flops = 0;  // of them together
  double product = 0;           // the ceiling of its element type, operations a second; 0 = not measured
  double part = 0;              // of the roof, 0 = not known
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }  // operations a byte
  double rate() const { return ns > 0 ? flops / ns * 1e9 : 0; }       // operations a second
  double bandwidth() const { return ns > 0 ? bytes / ns * 1e9 : 0; }  // bytes a second
};

// Bytes a second of the fastest copy, 0 when none was measured.
double copyCeiling(const SessionData& data);
// Every kernel of the compilation, in order.
std::vector<RoofPoint> roofPoints(const SessionData& data, Id compilation);

}  // namespace vitrine::kit
