// Tells when one of some files has changed on the disk, once a burst of changes is over. Editors write beside
// a file and rename: the file is looked at again by its path.
#pragma once

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QMap>
#include <QObject>
#include <QStringList>
#include <QTimer>

namespace vitrine::app {

class WatchedFiles : public QObject {
  Q_OBJECT
 public:
  explicit WatchedFiles(QObject* parent = nullptr);
  void set(const QStringList& files);  // as they are now; {} = none
  QStringList files() const { return stamps_.keys(); }

 Q_SIGNALS:
  void changed(const QStringList& files);

 private:
  using Stamp = QPair<qint64, qint64>;  // time of the last change, size
  static Stamp stampOf(const QString& file);
  void look();
  QFileSystemWatcher watcher_;
  QTimer settle_, poll_;  // poll: folders of a network tell nothing
  QMap<QString, Stamp> stamps_;
};

}  // namespace vitrine::app
