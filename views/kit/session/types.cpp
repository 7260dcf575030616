#include "views/kit/session/types.h"

#include <QRegularExpression>

namespace vitrine::kit {

QString withoutStrides(const QString& type) {
  static const QRegularExpression strides(QStringLiteral("\\{[^}]*\\}(@[^,\\s]*)?"));
  return QString(type).remove(strides);
}

}  // namespace vitrine::kit
