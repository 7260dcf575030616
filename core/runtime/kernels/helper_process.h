// One running `vitrine-cc`: started, asked, and ended when it takes too long. Used by one thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace vitrine::runtime {

class HelperProcess {
 public:
  ~HelperProcess() { stop(); }
  HelperProcess() = default;
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Errors: the program cannot be started.
  Status start(const std::string& program, bool warm);
  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

  enum class Outcome { answered, died, timed_out, cancelled };
  // Sends a frame and waits for one. After anything but `answered` the process is gone; how_it_ended() tells.
  Outcome ask(const std::string& frame, std::chrono::milliseconds timeout, const std::atomic<bool>& cancelled,
              std::string& answer);
  const std::string& how_it_ended() const { return how_it_ended_; }
  bool lacks_library() const { return lacks_library_; }  // it ended because a shared library is missing
  void stop();                                           // at once

 private:
  Outcome wait_for(size_t bytes, Clock::time_point deadline, const std::atomic<bool>& cancelled,
                   std::string& buffer);

  std::string reason();

  pid_t pid_ = -1;
  int socket_ = -1, pidfd_ = -1;
  std::string how_it_ended_;
  bool lacks_library_ = false;
};

}  // namespace vitrine::runtime
