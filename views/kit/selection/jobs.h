// How views get work off the UI thread. Implemented by the application's job runner, the only owner of
// threads. A job gets a Cancel to look at and returns a value; `done` runs on the UI thread with it. A newer
// job with the same tag and owner replaces a queued one and makes a running one's result stale: stale results
// are dropped, as are those whose owner is gone.
#pragma once

#include <QObject>
#include <QString>
#include <atomic>
#include <functional>
#include <memory>

namespace vitrine::kit {

class Cancel {
 public:
  bool requested() const { return flag_->load(std::memory_order_relaxed); }
  void request() const { flag_->store(true, std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

class Jobs {
 public:
  virtual ~Jobs() = default;

  // job: T(const Cancel&) on another thread, must not touch widgets; done: void(T) on the UI thread.
  template <class T, class Job, class Done>
  void run(QObject* owner, const QString& tag, Job job, Done done) {
    auto result = std::make_shared<T>();
    start(
        owner, tag, [job = std::move(job), result](const Cancel& cancel) mutable { *result = job(cancel); },
        [done = std::move(done), result]() mutable { done(std::move(*result)); });
  }
  virtual void cancel(const QString& tag, QObject* owner = nullptr) = 0;  // owner null: whoever's
  virtual bool idle() const = 0;  // nothing queued, running or undelivered

 protected:
  virtual void start(QObject* owner, const QString& tag, std::function<void(const Cancel&)> job,
                     std::function<void()> done) = 0;
};

}  // namespace vitrine::kit
