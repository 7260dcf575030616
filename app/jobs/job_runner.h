// The only owner of threads. Jobs run on a small pool; results come back on the UI thread, unless a newer job
// with the same owner and tag has replaced them or the owner is gone.
#pragma once

#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <map>

#include "views/kit/selection/jobs.h"

namespace vitrine::app {

int processorCount();  // logical processors of this computer

class JobRunner : public QObject, public kit::Jobs {
  Q_OBJECT
 public:
  // Inline: a job runs at once, its result is still delivered by the event loop. For shots: the same order
  // always.
  enum class Mode { Threads, Inline };
  explicit JobRunner(QObject* parent = nullptr, Mode mode = Mode::Threads);
  ~JobRunner() override;

  void cancel(const QString& tag, QObject* owner = nullptr) override;
  bool idle() const override { return pending_ == 0; }
  bool running(QObject* owner, const QString& tag) const;  // queued, running or undelivered, and still wanted
  // Runs the event loop until nothing is queued, running or undelivered. For shots and tests only; false when
  // that took longer.
  bool settle(int timeout_ms = 10'000);

 Q_SIGNALS:
  void failed(const QString& tag, const QString& what);  // a job threw: our own error
  void becameIdle();

 protected:
  void start(QObject* owner, const QString& tag, std::function<void(const kit::Cancel&)> job,
             std::function<void()> done) override;

 private:
  using Key = std::pair<QObject*, QString>;
  struct Current {
    quint64 number = 0;
    kit::Cancel cancel;
  };
  void deliver(const Key& key, quint64 number, const QPointer<QObject>& owner,
               const std::function<void()>& done, const QString& error);

  Mode mode_;
  QThreadPool pool_;
  std::map<Key, Current> current_;
  quint64 last_ = 0;
  int pending_ = 0;
};

}  // namespace vitrine::app
