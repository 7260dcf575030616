#include "app/shell/run/reproducers.h"

#include <QFileInfo>

namespace vitrine::app {

namespace {

// "reproducer: /path" in a message's detail.
QString pathIn(const std::string& detail) {
  const QString mark = QStringLiteral("reproducer: "), text = QString::fromStdString(detail);
  const qsizetype at = text.indexOf(mark);
  const QString path = at < 0 ? QString() : text.mid(at + mark.size()).section('\n', 0, 0).trimmed();
  return QFileInfo(path).isFile() ? path : QString();
}

}  // namespace

QStringList reproducers(const kit::SessionData* session) {
  QStringList out;
  if (!session || !session->trusted) return out;  // a stranger's may name any file of the reader's
  for (const session::MessageRow& row : session->messages)
    if (const QString path = pathIn(row.detail); !path.isEmpty()) out.prepend(path);
  return out;
}

QString reproducerOf(const kit::SessionData* session, Id id) {
  if (session && session->trusted && id)
    for (const session::MessageRow& row : session->messages)
      if (row.id == id || row.entity == id)
        if (const QString path = pathIn(row.detail); !path.isEmpty()) return path;
  return reproducers(session).value(0);
}

}  // namespace vitrine::app
