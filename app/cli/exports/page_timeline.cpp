// Timelines of the page as SVG: a strip a lane, the lanes of a run on one axis.
#include <algorithm>
#include <cmath>

#include "app/cli/exports/page.h"
#include "app/cli/text_table.h"

namespace vitrine::cli::page {

using namespace session;

namespace {

constexpr double kWidth = 1400, kLeft = 150, kRow = 18;
constexpr double kLeastWidth = 0.5;    // a slice that is narrower goes into its neighbour's column
constexpr size_t kMostDrawn = 20'000;  // slices of all lanes
constexpr int kDeepest = 12;

struct LaneSlices {
  LaneRow row;
  std::vector<int64_t> start, duration;
  std::vector<int32_t> name;
  std::vector<int8_t> depth;
  size_t count = 0;
  int rows = 1;
};

LaneSlices slices_of(const Reader& s, const LaneRow& row) {
  LaneSlices out{row, s.column<int64_t>(row.start), s.column<int64_t>(row.duration),
                 s.column<int32_t>(row.name), s.column<int8_t>(row.depth)};
  out.count = std::min({out.start.size(), out.duration.size(), out.name.size()});
  for (size_t i = 0; i < std::min(out.count, out.depth.size()); ++i)
    out.rows = std::max(out.rows, std::clamp<int>(out.depth[i], 0, kDeepest - 1) + 1);
  return out;
}

std::string slice_class(const std::string& family) {
  for (const char* known :
       {"pointwise", "reduction", "matmul", "view", "memory", "random", "opaque", "collective"})
    if (family == known) return known;
  return "other";
}

std::string draw(const LaneSlices& lane, double y, double end, const std::map<int64_t, NameRow>& names,
                 size_t& room) {
  std::string out;
  std::vector<double> drawn_to(static_cast<size_t>(kDeepest), -1);
  for (size_t i = 0; i < lane.count && room > 0; ++i) {
    const int depth = i < lane.depth.size() ? std::clamp<int>(lane.depth[i], 0, kDeepest - 1) : 0;
    const double from = kLeft + std::max(0.0, static_cast<double>(lane.start[i])) / end * (kWidth - kLeft);
    const double wide = std::max(0.0, static_cast<double>(lane.duration[i])) / end * (kWidth - kLeft);
    double& to = drawn_to[static_cast<size_t>(depth)];
    if (wide < kLeastWidth && from < to + kLeastWidth) continue;
    to = from + std::max(wide, kLeastWidth);
    --room;
    const auto found = names.find(lane.name[i]);
    const std::string text = found == names.end() ? "" : found->second.text.substr(0, 200);
    const double top = y + depth * kRow;
    out += "<g><title>" + escaped(text) + ", " + nanoseconds(static_cast<double>(lane.duration[i])) +
           "</title><rect class=\"slice " +
           (found == names.end() ? "other" : slice_class(found->second.family)) + "\" x=" + tenths(from) +
           " y=" + tenths(top + 1) + " width=" + tenths(std::max(wide, kLeastWidth)) +
           " height=" + tenths(kRow - 2) + " />";
    if (const auto fits = static_cast<size_t>(std::max(0.0, (wide - 6) / 6.2)); fits >= 4) {
      std::string label = text;
      if (label.size() > fits) label = label.substr(0, fits - 1) + "…";
      out += "<text x=" + tenths(from + 3) + " y=" + tenths(top + 13) + ">" + escaped(label) + "</text>";
    }
    out += "</g>\n";
  }
  return out;
}

}  // namespace

std::string timelines(const Reader& s) {
  std::map<int64_t, NameRow> names;
  for (NameRow& name : s.all<NameRow>()) names.emplace(name.id, std::move(name));
  std::string out;
  size_t room = kMostDrawn;
  for (const RunRow& run : s.all<RunRow>()) {
    std::vector<LaneSlices> lanes;
    double end = 0;
    for (const LaneRow& row : s.rows<LaneRow>("run = ?1", {run.id}, "ORDER BY ordinal")) {
      LaneSlices lane = slices_of(s, row);
      for (size_t i = 0; i < lane.count; ++i)
        end = std::max(end, static_cast<double>(lane.start[i]) + static_cast<double>(lane.duration[i]));
      if (lane.count) lanes.push_back(std::move(lane));
    }
    if (lanes.empty() || end <= 0) continue;
    double y = 20;
    std::string body;
    for (const LaneSlices& lane : lanes) {
      body += "<text class=label x=4 y=" + tenths(y + 13) + ">" +
              escaped((lane.row.side + " " + (lane.row.label.empty() ? lane.row.kind : lane.row.label))
                          .substr(0, 24)) +
              "</text>\n";
      body += draw(lane, y, end, names, room);
      y += lane.rows * kRow + 6;
    }
    for (int i = 0; i <= 4; ++i) {
      const double x = kLeft + (kWidth - kLeft) * i / 4;
      body += "<text class=quiet x=" + tenths(i == 4 ? x - 52 : x) + " y=13>" +
              (i ? nanoseconds(end * i / 4) : "0") + "</text>\n";
    }
    out += "<h3>" + escaped(run.label) + "</h3><div class=scroll><svg width=\"" + tenths(kWidth) +
           "\" height=\"" + tenths(y) + "\" viewBox=\"0 0 " + tenths(kWidth) + " " + tenths(y) +
           "\" role=img>\n" + body + "</svg></div>\n";
  }
  if (room == 0) out += "<p>Only the first " + std::to_string(kMostDrawn) + " slices are drawn.</p>\n";
  return out;
}

}  // namespace vitrine::cli::page
