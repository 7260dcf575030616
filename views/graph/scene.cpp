#include "views/graph/scene.h"

#include <algorithm>
#include <map>

#include "views/graph/boxes.h"
#include "views/graph/cards.h"
#include "views/graph/modules.h"
#include "views/graph/operators.h"
#include "views/graph/rows.h"
#include "views/kit/session/sources.h"
#include "views/kit/session/symbolic_types.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace session;

namespace {

constexpr double kNodeHeight = 40, kCardHeight = 44, kPillHeight = 24;
constexpr size_t kMostInputs = 8;  // that stand in a row of their own
constexpr int kMostName = 32;      // letters of a weight's name
constexpr int kMostLanes = 8;      // at one input or output
constexpr int kMostReaders = 4;    // of an input that stands beside them
constexpr double kCompactHeight = 24;

class SceneBuilder {
 public:
  SceneBuilder(const kit::SessionData& data, Id graph, const SceneOptions& options)
      : data_(data),
        graph_(graph),
        options_(options),
        nodes_(data.nodes.of(graph)),
        symbolic_(kit::symbolicTypes(data, graph)) {}

  Scene build() {
    collect_kernels();
    collect_roles();
    collect_modules();
    const GraphRow* graph = data_.graphs.find(graph_);
    if (graph) classes_ = kit::moduleClasses(data_, data_.forwardOf(graph->compilation));
    if (options_.compact && graph) {
      for (const NodeRow* node : row_order(data_, *graph)) add(*node);
    } else {
      for (const NodeRow* node : with_removed()) add(*node);
    }
    add_outputs();
    add_edges();
    shorten_edges();
    finish_cards();
    size_boxes(out_, options_.compact);
    return std::move(out_);
  }

 private:
  // What stands as a pill beside each node that reads it: weights, and in backward what forward left.
  bool is_weight(const NodeRow& n) const {
    return n.kind == "parameter" || n.kind == "buffer" || n.kind == "constant" ||
           (n.kind == "placeholder" && (left_.contains(n.stable) || beside_.contains(n.id)));
  }
  bool is_vertex(const NodeRow& n) const { return !is_weight(n) && n.kind != "output"; }

  void collect_kernels() {
    const GraphRow* graph = data_.graphs.find(graph_);
    if (!graph) return;
    decomposed_ = graph->stage == "decomposed" || graph->stage == "optimised";
    if (decomposed_ || graph->stage == "loops") labels_ = kernel_labels(data_, graph->compilation);
    if (decomposed_) collect_divided(graph->compilation);
    std::unordered_map<Id, double> ns;
    for (const LaunchRow& launch : data_.launches.of(graph->compilation))
      ns[launch.kernel] += launch.median_ns;
    for (const KernelRow& kernel : data_.kernels.of(graph->compilation))
      kernels_[kernel.label] = {&kernel, ns[kernel.id]};
    for (const auto& [label, nodes] : divided_)
      if (label[0] != 'K') later_ns_[nodes.front()] += kernels_[label].ns;
    if (!options_.decisions) return;
    for (const DecisionRow& d : data_.decisions.of(graph->compilation)) {
      const NodeRow *a = data_.nodes.find(d.a), *b = data_.nodes.find(d.b);
      if (a && b && !(options_.rejected && d.verdict == "fused")) decisions_[{a->stable, b->stable}] = &d;
    }
  }

  // A kernel may compute a node that a later pass makes of one here, as the product of an addmm.
  void collect_divided(Id compilation) {
    const GraphRow* fused = data_.lastGraph(compilation, "fused");
    if (!fused) return;
    std::unordered_map<int64_t, Id> here;
    for (const NodeRow& node : nodes_) here[node.stable] = node.id;
    for (const NodeRow& node : data_.nodes.of(fused->id))
      if (!node.group_label.empty() && !here.contains(node.stable))
        if (const Id from = origin_of(node.id, here)) divided_[node.group_label].push_back(from);
  }

