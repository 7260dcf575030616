#include "views/kit/session/roofline.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "views/kit/text/numbers.h"

namespace vitrine::kit {

using namespace session;

namespace {

std::string elementType(const SessionData& data, const KernelRow& kernel) {
  for (Id origin : data.links.origins(kernel.id))
    if (const NodeRow* node = data.nodes.find(origin)) return product_type(kernel, node->type);
  return product_type(kernel, "");
}

Worked workOf(const SessionData& data, const KernelRow& kernel, double ns, int64_t launches) {
  const auto times = static_cast<double>(std::max<int64_t>(1, launches));
  return {kernel.id, static_cast<double>(kernel.bytes) * times, static_cast<double>(kernel.flops) * times,
          ns,        static_cast<double>(kernel.bytes),         elementType(data, kernel)};
}

}  // namespace

Roofline rooflineOf(const SessionData& data, Id compilation) {
  std::unordered_map<Id, std::pair<double, int64_t>> measured;
  for (const LaunchRow& launch : data.launches) {
    measured[launch.kernel].first += launch.median_ns;
    ++measured[launch.kernel].second;
  }
  std::vector<Worked> works;
  std::map<Id, std::string> labels;
  for (const KernelRow& kernel : data.kernels) {
    const auto& [ns, launches] = measured[kernel.id];
    works.push_back(workOf(data, kernel, ns, launches));
    labels[kernel.id] = kernel.label;
  }
  Roofline out;
  out.roofs = Roofs(data.ceilings, works);
  out.too_low = QString::fromStdString(out.roofs.too_low(labels));
  for (const KernelRow& kernel : data.kernels.of(compilation)) {
    const auto& [ns, launches] = measured[kernel.id];
    const Worked work = workOf(data, kernel, ns, launches);
    const double product = out.roofs.product(work.type).rate;
    RoofPoint p{kernel.id, ns, launches, work.bytes, work.flops, product};
    if (out.roofs.copy().rate > 0) p.part = out.roofs.of_roof(work);
    p.cache = out.roofs.in_cache(work);
    if (product > 0 && work.flops > 0) out.products[work.type] = product;
    out.points.push_back(p);
  }
  return out;
}

QString partText(const RoofPoint& p) {
  const QString where = QString::fromStdString(Roofs::cache_words(p.cache));
  if (p.ns <= 0) return unknown();
  if (p.part <= 0) return where.isEmpty() ? unknown() : where;
  return where.isEmpty() ? percentText(p.part) : percentText(p.part) + ", " + where;
}

}  // namespace vitrine::kit
