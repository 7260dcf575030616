#include "views/graph/film_layout.h"

#include <algorithm>
#include <array>
#include <list>

#include "views/kit/layout/graph_routes.h"

namespace vitrine::views {

using namespace session;

namespace {

constexpr size_t kMostNodes = 6000;  // of all snapshots together

// The stages that passes go through, of either half.
bool is_stage_of_film(const std::string& stage, bool backward) {
  if (stage == "decomposed" || stage == "optimised") return true;
  return backward ? stage == "backward" : stage == "aten" || stage == "forward";
}

std::string key_of(const kit::SessionData& data, const SceneItem& item) {
  if (item.kind == SceneItem::Kind::Module) return "m" + item.path;
  if (item.kind == SceneItem::Kind::Output) return "output";
  const NodeRow* node = data.nodes.find(item.id);
  return "n" + std::to_string(node ? node->stable : -1);
}

class FilmUnion {
 public:
  explicit FilmUnion(const kit::SessionData& data) : data_(data) {}

  void add(const Scene& scene) {
    std::vector<int> groups;
    for (size_t g = 0; g < scene.groups.size(); ++g) groups.push_back(group(scene, g, groups));
    std::vector<std::string> keys;
    std::set<std::string> here;
    for (const SceneItem& item : scene.items) here.insert(key_of(data_, item));
    auto behind = order_.begin();
    for (size_t i = 0; i < scene.items.size(); ++i) {
      const std::string key = stands_at(scene.items[i], here);
      keys.push_back(key);
      const kit::LayoutNode& box = scene.layout.nodes[i];
      auto [it, added] = nodes_.try_emplace(key, Placed{box, {}});
      Placed& placed = it->second;
      if (added) {
        placed.box.group = box.group < 0 ? -1 : groups[static_cast<size_t>(box.group)];
        placed.at = order_.insert(behind, key);
      } else {
        placed.box.width = std::max(placed.box.width, box.width);
        placed.box.height = std::max(placed.box.height, box.height);
        placed.box.left_extra = std::max(placed.box.left_extra, box.left_extra);
      }
      behind = std::next(placed.at);
    }
    for (const kit::LayoutEdge& edge : scene.layout.edges)
      edges_.insert({keys[static_cast<size_t>(edge.from)], keys[static_cast<size_t>(edge.to)]});
  }

  FilmLayoutPtr place(const std::function<bool()>& cancelled) {
    kit::LayoutGraph graph;
    graph.groups = groups_;
    std::unordered_map<std::string, int> index;
    for (const std::string& key : order_) {
      index[key] = static_cast<int>(graph.nodes.size());
      graph.nodes.push_back(nodes_.at(key).box);
    }
    for (const auto& [from, to] : edges_) graph.edges.push_back({index.at(from), index.at(to), true});
    const kit::GraphLayout layout = kit::layout_graph(graph, {}, cancelled);
    if (layout.nodes.size() != graph.nodes.size()) return nullptr;
    auto out = std::make_shared<FilmLayout>();
    for (const auto& [key, i] : index) out->nodes[key] = layout.nodes[static_cast<size_t>(i)];
    for (const auto& [title, g] : group_of_) out->groups[title] = layout.groups[static_cast<size_t>(g)];
    out->stands_for = std::move(stands_for_);
    out->width = layout.width, out->height = layout.height;
    return out;
  }

 private:
  struct Placed {
    kit::LayoutNode box;
    std::list<std::string>::iterator at;
  };

  static std::string title_of(const SceneGroup& group) {
    return group.path.empty() ? group.title.toStdString() : group.path;
  }

  int group(const Scene& scene, size_t at, const std::vector<int>& before) {
    const auto [it, added] =
        group_of_.try_emplace(title_of(scene.groups[at]), static_cast<int>(groups_.size()));
    if (added) {
      kit::LayoutGroup copy = scene.layout.groups[at];
      if (copy.parent >= 0) copy.parent = before[static_cast<size_t>(copy.parent)];
      groups_.push_back(copy);
    }
    return it->second;
  }

  // A card takes the place of an operator that came before and is not in the picture any more.
  std::string stands_at(const SceneItem& item, const std::set<std::string>& here) {
    const std::string own = key_of(data_, item);
    if (item.kind != SceneItem::Kind::Module || nodes_.contains(own)) return own;
    if (const auto known = stands_for_.find(own); known != stands_for_.end())
      return here.contains(known->second) ? own : known->second;
    for (const Id member : item.members)
      for (const Id origin : data_.links.origins(member)) {
        const NodeRow* node = data_.nodes.find(origin);
        const std::string key = node ? "n" + std::to_string(node->stable) : std::string();
        if (key.empty() || here.contains(key) || !nodes_.contains(key) || taken_.contains(key)) continue;
        taken_.insert(key);
        stands_for_[own] = key;
        return key;
      }
    return own;
  }