  // The nearest origin of a later node that stands here; 0: none does.
  Id origin_of(Id later, const std::unordered_map<int64_t, Id>& here) const {
    std::vector<Id> open{later};
    std::set<Id> seen{later};
    for (size_t i = 0; i < open.size(); ++i) {
      const NodeRow* node = data_.nodes.find(open[i]);
      if (const auto found = node ? here.find(node->stable) : here.end(); found != here.end())
        return found->second;
      for (const Id origin : data_.links.origins(open[i]))
        if (kind_of(origin) == Kind::Node && seen.insert(origin).second) open.push_back(origin);
    }
    return 0;
  }

  // What stands between forward and backward, by the node that shows it here.
  void collect_crossings(const GraphRow& graph) {
    const Id forward = data_.forwardOf(graph.compilation);
    const bool backward = graph.stage == "backward" || forward != graph.compilation;
    if (backward)
      for (const CrossingRow& row : data_.crossings.of(forward))
        if (const NodeRow* node = data_.nodes.find(row.backward_node)) left_[node->stable] = &row;
    if (!backward && graph.stage != "forward" && graph.stage != "joint") return;
    for (const CrossingRow& row : data_.crossings.of(forward)) {
      const bool again = row.kind == "recomputed" && graph.stage != "forward";
      const NodeRow* node = data_.nodes.find(backward ? row.backward_node : row.node);
      if (node && (again || row.kind == "saved")) crossings_[node->stable] = &row;
    }
  }

  // Of many inputs, as of a function that takes its weights, each stands where it is read and not in one long
  // row; what is read all over the graph keeps its own node.
  void collect_inputs() {
    std::unordered_map<Id, int> readers;
    for (const EdgeRow& edge : data_.edges.of(graph_)) ++readers[edge.src];
    std::set<Id> weights;  // of a module that keeps them in a list of its own
    for (const NodeRow& node : nodes_) {
      if (node.kind != "placeholder" || readers[node.id] > kMostReaders) continue;
      (node.detail.starts_with("L['self'].") ? weights : beside_).insert(node.id);
    }
    if (beside_.size() <= kMostInputs) beside_.clear();
    beside_.merge(weights);
  }

  void collect_roles() {
    if (const GraphRow* graph = data_.graphs.find(graph_)) collect_crossings(*graph);
    collect_inputs();
    for (const NodeRow& node : nodes_) row_[node.id] = &node;
    if (!options_.before) return;
    for (const NodeRow& node : data_.nodes.of(options_.before)) before_[node.stable] = &node;
    std::set<int64_t> now;
    for (const NodeRow& node : nodes_) now.insert(node.stable);
    for (const NodeRow& node : data_.nodes.of(options_.before))
      if (is_vertex(node) && !now.contains(node.stable)) removed_[node.id] = &node;
  }

  void collect_modules() {
    if (options_.grouping != Grouping::Modules) return;
    const OperatorParts parts = decomposed_ ? parts_of_operators(data_, nodes_) : OperatorParts();
    loose_ = lines_of_loose(data_, nodes_);
    std::vector<ModuleNode> nodes;
    std::set<std::string> opened = options_.opened, whole = parts.whole;
    for (const NodeRow& node : nodes_) {
      if (!is_vertex(node)) continue;
      auto part = parts.path.find(node.id);
      std::string& module = module_[node.id] = part == parts.path.end() ? node.module.str() : part->second;
      if (auto line = loose_.path.find(node.id); line != loose_.path.end())
        module = line->second + (module.empty() ? "" : "." + module);
      if (part != parts.path.end() && parts.whole.contains(part->second)) whole.insert(module);
      for (const std::string& prefix : prefixes(module)) ++held_[prefix];
      nodes.push_back({module, std::hash<std::string>()(node.op + node.type)});
      if (options_.all_open && !module.empty()) opened.insert(module);
    }
    single_ = single_modules(nodes);
    const std::vector<std::string> parted = interrupted_lists(nodes);
    unframed_.insert(parted.begin(), parted.end());
    std::set<std::string> closed =
        options_.closed;  // how an operator is computed is seen when it is asked for
    for (const std::string& path : whole)
      if (!opened.contains(path)) closed.insert(path);
    out_.open = options_.only_open ? *options_.only_open : open_modules(nodes, opened, closed);
    runs_ = equal_runs(nodes, out_.open, opened);
  }

