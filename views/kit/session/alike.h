// Equal things of a session: what each of twelve equal layers has stands once, with its count. What they are
// compared by, and the words for it.
#pragma once

#include <QString>
#include <QStringList>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "core/session/rows.h"

namespace vitrine::kit {

struct SessionData;

// "addmm_9 must run between them" is said as "addmm must run between them" of all layers, and "layers_9_bias"
// as "layers_*_bias".
QString unnumbered(QString text);

// "encoder.layers.*.up" of each layer of a list; the number in "conv12" stays.
QString anyLayer(const QString& module);
// Of what several operators became: "layers.*.down, layers.*.norm"; "" where none of them is in a module.
QString modulesOf(const SessionData& data, Id made);

// Kernels of one text are equal but for their names, library calls that compute the same; both where they are
// of the same modules but for the layer.
QStringList equalBy(const SessionData& data, const session::KernelRow& kernel);

// "gelu × 48"; of one, as it is.
QString timesText(const QString& text, size_t count);

// Those with the same key together, in the order in which the first of each is met.
template <class T, class KeyOf>
std::vector<std::vector<T>> groupedBy(const std::vector<T>& all, KeyOf key_of) {
  std::vector<std::vector<T>> out;
  std::map<QStringList, size_t> known;
  for (const T& each : all) {
    const auto [it, added] = known.try_emplace(key_of(each), out.size());
    if (added) out.emplace_back();
    out[it->second].push_back(each);
  }
  return out;
}

}  // namespace vitrine::kit
