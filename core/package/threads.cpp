#include "core/package/threads.h"

#include <algorithm>

namespace vitrine::package {

Threads::Threads(int count) {
  for (int i = 1; i < count; ++i) pool_.emplace_back([this, i] { wait_for_work(i); });
}

Threads::~Threads() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : pool_) thread.join();
}

void Threads::wait_for_work(int number) {
  int64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begins_.wait(lock, [&] { return over_ || round_ != seen; });
    if (over_) return;
    seen = round_;
    const Loop loop = loop_;
    if (number >= loop.chunks) continue;
    lock.unlock();
    const int64_t begin = number * loop.chunk;
    loop.body(begin, std::min(loop.work, begin + loop.chunk), loop.context);
    lock.lock();
    if (--at_work_ == 0) ends_.notify_one();
  }
}

void Threads::run(int64_t work, int64_t grain, Body body, void* context) {
  if (work <= 0) return;
  const int64_t chunk = std::max({grain, (work - 1) / count() + 1, int64_t{1}});
  const auto chunks = static_cast<int>((work - 1) / chunk + 1);
  if (chunks == 1) return body(0, work, context);
  {
    const std::scoped_lock lock(mutex_);
    loop_ = {body, context, work, chunk, chunks};
    at_work_ = chunks - 1;
    ++round_;
  }
  begins_.notify_all();
  body(0, chunk, context);
  std::unique_lock lock(mutex_);
  ends_.wait(lock, [&] { return at_work_ == 0; });
}

}  // namespace vitrine::package
