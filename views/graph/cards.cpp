#include "views/graph/cards.h"

#include <algorithm>

#include "views/graph/modules.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace session;

std::string kernel_label(const NodeRow& node, const std::unordered_map<int64_t, std::string>& labels) {
  if (!node.group_label.empty()) return node.group_label;
  auto later = labels.find(node.stable);
  return later == labels.end() ? std::string() : later->second;
}

void CardTexts::write(SceneItem& card) {
  card.id = main_node(card);
  name_card(card);
  card.right = time_text(time_of(card));
}

// What a click on a card is about: the node that does most of the work, else the first that is no view.
Id CardTexts::main_node(const SceneItem& it) const {
  const NodeRow* main = nullptr;
  auto rank = [](const NodeRow& row) {
    return std::pair(row.flops, kit::familyOf(row.family) != kit::NodeFamily::View);
  };
  for (Id id : it.members)
    if (const NodeRow* row = facts_.row.at(id); row && (!main || rank(*row) > rank(*main))) main = row;
  return main ? main->id : it.id;
}

// "layer 1–11", "BertLayer", "× 11, 60 nodes each".
void CardTexts::name_card(SceneItem& it) const {
  const std::string path = it.path.substr(0, it.path.find(kRunMark));
  const QString own = QString::fromStdString(path);
  const auto known = facts_.classes.find(path);
  it.what = known == facts_.classes.end()
                ? facts_.loose.names.contains(path) ? facts_.loose.names.at(path) : QString()
                : known->second;
  it.name = own.section('.', -1);
  bool numbered = false;
  const int first = it.name.toInt(&numbered);
  if (numbered && own.contains('.')) it.name = own.section('.', -2, -2) + ' ' + it.name;
  auto run = facts_.layers.find(path);
  const auto nodes = static_cast<int>(it.members.size());
  if (run == facts_.layers.end()) {
    it.line = kit::countText(nodes, "node");
    if (const int layers = layers_in(path); layers > 1) {
      it.line = QStringLiteral("× %1, ").arg(layers) + it.line;
      if (auto layer = facts_.classes.find(path + ".0"); layer != facts_.classes.end())
        it.what = layer->second;
    }
    return;
  }
  const int layers = static_cast<int>(run->second.size());
  it.name += QStringLiteral("–%1").arg(first + layers - 1);
  it.line = QStringLiteral("× %1, %2 nodes each").arg(layers).arg(nodes / std::max(1, layers));
}

// How many children a module has when all of them are numbered and alike, else 0.
int CardTexts::layers_in(const std::string& path) const {
  int out = 0;
  const auto first = facts_.held.find(path + ".0");
  const auto kind = facts_.classes.find(path + ".0");
  if (first == facts_.held.end()) return 0;
  for (auto it = facts_.held.lower_bound(path + ".");
       it != facts_.held.end() && it->first.starts_with(path + "."); ++it) {
    const std::string child = it->first.substr(path.size() + 1);
    if (child.find('.') != std::string::npos) continue;
    const auto its = facts_.classes.find(it->first);
    const bool alike = (its == facts_.classes.end()) == (kind == facts_.classes.end()) &&
                       (its == facts_.classes.end() || its->second == kind->second);
    if (child.find_first_not_of("0123456789") != std::string::npos || it->second != first->second || !alike)
      return 0;
    ++out;
  }
  return out;
}

// Of the kernels that belong to the card: those whose own work, not what was fused to it, stands in it.
double CardTexts::time_of(const SceneItem& it) {
  if (facts_.labels.empty()) return 0;
  if (owner_.empty()) find_owners();
  const std::set<Id> inside(it.members.begin(), it.members.end());
  double ns = 0;
  for (const auto& [label, nodes] : owner_)
    if (std::all_of(nodes.begin(), nodes.end(), [&](Id id) { return inside.contains(id); }))
      if (const auto kernel = facts_.kernels.find(label); kernel != facts_.kernels.end())
        ns += kernel->second.ns;
  return ns;
}

// By kernel its nodes of the kernel's own family, of a fused product the product; or else all of them.
void CardTexts::find_owners() {
  std::map<std::string, std::vector<Id>> all;
  for (const NodeRow& node : facts_.nodes) {
    const std::string label = kernel_label(node, facts_.labels);
    if (node.kind != "op" || label.empty()) continue;
    all[label].push_back(node.id);
    const auto kernel = facts_.kernels.find(label);
    if (kernel != facts_.kernels.end() && kernel->second.row && kernel->second.row->family == node.family)
      owner_[label].push_back(node.id);
  }
  for (const auto& [label, nodes] : all) owner_.try_emplace(label, nodes);
  for (const auto& [label, nodes] : facts_.divided) owner_.try_emplace(label, nodes);
}

}  // namespace vitrine::views
