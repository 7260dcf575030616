// Kernels compiled in helper processes, one a core, without the GIL. A helper that dies is replaced and its
// kernel tried once more; helpers that have nothing to do for a while end, and start again when needed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/kernel_compiler/protocol/protocol.h"

namespace vitrine::runtime {

struct KernelAnswer {
  enum class Kind {
    compiled,
    rejected,  // response.diagnostics say why
    failed,    // the helper died twice, or cannot be started
    timed_out,
    cancelled
  };
  Kind kind = Kind::failed;
  std::string error;        // one sentence, unless compiled
  bool of_machine = false;  // not compiled, and any other kernel would fare the same here
  std::string hint;         // what to do about what is of the machine; may be empty
  kernel_compiler::Response response;
  int64_t wall_ns = 0;  // in the queue and in the helper
};

class KernelService {
 public:
  struct Options {
    std::string program;  // path of vitrine-cc
    int helpers = 0;      // 0 = one for each core this process may use, at most kMaxHelpers
    std::chrono::milliseconds timeout{120'000};  // of one kernel
    std::chrono::milliseconds idle{60'000};      // after which a helper ends
  };
  static constexpr int kMaxHelpers = 32;

  explicit KernelService(Options options);
  ~KernelService();  // ends the helpers; what is queued comes back as cancelled
  KernelService(const KernelService&) = delete;
  KernelService& operator=(const KernelService&) = delete;

  struct Ticket {
    std::future<KernelAnswer> answer;
    std::shared_ptr<std::atomic<bool>> cancelled;  // set it to end the kernel's compilation
  };
  Ticket submit(kernel_compiler::Request request);
  // Starts `count` helpers (0 = all) and lets them pay their first use, in the background.
  void warm_up(int count = 0);
  int helpers() const { return static_cast<int>(workers_.size()); }
  std::vector<int> running();  // process ids of the helpers, for tests

 private:
  struct Job {
    kernel_compiler::Request request;
    std::promise<KernelAnswer> promise;
    std::shared_ptr<std::atomic<bool>> cancelled;
    Clock::time_point queued;
  };
  void work(size_t worker);
  KernelAnswer compile(class HelperProcess& helper, Job& job, size_t worker);

  Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::vector<int> pids_;
  int to_warm_ = 0;
  bool ending_ = false;
  std::vector<std::shared_ptr<std::atomic<bool>>> active_;  // by worker: the flag of its job
  int64_t next_id_ = 0;
  std::vector<std::thread> workers_;
};

// Where vitrine-cc is: `named` if it is not empty, else beside the library or program that this code is in,
// or in a neighbouring bin folder. "" if it is nowhere.
std::string find_kernel_compiler(const std::string& named);

// This process's service for a program; made at the first call, and anew in a child after fork().
KernelService& shared_kernel_service(const std::string& program);

}  // namespace vitrine::runtime
