#include "app/shell/run/watched_files.h"

#include <QFileInfo>
#include <QSet>

namespace vitrine::app {

namespace {
constexpr int kSettleMs = 300, kPollMs = 2000;
}

WatchedFiles::WatchedFiles(QObject* parent) : QObject(parent) {
  settle_.setSingleShot(true);
  settle_.setInterval(kSettleMs);
  poll_.setInterval(kPollMs);
  connect(&settle_, &QTimer::timeout, this, &WatchedFiles::look);
  connect(&poll_, &QTimer::timeout, this, [this] {
    if (!settle_.isActive()) look();
  });
  const auto later = [this] { settle_.start(); };
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, later);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, later);
}

WatchedFiles::Stamp WatchedFiles::stampOf(const QString& file) {
  const QFileInfo info(file);
  return info.exists() ? Stamp(info.lastModified().toMSecsSinceEpoch(), info.size()) : Stamp(0, -1);
}

void WatchedFiles::set(const QStringList& files) {
  if (const QStringList old = watcher_.files() + watcher_.directories(); !old.isEmpty())
    watcher_.removePaths(old);
  stamps_.clear();
  settle_.stop();
  poll_.stop();
  if (files.isEmpty()) return;
  QSet<QString> folders;
  for (const QString& file : files) {
    stamps_.insert(file, stampOf(file));
    folders.insert(QFileInfo(file).absolutePath());
  }
  watcher_.addPaths(stamps_.keys() + QStringList(folders.values()));
  poll_.start();
}

void WatchedFiles::look() {
  QStringList out;
  for (auto it = stamps_.begin(); it != stamps_.end(); ++it) {
    const Stamp now = stampOf(it.key());
    if (now == it.value() || now.second < 0) continue;  // one that is away is about to come back
    it.value() = now;
    out << it.key();
    if (!watcher_.files().contains(it.key())) watcher_.addPath(it.key());  // it was replaced
  }
  if (!out.isEmpty()) Q_EMIT changed(out);
}

}  // namespace vitrine::app