  // Of a removed node the path of the graph before, which no card of this one may have.
  const std::string& module_of(const NodeRow& node) const {
    auto it = module_.find(node.id);
    return it == module_.end() ? node.module.str() : it->second;
  }

  // The graph's nodes, and behind the one that stood before it each node that only the graph before has.
  std::vector<const NodeRow*> with_removed() const {
    std::unordered_map<int64_t, std::vector<const NodeRow*>> behind;
    int64_t last = -1;
    std::unordered_map<int64_t, bool> here;
    for (const NodeRow& node : nodes_) here[node.stable] = true;
    if (!removed_.empty())
      for (const NodeRow& node : data_.nodes.of(options_.before)) {
        if (removed_.contains(node.id)) behind[last].push_back(&node);
        if (here.contains(node.stable)) last = node.stable;
      }
    std::vector<const NodeRow*> out = behind[-1];
    for (const NodeRow& node : nodes_) {
      out.push_back(&node);
      if (auto it = behind.find(node.stable); it != behind.end())
        out.insert(out.end(), it->second.begin(), it->second.end());
    }
    return out;
  }

  // The innermost open module's group of a path, made when it is first needed; -1 for the top.
  int module_group(const std::string& path) {
    int parent = -1;
    const std::vector<std::string> all = prefixes(path);
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string& prefix = all[i];
      if (single_.contains(prefix)) break;       // a frame around one node says nothing
      if (unframed_.contains(prefix)) continue;  // what is in it does not stand together
      if (i + 1 < all.size() && held_[prefix] == held_[all[i + 1]]) continue;  // nor one around a frame
      auto [it, added] = group_of_.try_emplace(prefix, static_cast<int>(out_.groups.size()));
      if (added) {
        out_.groups.push_back({SceneGroup::Kind::Module, 0, prefix, QString::fromStdString(prefix), {}, {}});
        out_.layout.groups.push_back({parent});
      }
      parent = it->second;
    }
    return parent;
  }

  int kernel_group(const std::string& label) {
    auto [it, added] = group_of_.try_emplace("\x01" + label, static_cast<int>(out_.groups.size()));
    if (added) {
      KernelFacts facts = kernels_[label];
      QString title = QString::fromStdString(label + (facts.row ? " " + facts.row->name : ""));
      out_.groups.push_back(
          {SceneGroup::Kind::Kernel, facts.row ? facts.row->id : 0, "", title, time_text(facts.ns), {}});
      out_.layout.groups.push_back({-1, 28, 8});
    }
    return it->second;
  }

  void add(const NodeRow& node) {
    if (!is_vertex(node)) return;
    const std::string label = label_of(node);
    int group = -1;
    if (options_.grouping == Grouping::Kernels && label.starts_with("K")) {
      group = kernel_group(label);
    } else if (options_.grouping == Grouping::Modules && node.kind == "op") {
      std::string card = first_closed(module_of(node), out_.open);
      if (auto run = runs_.find(card); run != runs_.end()) {
        layers_[run->second].insert(card);
        card = run->second;
      }
      if (!card.empty()) return add_to_card(card, node);
      group = module_group(module_of(node));
    }
    for (int g = group; g >= 0; g = out_.layout.groups[static_cast<size_t>(g)].parent)
      out_.groups[static_cast<size_t>(g)].members.push_back(node.id);
    out_.item_of[node.id] = static_cast<int>(out_.items.size());
    out_.items.push_back(item(node));
    const double height = options_.compact ? kCompactHeight : kNodeHeight;
    out_.layout.nodes.push_back({0, node.kind == "op" ? height : kPillHeight, 0, group});
  }

  std::string label_of(const NodeRow& node) const { return kernel_label(node, labels_); }

  // With the symbols of its first output's sizes.
  std::string shape_of(const NodeRow& node) const {
    const auto symbolic = symbolic_.find(node.id);
    if (symbolic == symbolic_.end()) return node.shape;
    const size_t open = symbolic->second.find('['), close = symbolic->second.find(']');
    return close == std::string::npos ? node.shape.str() : symbolic->second.substr(open, close - open);
  }

