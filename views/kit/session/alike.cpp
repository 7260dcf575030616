#include "views/kit/session/alike.h"

#include <QRegularExpression>
#include <set>

#include "views/kit/session/session_data.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::kit {

QString unnumbered(QString text) {
  static const QRegularExpression number(QStringLiteral("(?<=[a-z])_\\d+\\b"));
  static const QRegularExpression layer(QStringLiteral("(?<=[a-z])_\\d+(?=_[a-z])"));
  return text.remove(number).replace(layer, QStringLiteral("_*"));
}

QString anyLayer(const QString& module) {
  QStringList parts = module.split('.');
  for (QString& part : parts) {
    bool index = false;
    part.toUInt(&index);
    if (index) part = QStringLiteral("*");
  }
  return parts.join('.');
}

QString modulesOf(const SessionData& data, Id made) {
  std::set<QString> modules;
  for (const Id id : data.links.origins(made))
    if (const session::NodeRow* node = data.nodes.find(id); node && !node->module.empty())
      modules.insert(anyLayer(s(node->module)));
  return QStringList(modules.begin(), modules.end()).join(QStringLiteral(", "));
}

QStringList equalBy(const SessionData& data, const session::KernelRow& k) {
  QStringList out{s(k.name), s(k.kind), s(k.family), s(k.space), s(k.error), modulesOf(data, k.id)};
  for (const int64_t each : {k.compilation, k.source.row, k.bytes, k.flops, k.spills})
    out << QString::number(each);
  if (const auto gpu = data.gpu_kernels.find(k.id); gpu != data.gpu_kernels.end())
    for (const int64_t each : {gpu->second.registers, gpu->second.spill_bytes, gpu->second.shared_bytes,
                               gpu->second.threads, gpu->second.blocks})
      out << QString::number(each);
  return out;
}

QString timesText(const QString& text, size_t count) {
  return count > 1 ? text + QStringLiteral(" × %1").arg(count) : text;
}

}  // namespace vitrine::kit
