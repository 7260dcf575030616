// Where each kernel stands under the ceilings that were measured of its machine.
#include <array>
#include <cstdio>
#include <map>

#include "app/cli/json_rows.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"

namespace vitrine::cli {

using namespace session;

namespace {

// Of one launch. bandwidth in bytes a second, rate in operations a second; parts are those of the ceilings, 0
// where something is not known.
struct Point {
  std::string label, name;
  int64_t bytes = 0, flops = 0;
  double ns = 0, bandwidth = 0, rate = 0, of_copy = 0, of_product = 0;
};

struct Ceilings {
  double copy = 0, product = 0;
};

Ceilings ceilings_of(const std::vector<CeilingRow>& rows) {
  Ceilings out;
  for (const CeilingRow& row : rows)
    if (row.kind == "copy")
      out.copy = std::max(out.copy, row.rate);
    else if (row.type == "f32")  // of what kernels of our own compute in
      out.product = std::max(out.product, row.rate);
  return out;
}

std::vector<Point> points_of(const Reader& s, const ShowOptions& options) {
  const Names names(s);
  const Ceilings ceilings = ceilings_of(s.all<CeilingRow>());
  std::vector<Point> out;
  for (const LaunchRow& launch : s.all<LaunchRow>("ORDER BY compilation, ordinal")) {
    const KernelRow kernel = s.row<KernelRow>(launch.kernel);
    if (!kernel.id || launch.median_ns <= 0 || !names.shown(launch.compilation, options)) continue;
    Point p{kernel.label, kernel.name, kernel.bytes, kernel.flops, launch.median_ns};
    p.bandwidth = static_cast<double>(p.bytes) / p.ns * 1e9;
    p.rate = static_cast<double>(p.flops) / p.ns * 1e9;
    if (ceilings.copy > 0) p.of_copy = p.bandwidth / ceilings.copy;
    if (ceilings.product > 0) p.of_product = p.rate / ceilings.product;
    out.push_back(p);
  }
  return out;
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

std::string percent(double part) {
  if (part <= 0) return "–";
  std::array<char, 16> out{};
  std::snprintf(out.data(), out.size(), part < 0.01 ? "%.1f %%" : "%.0f %%", part * 100);
  return out.data();
}

nlohmann::ordered_json as_json(const Reader& s, const std::vector<Point>& points) {
  auto rows = nlohmann::ordered_json::array();
  for (const Point& p : points)
    rows.push_back({{"kernel", p.label},
                    {"name", p.name},
                    {"time_ns", p.ns},
                    {"bytes", p.bytes},
                    {"flops", p.flops},
                    {"bytes_per_second", p.bandwidth},
                    {"flops_per_second", p.rate},
                    {"of_copy", p.of_copy},
                    {"of_product", p.of_product}});
  for (const auto& ceiling : json_rows(s, s.all<CeilingRow>())) rows.push_back({{"ceiling", ceiling}});
  return rows;
}

}  // namespace

std::string show_roofline(const Reader& s, const ShowOptions& options, std::string_view) {
  const std::vector<Point> points = points_of(s, options);
  if (options.json) return json_text(as_json(s, points));
  TextTable table(
      {"kernel", "name", ">time", ">bytes", ">bandwidth", ">of copy", ">operations", ">rate", ">of product"});
  for (const Point& p : points)
    table.row({p.label, p.name, nanoseconds(p.ns), bytes(p.bytes), scaled(p.bandwidth, "B/s"),
               percent(p.of_copy), p.flops ? scaled(static_cast<double>(p.flops), "FLOP") : "–",
               scaled(p.rate, "FLOP/s"), percent(p.of_product)});
  if (table.empty()) return nothing("roofline", "no launch was measured");
  std::string out = table.text();
  for (const CeilingRow& row : s.all<CeilingRow>())
    out += "ceiling: " + row.kind + " " + row.type + " " +
           scaled(row.rate, row.kind == "copy" ? "B/s" : "FLOP/s") + " (" + row.note + ")\n";
  return out;
}

}  // namespace vitrine::cli
