#include "core/runtime/kernels/kernel_service.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/clock.h"
#include "core/runtime/kernels/helper_process.h"

namespace vitrine::runtime {

namespace kc = kernel_compiler;
namespace fs = std::filesystem;
using HelperOutcome = HelperProcess::Outcome;

namespace {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// Threads started in its scope take no signals: those are for the user's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

KernelService::KernelService(Options options) : options_(std::move(options)) {
  int n = options_.helpers > 0 ? options_.helpers : usable_cores();
  n = std::clamp(n, 1, kMaxHelpers);
  pids_.assign(static_cast<size_t>(n), 0);
  active_.resize(static_cast<size_t>(n));
  SignalsBlocked blocked;
  for (int i = 0; i < n; ++i) workers_.emplace_back([this, i] { work(static_cast<size_t>(i)); });
}

KernelService::~KernelService() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (auto& flag : active_)
      if (flag) *flag = true;
    for (Job& job : jobs_) {
      KernelAnswer answer;
      answer.kind = KernelAnswer::Kind::cancelled;
      answer.error = "the kernel compiler was closed";
      job.promise.set_value(std::move(answer));
    }
    jobs_.clear();
  }
  changed_.notify_all();
  for (std::thread& t : workers_) t.join();
}

KernelService::Ticket KernelService::submit(kc::Request request) {
  Job job;
  job.request = std::move(request);
  job.cancelled = std::make_shared<std::atomic<bool>>(false);
  job.queued = Clock::now();
  Ticket ticket{job.promise.get_future(), job.cancelled};
  {
    std::lock_guard lock(mutex_);
    job.request.id = ++next_id_;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return ticket;
}

void KernelService::warm_up(int count) {
  {
    std::lock_guard lock(mutex_);
    to_warm_ = count > 0 ? std::min(count, helpers()) : helpers();
  }
  changed_.notify_all();
}

std::vector<int> KernelService::running() {
  std::lock_guard lock(mutex_);
  std::vector<int> out;
  for (int pid : pids_)
    if (pid > 0) out.push_back(pid);
  return out;
}

void KernelService::work(size_t worker) {
  HelperProcess helper;
  std::unique_lock lock(mutex_);
  auto note = [&] { pids_[worker] = helper.running() ? static_cast<int>(helper.pid()) : 0; };
  while (!ending_) {
    if (jobs_.empty() && to_warm_ > static_cast<int>(worker) && !helper.running()) {
      lock.unlock();
      helper.start(options_.program, true);  // a failure shows at the first kernel
      lock.lock();
      note();
      if (!helper.running()) to_warm_ = 0;
      continue;
    }
    if (jobs_.empty()) {
      bool asked = changed_.wait_for(lock, options_.idle, [&] {
        return ending_ || !jobs_.empty() || (to_warm_ > static_cast<int>(worker) && !helper.running());
      });
      if (!asked) {
        to_warm_ = 0;
        helper.stop();
        note();
      }
      continue;
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    active_[worker] = job.cancelled;
    lock.unlock();
    KernelAnswer answer = compile(helper, job, worker);
    answer.wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - job.queued).count();
    lock.lock();
    note();
    active_[worker].reset();
    job.promise.set_value(std::move(answer));
  }
}

KernelAnswer KernelService::compile(HelperProcess& helper, Job& job, size_t worker) {
  KernelAnswer answer;
  std::string frame = kc::encode(job.request), reply;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (job.cancelled->load()) break;
    if (!helper.running()) {
      if (Status failed = helper.start(options_.program, false)) {
        answer.error = failed->what + " (" + options_.program + ")";
        answer.of_machine = true;
        return answer;
      }
      std::lock_guard lock(mutex_);
      pids_[worker] = static_cast<int>(helper.pid());
    }
    HelperOutcome outcome = helper.ask(frame, options_.timeout, *job.cancelled, reply);
    if (outcome == HelperOutcome::cancelled) break;
    if (outcome == HelperOutcome::timed_out) {
      answer.kind = KernelAnswer::Kind::timed_out;
      answer.error = "vitrine-cc took longer than " + std::to_string(options_.timeout.count()) + " ms for " +
                     job.request.label;
      return answer;
    }
    if (outcome == HelperOutcome::died && helper.lacks_library()) {
      answer.error =
          "vitrine-cc, the kernel compiler, does not start, since a shared library that it needs is missing";
      answer.hint = "`vitrine doctor` names it; install the libraries of Clang and LLVM 19.";
      answer.of_machine = true;
      return answer;
    }
    if (outcome == HelperOutcome::died) {
      answer.error = "vitrine-cc " + helper.how_it_ended() + " while it compiled " + job.request.label;
      continue;
    }
    auto response = kc::decode_response(reply);
    if (!response || response.value().id != job.request.id) {
      answer.error = "vitrine-cc gave an answer that cannot be read";
      helper.stop();
      continue;
    }
    answer.response = response.take();
    answer.kind = answer.response.ok ? KernelAnswer::Kind::compiled : KernelAnswer::Kind::rejected;
    answer.error = answer.response.error;
    answer.of_machine = answer.response.of_machine;
    return answer;
  }
  if (job.cancelled->load()) {
    answer.kind = KernelAnswer::Kind::cancelled;
    answer.error = "the compilation of " + job.request.label + " was cancelled";
  }
  return answer;
}

std::string find_kernel_compiler(const std::string& named) {
  std::error_code ignored;
  if (!named.empty()) return fs::exists(named, ignored) ? named : "";
  std::vector<fs::path> places;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_kernel_compiler), &info) && info.dli_fname)
    places.push_back(fs::absolute(info.dli_fname, ignored).parent_path());
  places.push_back(fs::read_symlink("/proc/self/exe", ignored).parent_path());
  for (const fs::path& place : places)
    for (const char* way : {".", "bin", "../bin", "../../bin"}) {
      fs::path candidate = place / way / "vitrine-cc";
      if (access(candidate.c_str(), X_OK) == 0) return fs::weakly_canonical(candidate, ignored).string();
    }
  return "";
}

KernelService& shared_kernel_service(const std::string& program) {
  // Never destroyed: its threads may outlive main(), and helpers end by themselves when this process does.
  struct Services {
    std::mutex mutex;
    std::map<std::pair<pid_t, std::string>, KernelService*> by_program;
  };
  static Services* services = new Services;
  std::lock_guard lock(services->mutex);
  KernelService*& service = services->by_program[{getpid(), program}];
  if (!service) service = new KernelService({program});
  return *service;
}

}  // namespace vitrine::runtime