  const kit::SessionData& data_;
  std::list<std::string> order_;  // of execution, over all snapshots
  std::unordered_map<std::string, Placed> nodes_;
  std::set<std::pair<std::string, std::string>> edges_;
  std::vector<kit::LayoutGroup> groups_;
  std::unordered_map<std::string, int> group_of_;
  std::unordered_map<std::string, std::string> stands_for_;
  std::set<std::string> taken_;
};

// Of the film that the graph is of: the snapshots that have nodes.
std::vector<const GraphRow*> snapshots_of(const kit::SessionData& data, const GraphRow& graph) {
  const bool backward = data.forwardOf(graph.compilation) != graph.compilation;
  std::vector<const GraphRow*> out;
  for (const GraphRow& row : data.graphs.of(graph.compilation))
    if (is_stage_of_film(row.stage, backward) && !data.nodes.of(row.id).empty()) out.push_back(&row);
  return out;
}

}  // namespace

bool is_of_film(const kit::SessionData& data, const GraphRow& graph) {
  return is_stage_of_film(graph.stage, data.forwardOf(graph.compilation) != graph.compilation);
}

Id snapshot_before(const kit::SessionData& data, const GraphRow& graph) {
  Id out = 0;
  for (const GraphRow& other : data.graphs.of(graph.compilation))
    if (other.ordinal < graph.ordinal && !data.nodes.of(other.id).empty()) out = other.id;
  return out;
}

std::string film_key(const kit::SessionData& data, const GraphRow& graph, const SceneOptions& options) {
  std::string out = data.path + " " + std::to_string(data.stamp) + " " + std::to_string(graph.compilation) +
                    " " + std::to_string(static_cast<int>(options.grouping)) +
                    (options.all_open ? " all" : "");
  for (const std::string& path : options.opened) out += " +" + path;
  for (const std::string& path : options.closed) out += " -" + path;
  return out;
}

FilmLayoutPtr film_layout(const kit::SessionData& data, const GraphRow& graph, SceneOptions options,
                          const std::function<bool()>& cancelled) {
  const auto snapshots = snapshots_of(data, graph);
  size_t nodes = 0, most = 0;
  const GraphRow* largest = nullptr;
  for (const GraphRow* row : snapshots) {
    const size_t own = data.nodes.of(row->id).size();
    nodes += own;
    if (own > most) most = own, largest = row;
  }
  if (!largest || nodes > kMostNodes) return nullptr;
  options.before = 0;
  options.only_open.reset();
  const std::set<std::string> open = build_scene(data, largest->id, options).open;
  options.only_open = open;
  FilmUnion all(data);
  for (const GraphRow* row : snapshots) {
    if (cancelled()) return nullptr;
    options.before = row->pass.empty() ? 0 : snapshot_before(data, *row);
    all.add(build_scene(data, row->id, options));
  }
  const FilmLayoutPtr placed = all.place(cancelled);
  if (!placed) return nullptr;
  auto out = std::make_shared<FilmLayout>(*placed);
  out->asked = film_key(data, graph, options);
  out->open = open;
  return out;
}

std::optional<kit::GraphLayout> placed_by(const FilmLayout& film, const kit::SessionData& data,
                                          const Scene& scene) {
  kit::GraphLayout out;
  std::set<std::string> used;
  for (const SceneItem& item : scene.items) {
    std::string key = key_of(data, item);
    if (const auto stands = film.stands_for.find(key);
        stands != film.stands_for.end() && !film.nodes.contains(key))
      key = stands->second;
    const auto place = film.nodes.find(key);
    if (place == film.nodes.end() || !used.insert(key).second) return std::nullopt;
    out.nodes.push_back(place->second);
  }
  for (const SceneGroup& group : scene.groups) {
    const auto place = film.groups.find(group.path.empty() ? group.title.toStdString() : group.path);
    if (place == film.groups.end()) return std::nullopt;
    out.groups.push_back(place->second);
  }
  const kit::LayoutMetrics metrics;
  kit::route_edges(scene.layout, metrics, out);
  out.width = film.width, out.height = film.height;
  for (const kit::Route& route : out.edges)
    for (const kit::Point& p : route.points) out.width = std::max(out.width, p.x + metrics.margin);
  return out;
}

}  // namespace vitrine::views
