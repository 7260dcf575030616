// Graphs of the page as SVG, laid out as the window does, with a box around what is one kernel.
#include <algorithm>
#include <cmath>

#include "app/cli/exports/page.h"
#include "views/kit/layout/graph_layout.h"

namespace vitrine::cli::page {

using namespace session;
using kit::Box;

namespace {

constexpr size_t kMostNodes = 2500;         // of one drawing
constexpr size_t kMostNodesOfAll = 8000;    // of all drawings
constexpr size_t kMostGraphText = 400'000;  // bytes of one graph's text
constexpr double kCharacter = 6.7, kHeight = 34;
constexpr size_t kMostName = 34;

std::string short_name(const std::string& text) {
  return text.size() <= kMostName
             ? text
             : text.substr(0, kMostName / 2) + "…" + text.substr(text.size() - kMostName / 2);
}

std::string rectangle(const Box& box, const std::string& kind) {
  return "<rect class=" + kind + " x=" + tenths(box.x) + " y=" + tenths(box.y) + " width=" + tenths(box.w) +
         " height=" + tenths(box.h) + " rx=4 />";
}

// A class name that a family may be; any other is none.
std::string family_class(const std::string& family) {
  for (const char* known :
       {"pointwise", "reduction", "matmul", "view", "memory", "random", "opaque", "collective"})
    if (family == known) return std::string("node ") + known;
  return "node";
}

struct GraphDrawing {
  kit::LayoutGraph layout;
  std::vector<NodeRow> nodes;
  std::vector<std::string> groups;  // by index: the kernel's label
};

GraphDrawing drawing_of(const Reader& s, const GraphRow& graph) {
  GraphDrawing out;
  std::map<std::string, int> groups;
  std::map<Id, int> at;
  for (NodeRow& node : s.rows<NodeRow>("graph = ?1", {graph.id}, "ORDER BY ordinal")) {
    if (node.kind != "op" && node.kind != "placeholder" && node.kind != "output")
      continue;  // weights: too many
    kit::LayoutNode box;
    const size_t longest = std::max(short_name(node.name).size(), short_name(node.type).size());
    box.width = std::clamp(static_cast<double>(longest) * kCharacter + 20, 110.0, 260.0);
    box.height = kHeight;
    if (!node.group_label.empty()) {
      const auto [found, fresh] = groups.emplace(node.group_label, static_cast<int>(groups.size()));
      if (fresh) out.groups.push_back(node.group_label), out.layout.groups.push_back({});
      box.group = found->second;
    }
    at[node.id] = static_cast<int>(out.nodes.size());
    out.layout.nodes.push_back(box);
    out.nodes.push_back(std::move(node));
  }
  for (const EdgeRow& edge : s.rows<EdgeRow>("graph = ?1", {graph.id}))
    if (const auto from = at.find(edge.src), to = at.find(edge.dst); from != at.end() && to != at.end())
      out.layout.edges.push_back({from->second, to->second, false});
  return out;
}

std::string svg_of(const GraphDrawing& drawing) {
  const kit::GraphLayout placed = kit::layout_graph(drawing.layout);
  const std::string size = "width=\"" + tenths(placed.width) + "\" height=\"" + tenths(placed.height) + "\"";
  std::string out = "<div class=\"scroll graph\"><svg " + size + " viewBox=\"0 0 " + tenths(placed.width) +
                    " " + tenths(placed.height) + "\" role=img>\n";
  for (size_t i = 0; i < placed.groups.size() && i < drawing.groups.size(); ++i)
    out += rectangle(placed.groups[i], "hull") + "<text class=label x=" + tenths(placed.groups[i].x + 8) +
           " y=" + tenths(placed.groups[i].y + 16) + ">" + escaped(drawing.groups[i]) + "</text>\n";
  for (const kit::Route& route : placed.edges) {
    const size_t part = route.cut ? 2 : route.points.size();
    for (size_t from = 0; part > 1 && from + part <= route.points.size(); from += part) {
      out += "<polyline points=\"";
      for (size_t i = from; i < from + part; ++i)
        out += tenths(route.points[i].x) + "," + tenths(route.points[i].y) + " ";
      out += "\" />\n";
    }
  }
  for (size_t i = 0; i < placed.nodes.size() && i < drawing.nodes.size(); ++i) {
    const NodeRow& node = drawing.nodes[i];
    const Box& box = placed.nodes[i];
    out += "<g><title>" +
           escaped(node.op + "(" + node.detail.substr(0, 300) + ")" +
                   (node.module.empty() ? "" : "\n" + node.module)) +
           "</title>" + rectangle(box, "\"" + family_class(node.family) + "\"") +
           "<text x=" + tenths(box.x + 8) + " y=" + tenths(box.y + 14) + ">" +
           escaped(short_name(node.name)) + "</text><text class=quiet x=" + tenths(box.x + 8) +
           " y=" + tenths(box.y + 27) + ">" + escaped(short_name(node.type)) + "</text></g>\n";
  }
  return out + "</svg></div>\n";
}

}  // namespace

std::string graphs(const Reader& s, const EntityNames& names) {
  std::string out;
  size_t room = kMostNodesOfAll;
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    GraphRow graph;
    for (const char* stage : {"fused", "loops", "optimised", "decomposed", "aten", "captured", "backward"})
      if (!graph.id) graph = last_graph(s, c.id, stage);
    if (!graph.id) continue;
    const GraphDrawing drawing = drawing_of(s, graph);
    const size_t count = drawing.nodes.size();
    std::string body;
    if (count <= std::min(kMostNodes, room)) {
      room -= count;
      body = svg_of(drawing);
    } else {
      body = "<p>With " + std::to_string(count) + " nodes it is not drawn here; its text stands below.</p>\n";
    }
    const GraphRow aten = last_graph(s, c.id, "aten");
    for (const GraphRow& each : {aten, graph})
      if (const std::string text = each.id ? s.text(each.text) : ""; !text.empty())
        body += folded("The " + escaped(each.stage) + " graph as text",
                       "<pre>" + escaped(std::string_view(text).substr(0, kMostGraphText)) +
                           (text.size() > kMostGraphText ? "\n… the rest is left out" : "") + "</pre>");
    out += folded(escaped(names.compilation(c.id)) + " <span class=quiet>" + escaped(graph.stage) + ", " +
                      std::to_string(count) + " nodes</span>",
                  body, out.empty());
  }
  return out;
}

}  // namespace vitrine::cli::page
