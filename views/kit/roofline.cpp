#include "views/kit/roofline.h"

#include <algorithm>

namespace vitrine::kit {

using namespace session;

namespace {

// Products of our own kernels are made in float32; a library call's in the type of what it gives.
std::string elementType(const SessionData& data, const KernelRow& kernel) {
  if (kernel.kind == "generated") return "f32";
  for (Id origin : data.links.origins(kernel.id))
    if (const NodeRow* node = data.nodes.find(origin)) return node->type.substr(0, node->type.find('['));
  return "f32";
}

}  // namespace

double copyCeiling(const SessionData& data) {
  double out = 0;
  for (const CeilingRow& row : data.ceilings)
    if (row.kind == "copy") out = std::max(out, row.rate);
  return out;
}

std::vector<RoofPoint> roofPoints(const SessionData& data, Id compilation) {
  std::unordered_map<Id, std::pair<double, int64_t>> measured;
  for (const LaunchRow& launch : data.launches.of(compilation)) {
    measured[launch.kernel].first += launch.median_ns;
    ++measured[launch.kernel].second;
  }
  const double copy = copyCeiling(data);
  std::vector<RoofPoint> out;
  for (const KernelRow& kernel : data.kernels.of(compilation)) {
    RoofPoint p{kernel.id};
    std::tie(p.ns, p.launches) = measured[kernel.id];
    const auto times = static_cast<double>(std::max<int64_t>(1, p.launches));
    p.bytes = static_cast<double>(kernel.bytes) * times;
    p.flops = static_cast<double>(kernel.flops) * times;
    const std::string type = elementType(data, kernel);
    for (const CeilingRow& row : data.ceilings)
      if (row.kind == "product" && row.type == type) p.product = std::max(p.product, row.rate);
    const double least =
        std::max(copy > 0 ? p.bytes / copy : 0, p.product > 0 ? p.flops / p.product : 0) * 1e9;
    if (p.ns > 0 && copy > 0) p.part = least / p.ns;
    out.push_back(p);
  }
  return out;
}

}  // namespace vitrine::kit
