// Loops over several threads, as PyTorch's pool runs them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace vitrine::package {

class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  using Body = void (*)(int64_t begin, int64_t end, void* context);
  // body(begin, end, context) over [0, work), in chunks of at least `grain`, one a thread. Of one thread at a
  // time.
  void run(int64_t work, int64_t grain, Body body, void* context);
  int count() const { return static_cast<int>(pool_.size()) + 1; }

 private:
  struct Loop {
    Body body = nullptr;
    void* context = nullptr;
    int64_t work = 0, chunk = 1;
    int chunks = 0;
  };
  void wait_for_work(int number);

  std::mutex mutex_;
  std::condition_variable begins_, ends_;
  Loop loop_;
  int64_t round_ = 0;
  int at_work_ = 0;
  bool over_ = false;
  std::vector<std::thread> pool_;
};

}  // namespace vitrine::package
