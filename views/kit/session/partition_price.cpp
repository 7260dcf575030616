#include "views/kit/session/partition_price.h"

#include <QStringList>
#include <algorithm>
#include <cmath>

#include "core/session/roofs.h"
#include "views/kit/session/roofline.h"
#include "views/kit/text/numbers.h"

namespace vitrine::kit {

using namespace session;

namespace {

constexpr size_t kMostOperators = 10'000;  // that are looked at for one value

bool in_loops(const NodeRow& node) {
  return node.family == "pointwise" || node.family == "reduction";
}

bool is_view(const NodeRow& node) {
  return node.family == "view";
}

}  // namespace

PartitionPrice::PartitionPrice(const SessionData& data, Id forward) : data_(data), forward_(forward) {
  for (const CrossingRow& row : data.crossings.of(forward)) {
    crossings_.try_emplace(row.name, &row);
    bytes_[row.name] += static_cast<double>(row.bytes);
  }
  if (const GraphRow* joint = data.lastGraph(forward, "joint"))
    for (const EdgeRow& edge : data.edges.of(joint->id)) operands_[edge.dst].push_back(edge.src);
  copy_ = rooflineOf(data, forward).roofs.copy().rate;
}

const CrossingRow* PartitionPrice::crossing(const std::string& name) const {
  const auto found = crossings_.find(name);
  return found == crossings_.end() ? nullptr : found->second;
}

double PartitionPrice::bytes(const std::string& name) const {
  const auto found = bytes_.find(name);
  return found == bytes_.end() ? 0 : found->second;
}

// Whether backward has it without computing it.
bool PartitionPrice::is_kept(const NodeRow& node, const Pinned& pins) const {
  if (node.kind != "op") return true;
  if (const auto pin = pins.find(node.name); pin != pins.end()) return pin->second == PinAs::Saved;
  const CrossingRow* row = crossing(node.name);
  return row && row->kind != "recomputed";
}

// Of the launch of forward that does an operator's work; 0: it was not timed.
double PartitionPrice::library_ns(Id node) const {
  std::vector<Id> open{node};
  std::set<Id> seen{node};
  double ns = 0;
  for (size_t i = 0; i < open.size(); ++i)
    for (const Id next : data_.links.derived(open[i])) {
      if (kind_of(next) == Kind::Decision || !seen.insert(next).second) continue;
      open.push_back(next);
      const LaunchRow* launch = data_.launches.find(next);
      if (launch && launch->compilation == forward_ && launch->kind != "view")
        ns = std::max(ns, launch->median_ns);
    }
  return ns;
}

AgainPrice PartitionPrice::again(const std::string& name, const Pinned& pins) const {
  AgainPrice out;
  const CrossingRow* row = crossing(name);
  const NodeRow* value = row ? data_.nodes.find(row->node) : nullptr;
  if (!value || value->kind != "op") return out;
  std::vector<const NodeRow*> open{value};
  std::set<Id> seen{value->id}, read;
  double ns = 0;
  for (size_t i = 0; i < open.size() && i < kMostOperators; ++i) {
    const NodeRow& node = *open[i];
    if (!is_view(node)) ++out.operators;
    if (!is_view(node) && !in_loops(node)) {
      ++out.library_calls;
      const double own = library_ns(node.id);
      if (own <= 0)
        out.why_not = QStringLiteral("the launch of %1 was not timed: `vitrine run FILE --train` times them")
                          .arg(QString::fromStdString(node.name));
      ns += own;
    }
    const auto operands = operands_.find(node.id);
    if (operands == operands_.end()) continue;
    for (const Id id : operands->second) {
      const NodeRow* from = data_.nodes.find(id);
      if (!from || !seen.insert(id).second) continue;
      if (!is_kept(*from, pins))
        open.push_back(from);
      else if (in_loops(node))
        out.bytes_read += static_cast<double>(from->bytes);
    }
  }
  if (out.bytes_read > 0 && copy_ <= 0)
    out.why_not = QStringLiteral(
        "how fast the machine copies was not measured: `vitrine run FILE` does, unless "
        "it is given --repeats 0");
  if (copy_ > 0) ns += out.bytes_read / copy_ * 1e9;
  if (out.why_not.isEmpty()) out.ns = ns;
  return out;
}

QString PartitionPrice::whyNotPinned(const std::string& name, PinAs as) const {
  const CrossingRow* row = crossing(name);
  if (!row) return QStringLiteral("backward does not read it");
  if (row->kind == "input" || row->kind == "viewed")
    return QStringLiteral("it is an input, which is kept anyway");
  if (row->kind == "result") return QStringLiteral("it is a result, which is kept anyway");
  const NodeRow* node = data_.nodes.find(row->node);
  if (node && is_view(*node)) return QStringLiteral("it is a view, and has no memory of its own");
  if (node && node->family == "random" && as == PinAs::Recomputed)
    return QStringLiteral("it draws random numbers");
  const bool same = (row->kind == "saved") == (as == PinAs::Saved);
  return same ? QStringLiteral("it is %1 already").arg(QString::fromStdString(row->kind)) : QString();
}

WhatIf PartitionPrice::of(const Pinned& pins) const {
  WhatIf out;
  const auto rows = data_.partitions.of(forward_);
  out.bytes = out.bytes_before = rows.empty() ? 0 : static_cast<double>(rows.front().saved_bytes);
  for (const auto& [name, as] : pins) {
    const CrossingRow* row = crossing(name);
    if (!row || !whyNotPinned(name, as).isEmpty()) continue;
    const bool drop = as == PinAs::Recomputed;
    out.bytes += (drop ? -1 : 1) * bytes(name);
    Pinned others = pins;
    if (!drop) others.erase(name);  // what it takes today
    const AgainPrice price = again(name, others);
    if (price.ns < 0)
      out.time_known = false, out.unknown << price.why_not;
    else
      out.ns += (drop ? 1 : -1) * price.ns;
  }
  return out;
}

QString whatIfText(const WhatIf& w) {
  const double by = w.bytes - w.bytes_before;
  QString out =
      signedText(bytesText(std::abs(by)), by) + QStringLiteral(" (%1 kept)").arg(bytesText(w.bytes));
  out += w.time_known ? QStringLiteral(", %1 a step").arg(signedText(timeText(std::abs(w.ns)), w.ns))
                      : QStringLiteral(", time not known: ") + w.unknown.join(QStringLiteral("; "));
  return out;
}

}  // namespace vitrine::kit
