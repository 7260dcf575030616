// Where each kernel stands under the ceilings that were measured of its machine.
#include <array>
#include <cstdio>
#include <map>

#include "app/cli/json_rows.h"
#include "app/cli/run_times.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/base/whole.h"
#include "core/session/roofs.h"

namespace vitrine::cli {

using namespace session;

namespace {

// Of one launch. bandwidth in bytes a second, rate in operations a second.
struct RooflinePoint {
  std::string label, name;
  Worked work;
  double bandwidth = 0, rate = 0;
  std::string half;  // of the calls
};

std::string element_type(const Reader& s, const KernelRow& kernel) {
  for (const Id origin : s.origins(kernel.id))
    if (kind_of(origin) == Kind::Node) return product_type(kernel, s.row<NodeRow>(origin).type);
  return product_type(kernel, "");
}

std::vector<RooflinePoint> points_of(const Reader& s, const ShowOptions& options) {
  const EntityNames names(s);
  std::vector<RooflinePoint> out;
  for (const LaunchRow& launch : s.all<LaunchRow>("ORDER BY compilation, ordinal")) {
    const KernelRow kernel = s.row<KernelRow>(launch.kernel);
    if (!kernel.id || launch.median_ns <= 0 || !names.shown(launch.compilation, options)) continue;
    RooflinePoint p{kernel.label, kernel.name};
    p.work = {kernel.id,        static_cast<double>(kernel.bytes), static_cast<double>(kernel.flops),
              launch.median_ns, static_cast<double>(kernel.bytes), element_type(s, kernel)};
    p.bandwidth = p.work.bytes / p.work.ns * 1e9;
    p.rate = p.work.flops / p.work.ns * 1e9;
    p.half = middle_half(launch.lower_ns, launch.upper_ns, launch.calls);
    out.push_back(p);
  }
  return out;
}

Roofs roofs_of(const Reader& s, const std::vector<RooflinePoint>& points) {
  std::vector<Worked> works;
  for (const RooflinePoint& p : points) works.push_back(p.work);
  return Roofs(s.all<CeilingRow>(), works);
}

std::string scaled(double value, const char* unit) {
  if (value <= 0) return "–";
  struct Prefix {
    double from;
    const char* name;
  };
  static constexpr Prefix kPrefixes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}};
  const Prefix* p = kPrefixes;
  while (value < p->from) ++p;
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.3g %s%s", p->from > 0 ? value / p->from : value, p->name, unit);
  return out.data();
}

std::string of_limit(double part) {
  if (part <= 0) return "–";
  std::array<char, 16> out{};
  std::snprintf(out.data(), out.size(), part < 0.01 ? "%.1f %%" : "%.0f %%", part * 100);
  return out.data();
}

nlohmann::ordered_json as_json(const Reader& s, const std::vector<RooflinePoint>& points,
                               const Roofs& roofs) {
  auto rows = nlohmann::ordered_json::array();
  for (const RooflinePoint& p : points)
    rows.push_back({{"kernel", p.label},
                    {"name", p.name},
                    {"time_ns", p.work.ns},
                    {"bytes", whole(p.work.bytes)},
                    {"flops", whole(p.work.flops)},
                    {"bytes_per_second", p.bandwidth},
                    {"flops_per_second", p.rate},
                    {"of_copy", roofs.of_copy(p.work)},
                    {"of_product", roofs.of_product(p.work)},
                    {"cache", Roofs::cache_words(roofs.in_cache(p.work))}});
  for (const auto& ceiling : json_rows(s, s.all<CeilingRow>())) rows.push_back({{"ceiling", ceiling}});
  return rows;
}

}  // namespace

std::string show_roofline(const Reader& s, const ShowOptions& options, std::string_view) {
  const std::vector<RooflinePoint> points = points_of(s, options);
  const Roofs roofs = roofs_of(s, points);
  if (options.json) return json_text(as_json(s, points, roofs));
  TextTable table({"kernel", "name", ">" + launch_title(s), ">half of the calls", ">bytes", ">bandwidth",
                   ">of copy", ">operations", ">rate", ">of product"});
  table.least({"half of the calls", "operations", "rate", "bytes", "bandwidth"});
  std::map<Id, std::string> labels;
  for (const RooflinePoint& p : points) {
    labels[p.work.kernel] = p.label;
    table.row({p.label, p.name, nanoseconds(p.work.ns), p.half, bytes(whole(p.work.bytes)),
               scaled(p.bandwidth, "B/s"), roofs.copy_words(p.work),
               p.work.flops > 0 ? scaled(p.work.flops, "FLOP") : "–", scaled(p.rate, "FLOP/s"),
               of_limit(roofs.of_product(p.work))});
  }
  if (table.empty()) return nothing("roofline", why_no_times(s));
  std::string out = table.text(options.width);
  for (const CeilingRow& row : s.all<CeilingRow>())
    out += "ceiling: " + row.kind + " " + row.type + " " +
           scaled(row.rate, row.kind == "copy" ? "B/s" : "FLOP/s") + " (" + ceiling_words(row) + ")\n";
  const std::string too_low = roofs.too_low(labels);
  return out + (too_low.empty() ? "" : too_low + "\n") + shown_call_notes(s);
}

}  // namespace vitrine::cli