  // What a rewrite changes that is still to come is as it was.
  const NodeRow& as_it_is(const NodeRow& node) const {
    const auto old = before_.find(node.stable);
    return old != before_.end() && options_.pending.contains(old->second->id) ? *old->second : node;
  }

  bool is_to_come(const NodeRow& node) const {
    const auto origins = data_.links.origins(node.id);
    return std::any_of(origins.begin(), origins.end(), [&](Id id) { return options_.pending.contains(id); });
  }

  SceneItem item(const NodeRow& node) {
    SceneItem it;
    const NodeRow& shown = as_it_is(node);
    it.kind = node.kind == "op" ? SceneItem::Kind::Node : SceneItem::Kind::Input;
    it.id = node.id;
    it.members = {node.id};
    it.name = QString::fromStdString(shown.name);
    it.line = kit::typeText(data_, shown, symbolic_);
    it.family = node.kind == "op" ? kit::familyOf(shown.family) : kit::NodeFamily::None;
    if (options_.compact) {
      it.line = operation(node);
      std::string space = shape_of(node);  // "[2, 4]" or "2,4"
      std::erase_if(space, [](char c) { return c == ' ' || c == '[' || c == ']'; });
      it.right = kit::spaceText(space);
    } else if (const std::string label = label_of(node); !label.empty() && label[0] != 'K') {
      it.right = time_text(kernels_[label].ns);
    } else if (const auto later = later_ns_.find(node.id); later != later_ns_.end()) {
      it.right = time_text(later->second);
    }
    const auto old = before_.find(node.stable);
    if (removed_.contains(node.id)) {
      it.badge = options_.pending.contains(node.id) ? Badge::None : Badge::Removed;
    } else if (options_.before && !(old != before_.end() && options_.pending.contains(old->second->id))) {
      if (old == before_.end()) {
        it.badge = is_to_come(node) ? Badge::None : Badge::Added;
      } else if (old->second->op != node.op || old->second->type != node.type ||
                 old->second->detail != node.detail) {
        it.badge = Badge::Changed;
        it.old = QString::fromStdString(old->second->op + " ") + data_.type(old->second->type);
      }
    }
    if (auto row = crossings_.find(node.stable); row != crossings_.end() && it.badge == Badge::None) {
      it.badge = row->second->kind == "saved" ? Badge::Saved : Badge::Again;
      it.note = QString::fromStdString(row->second->kind + ": " + row->second->reason);
    }
    return it;
  }

  // "add" of aten.add.Tensor; nothing when the name says it already.
  static QString operation(const NodeRow& node) {
    const QString op = QString::fromStdString(node.op);
    const QString base = op.startsWith(QStringLiteral("aten.")) ? op.section('.', 1, 1) : op;
    QString name = QString::fromStdString(node.name);
    const QString number = name.section('_', -1);
    if (bool digits = false; (number.toInt(&digits), digits)) name.chop(number.size() + 1);
    return name == base || '_' + name == base ? QString() : base;
  }

  void add_to_card(const std::string& path, const NodeRow& node) {
    const bool gone = removed_.contains(node.id);
    if (gone && !card_of_.contains(path)) return;  // of a module that is gone as a whole
    auto [it, added] = card_of_.try_emplace(path, static_cast<int>(out_.items.size()));
    if (added) {
      SceneItem card;
      card.kind = SceneItem::Kind::Module;
      card.id = node.id;
      card.path = path + (layers_.contains(path) ? kRunMark : "");
      out_.items.push_back(card);
      auto slash = path.rfind('.');
      out_.layout.nodes.push_back(
          {0, kCardHeight, 0, slash == std::string::npos ? -1 : module_group(path.substr(0, slash))});
    }
    SceneItem& card = out_.items[static_cast<size_t>(it->second)];
    const Badge badge = item(node).badge;
    if (gone || badge == Badge::Added || badge == Badge::Changed) card.badge = Badge::Changed;
    if (gone) return;
    card.members.push_back(node.id);
    out_.item_of[node.id] = it->second;
  }

