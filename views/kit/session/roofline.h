// Where each kernel of a compilation stands under the ceilings that were measured of its machine.
//
// A kernel that moves B bytes and does F operations takes at least max(B / copy, F / product); the part of
// the roof that it reaches is this time divided by its own. A kernel that is faster stands for a ceiling that
// was measured too low (core/session/roofs.h).
#pragma once

#include <string>
#include <vector>

#include "core/session/roofs.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

struct RoofPoint {
  Id kernel = 0;
  double ns = 0;  // of all its launches in one call; 0 = not measured
  int64_t launches = 0;
  double bytes = 0, flops = 0;  // of them together
  double product = 0;           // the ceiling of its element type, operations a second; 0 = not measured
  double part = 0;              // of the roof, 0 = not known
  session::InCache cache = session::InCache::No;                      // where its data lie
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }  // operations a byte
  double rate() const { return ns > 0 ? flops / ns * 1e9 : 0; }       // operations a second
  double bandwidth() const { return ns > 0 ? bytes / ns * 1e9 : 0; }  // bytes a second
};

struct Roofline {
  std::vector<RoofPoint> points;           // every kernel of the compilation, in order
  session::Roofs roofs;                    // of all kernels of the session
  std::map<std::string, double> products;  // rates by type, of the types that kernels here compute
  QString too_low;  // which ceilings were measured too low, and what shows it; "" where none was
};

Roofline rooflineOf(const SessionData& data, Id compilation);
// "62 %", "62 %, in cache", "in cache"; "–" where it is not known.
QString partText(const RoofPoint& point);

}  // namespace vitrine::kit
