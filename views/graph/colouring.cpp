#include "views/graph/colouring.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "views/graph/rows.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace session;

namespace {

constexpr int kMostKeys = 8;  // names in the key

class Colourer {
 public:
  Colourer(Scene& scene, const kit::SessionData& data, Id graph) : scene_(scene), data_(data) {
    const GraphRow* row = data.graphs.find(graph);
    if (!row) return;
    labels_ = kernel_labels(data, row->compilation);
    std::map<Id, double> ns;
    for (const LaunchRow& launch : data.launches.of(row->compilation)) ns[launch.kernel] += launch.median_ns;
    for (const NumericsRow& numerics : data.numerics.of(row->compilation))
      if (const NodeRow* node = data.nodes.find(numerics.node)) errors_.emplace(node->stable, &numerics);
    for (const KernelRow& kernel : data.kernels.of(row->compilation)) ns_[kernel.label] = ns[kernel.id];
  }

  void by_amount(bool time) {
    double most = 0;
    std::vector<double> values;
    for (const SceneItem& item : scene_.items) {
      values.push_back(time ? ns_of(item) : bytes_of(item));
      most = std::max(most, values.back());
    }
    if (most <= 0) return;
    auto text = [&](double value) { return time ? kit::timeText(value) : kit::bytesText(value); };
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] <= 0 || !is_work(scene_.items[i])) continue;
      const int step = std::min(4, 1 + static_cast<int>(values[i] / most * 3.999));
      scene_.items[i].shade = kit::theme().heat(step);
      scene_.items[i].right = text(values[i]);
    }
    for (int step = 1; step <= 4; ++step)
      scene_.keys.emplace_back(kit::theme().heat(step), step == 1   ? text(most / 4)
                                                        : step == 4 ? text(most)
                                                                    : QString());
  }

  void by_name(bool kernel) {
    std::map<QString, int> order;
    for (SceneItem& item : scene_.items) {
      const QString name = kernel ? kernel_of(item) : dtype_of(item);
      if (name.isEmpty() || !is_work(item)) continue;
      const int index = order.try_emplace(name, static_cast<int>(order.size())).first->second;
      item.shade = kit::theme().link(index);
      if (kernel) item.right = name;
      if (index == static_cast<int>(scene_.keys.size()) && index < kMostKeys)
        scene_.keys.emplace_back(item.shade, name);
    }
  }

  // By the largest distance from eager, a step a power of ten or more; what differs has a colour of its own.
  void by_error() {
    struct Found {
      double error = -1;
      bool differs = false;
    };
    if (errors_.empty()) return;
    std::vector<Found> found(scene_.items.size());
    double most = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      if (!is_work(scene_.items[i])) continue;
      scene_.items[i].right.clear();  // a time beside errors would be read as one
      for (Id id : scene_.items[i].members) {
        const NodeRow* node = data_.nodes.find(id);
        const auto known = node ? errors_.find(node->stable) : errors_.end();
        if (known == errors_.end()) continue;
        found[i].error = std::max(found[i].error, known->second->max_abs);
        found[i].differs = found[i].differs || known->second->verdict == "differs";
      }
      if (std::isfinite(found[i].error)) most = std::max(most, found[i].error);
    }
    const auto text = [](double error) { return QString::number(error, 'g', 2).replace('-', QChar(0x2212)); };
    const QColor wrong = kit::Theme::mix(kit::theme().node, kit::theme().err, 0.38);
    bool any_wrong = false;
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].error < 0 && !found[i].differs) continue;
      const double below = found[i].error > 0 ? std::log10(most / found[i].error) : 4;
      scene_.items[i].shade =
          found[i].differs ? wrong : kit::theme().heat(std::clamp(4 - static_cast<int>(below), 0, 4));
      scene_.items[i].right = text(found[i].error);
      any_wrong = any_wrong || found[i].differs;
    }
    if (most <= 0 && !any_wrong) return;
    for (int step = 1; step <= 4; ++step)
      scene_.keys.emplace_back(kit::theme().heat(step), step == 1   ? text(most / 1000)
                                                        : step == 4 ? text(most)
                                                                    : QString());
    if (any_wrong) scene_.keys.emplace_back(wrong, QStringLiteral("differs"));
  }

 private:
  static bool is_work(const SceneItem& item) {
    return item.kind == SceneItem::Kind::Node || item.kind == SceneItem::Kind::Module;
  }
  std::string label(Id id) const {
    const NodeRow* node = data_.nodes.find(id);
    if (!node) return {};
    if (!node->group_label.empty()) return node->group_label;
    auto it = labels_.find(node->stable);
    return it == labels_.end() ? std::string() : it->second;
  }
  // Of all kernels that an item has a part in, each once.
  double ns_of(const SceneItem& item) const {
    std::set<std::string> used;
    for (Id id : item.members) used.insert(label(id));
    double ns = 0;
    for (const std::string& each : used)
      if (auto it = ns_.find(each); it != ns_.end()) ns += it->second;
    return ns;
  }
  double bytes_of(const SceneItem& item) const {
    double bytes = 0;
    for (Id id : item.members)
      if (const NodeRow* node = data_.nodes.find(id)) bytes += static_cast<double>(node->bytes);
    return bytes;
  }
  QString kernel_of(const SceneItem& item) const {
    const std::string first = item.members.empty() ? std::string() : label(item.members[0]);
    for (Id id : item.members)
      if (label(id) != first) return {};
    return QString::fromStdString(first);
  }
  QString dtype_of(const SceneItem& item) const {
    QString out;
    for (Id id : item.members) {
      const NodeRow* node = data_.nodes.find(id);
      const QString own =
          node ? QString::fromStdString(node->type.substr(0, node->type.find('['))) : QString();
      if (!out.isEmpty() && own != out) return {};
      out = own;
    }
    return out;
  }

  Scene& scene_;
  const kit::SessionData& data_;
  std::unordered_map<int64_t, std::string> labels_;
  std::map<std::string, double> ns_;
  std::unordered_map<int64_t, const NumericsRow*> errors_;  // by stable number
};

}  // namespace

QStringList colour_names() {
  return {QStringLiteral("family"), QStringLiteral("time"),  QStringLiteral("memory"),
          QStringLiteral("kernel"), QStringLiteral("dtype"), QStringLiteral("error")};
}

void colour_scene(Scene& scene, const kit::SessionData& data, Id graph, Colour colour) {
  Colourer work(scene, data, graph);
  if (colour == Colour::Time || colour == Colour::Memory) work.by_amount(colour == Colour::Time);
  if (colour == Colour::Error) work.by_error();
  if (colour == Colour::Kernel || colour == Colour::Dtype) work.by_name(colour == Colour::Kernel);
}

}  // namespace vitrine::views