  void add_outputs() {
    for (const NodeRow& node : nodes_) {
      if (node.kind != "output") continue;
      SceneItem it;
      it.kind = SceneItem::Kind::Output;
      it.id = node.id;
      it.members = {node.id};
      it.name = QStringLiteral("output");
      out_.item_of[node.id] = static_cast<int>(out_.items.size());
      out_.items.push_back(it);
      out_.layout.nodes.push_back({0, kPillHeight, 0, -1});
    }
  }

  void add_edges() {
    std::map<std::pair<int, int>, int> seen;
    std::vector<EdgeRow> edges(data_.edges.of(graph_).begin(), data_.edges.of(graph_).end());
    add_removed_edges(edges);
    for (const EdgeRow& edge : edges) {
      auto from = row_.find(edge.src), to = row_.find(edge.dst);
      auto target = out_.item_of.find(edge.dst);
      if (from == row_.end() || to == row_.end() || target == out_.item_of.end()) continue;
      SceneItem& consumer = out_.items[static_cast<size_t>(target->second)];
      if (is_weight(*from->second)) {
        if (consumer.kind == SceneItem::Kind::Node && options_.compact)
          consumer.line +=
              (consumer.line.isEmpty() ? QString() : QStringLiteral(" ")) + short_name(*from->second);
        else if (consumer.kind == SceneItem::Kind::Node)
          consumer.pills.push_back({edge.src, short_name(*from->second), is_saved(*from->second)});
        out_.item_of.try_emplace(edge.src, target->second);
        continue;
      }
      auto source = out_.item_of.find(edge.src);
      if (source == out_.item_of.end() || source->second == target->second) continue;
      auto [it, added] =
          seen.try_emplace({source->second, target->second}, static_cast<int>(out_.edges.size()));
      if (added) {
        out_.edges.push_back(scene_edge(edge, *from->second, *to->second));
        out_.layout.edges.push_back({source->second, target->second});
      } else {
        out_.edges[static_cast<size_t>(it->second)].bytes += edge.bytes;
      }
    }
  }

  // What nearly everything reads, and the output that takes nearly everything, as of backward: lanes for all
  // of them would be wider than the graph.
  void shorten_edges() {
    std::map<int, int> ends;
    for (const kit::LayoutEdge& edge : out_.layout.edges) ++ends[edge.from], ++ends[edge.to];
    auto crowded = [&](int item) {
      const SceneItem::Kind kind = out_.items[static_cast<size_t>(item)].kind;
      return (kind == SceneItem::Kind::Input || kind == SceneItem::Kind::Output) && ends[item] > kMostLanes;
    };
    for (kit::LayoutEdge& edge : out_.layout.edges) edge.stub = crowded(edge.from) || crowded(edge.to);
  }

  // Edges of the graph before at whose ends a removed node stands.
  void add_removed_edges(std::vector<EdgeRow>& edges) {
    if (removed_.empty()) return;
    std::unordered_map<int64_t, Id> now;
    for (const NodeRow& node : nodes_) now[node.stable] = node.id;
    for (const auto& [id, node] : removed_) row_[id] = node;
    auto end = [&](Id id) -> Id {
      if (removed_.contains(id)) return id;
      const NodeRow* node = data_.nodes.find(id);
      auto it = node ? now.find(node->stable) : now.end();
      return it == now.end() ? 0 : it->second;
    };
    for (EdgeRow edge : data_.edges.of(options_.before)) {
      if (!removed_.contains(edge.src) && !removed_.contains(edge.dst)) continue;
      edge.src = end(edge.src);
      edge.dst = end(edge.dst);
      if (edge.src && edge.dst) edges.push_back(edge);
    }
  }

  SceneEdge scene_edge(const EdgeRow& edge, const NodeRow& from, const NodeRow& to) const {
    SceneEdge out{edge.src, edge.dst, edge.bytes ? edge.bytes : from.bytes, false, 0, false};
    out.inside_kernel =
        !from.group_label.empty() && from.group_label[0] == 'K' && from.group_label == to.group_label;
    if (auto d = decisions_.find({from.stable, to.stable}); d != decisions_.end()) {
      out.decision = d->second->id;
      out.fused = d->second->verdict == "fused";
    }
    return out;
  }

