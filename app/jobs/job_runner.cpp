#include "app/jobs/job_runner.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <exception>

namespace vitrine::app {

int processorCount() {
  return QThread::idealThreadCount();
}

JobRunner::JobRunner(QObject* parent, Mode mode) : QObject(parent), mode_(mode) {
  pool_.setMaxThreadCount(std::max(2, processorCount() / 2));
}

JobRunner::~JobRunner() {
  for (auto& [key, now] : current_) now.cancel.request();
  pool_.waitForDone();
}

void JobRunner::start(QObject* owner, const QString& tag, std::function<void(const kit::Cancel&)> job,
                      std::function<void()> done) {
  const Key key{owner, tag};
  Current& now = current_[key];
  now.cancel.request();  // the one before: does not start, or its result is stale
  now = Current{++last_, kit::Cancel()};
  ++pending_;
  auto work = [this, key, number = now.number, cancel = now.cancel, guard = QPointer<QObject>(owner),
               job = std::move(job), done = std::move(done)]() mutable {
    QString error;
    if (!cancel.requested()) {
      try {
        job(cancel);
      } catch (const std::exception& thrown) {
        error = QString::fromUtf8(thrown.what());
      }
    }
    job = nullptr;
    QMetaObject::invokeMethod(
        this, [=, this] { deliver(key, number, guard, done, error); }, Qt::QueuedConnection);
  };
  if (mode_ == Mode::Inline)
    work();
  else
    pool_.start(std::move(work));
}

void JobRunner::deliver(const Key& key, quint64 number, const QPointer<QObject>& owner,
                        const std::function<void()>& done, const QString& error) {
  const auto it = current_.find(key);
  const bool wanted = it != current_.end() && it->second.number == number && !it->second.cancel.requested();
  if (wanted) current_.erase(it);
  if (wanted && !error.isEmpty()) Q_EMIT failed(key.second, error);
  if (wanted && error.isEmpty() && owner) done();
  if (--pending_ == 0) Q_EMIT becameIdle();
}

bool JobRunner::running(QObject* owner, const QString& tag) const {
  const auto it = current_.find(Key{owner, tag});
  return it != current_.end() && !it->second.cancel.requested();
}

void JobRunner::cancel(const QString& tag, QObject* owner) {
  for (auto& [key, now] : current_)
    if (key.second == tag && (!owner || key.first == owner)) now.cancel.request();
}

bool JobRunner::settle(int timeout_ms) {
  QElapsedTimer clock;
  clock.start();
  int quiet = 0;  // a delivery may post further events, so several empty turns are asked for
  while (quiet < 5) {
    if (clock.elapsed() > timeout_ms) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    quiet = idle() ? quiet + 1 : 0;
    if (!idle()) QThread::msleep(1);
  }
  return true;
}

}  // namespace vitrine::app