  bool is_saved(const NodeRow& node) const {
    auto row = left_.find(node.stable);
    return row != left_.end() && row->second->kind == "saved";
  }

  // An input or weight that forward hands on is called as it is there.
  const NodeRow& as_in_forward(const NodeRow& node) const {
    const auto left = left_.find(node.stable);
    const bool there =
        left != left_.end() && (left->second->kind == "input" || left->second->kind == "viewed");
    const NodeRow* before = there ? data_.nodes.find(left->second->node) : nullptr;
    return before ? *before : node;
  }

  // "fc.weight" of "L['self'].encoder.fc.weight": the last two parts; "weight" of "L['self'].weight", whose
  // root says nothing.
  QString short_name(const NodeRow& of) const {
    const NodeRow& node = as_in_forward(of);
    QString text = node.detail.empty() || node.detail.find('.') == std::string::npos
                       ? QString::fromStdString(node.name)
                       : kit::sourceText(node.detail);
    if (text.endsWith(QStringLiteral("()"))) text.chop(2);  // of a weak reference
    QStringList parts = text.split('.');
    if (parts.size() == 2 && parts[0].endsWith(QStringLiteral("']")) && parts[0].indexOf('[') == 1)
      text = parts[1];
    if (parts.size() > 2) text = parts.mid(parts.size() - 2).join('.');
    // Of a path through containers the end says which one it is.
    return text.size() > kMostName ? QStringLiteral("…") + text.right(kMostName - 1) : text;
  }

  void finish_cards() {
    CardTexts texts({nodes_, row_, held_, layers_, classes_, loose_, labels_, kernels_, divided_});
    std::set<kit::NodeFamily> present;
    for (SceneItem& it : out_.items) {
      if (it.kind == SceneItem::Kind::Node) present.insert(it.family);
      if (it.kind != SceneItem::Kind::Module) continue;
      texts.write(it);
      for (Id id : it.members) present.insert(kit::familyOf(row_[id]->family));
    }
    present.erase(kit::NodeFamily::None);
    out_.families.assign(present.begin(), present.end());
  }

  const kit::SessionData& data_;
  const Id graph_;
  const SceneOptions& options_;
  std::span<const NodeRow> nodes_;
  const kit::NodeTypes symbolic_;
  Scene out_;
  std::set<std::string> single_, unframed_;
  bool decomposed_ = false;                              // operators of the program are several nodes here
  LooseLines loose_;                                     // what no module holds, by line
  std::map<Id, std::string> module_;                     // node -> path
  std::map<std::string, size_t> held_;                   // path -> nodes in it
  std::map<std::string, std::string> runs_;              // card -> first of the equal ones
  std::map<std::string, std::set<std::string>> layers_;  // first of equal cards -> all of them
  std::map<std::string, QString> classes_;               // of modules
  std::unordered_map<int64_t, std::string> labels_;      // stable number -> kernel
  std::map<std::string, std::vector<Id>> divided_;       // kernel -> nodes here that its own were made of
  std::unordered_map<Id, double> later_ns_;              // of calls that were made of a node here
  std::map<std::string, int> group_of_, card_of_;
  std::map<std::string, KernelFacts> kernels_;
  std::map<std::pair<int64_t, int64_t>, const DecisionRow*> decisions_;  // by stable numbers
  std::unordered_map<int64_t, const CrossingRow*> crossings_, left_;     // by stable number
  std::set<Id> beside_;                                                  // inputs drawn as weights are
  std::unordered_map<Id, const NodeRow*> row_, removed_;
  std::unordered_map<int64_t, const NodeRow*> before_;
};

}  // namespace

Scene build_scene(const kit::SessionData& data, Id graph, const SceneOptions& options) {
  return SceneBuilder(data, graph, options).build();
}

QString time_text(double ns) {
  return ns > 0 ? kit::timeText(ns) : QString();
}

}  // namespace vitrine::views
