// The outputs of a child, passed on as they come, with the last of them kept. A process of its own passes
// them on: it stays for as long as something that the child started may write. Where an output is a terminal,
// so is the child's.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>

namespace vitrine::cli {

class Overheard {
 public:
  Overheard();  // where the system gives no pipes, the child's outputs are this process's, and nothing is
                // kept
  ~Overheard();
  Overheard(const Overheard&) = delete;
  Overheard& operator=(const Overheard&) = delete;

  void take_outputs() const;  // in the child, before it begins: its outputs are overheard
  void child_started();       // in this process: only the child writes from now on
  std::string last();         // of a child that has ended: what it wrote last, once it was passed on

 private:
  struct Kept;
  struct Way {
    int from = -1, to = -1, out = -1;  // what is written to `to` is read of `from`, and goes to `out`
  };
  static bool make_way(Way& way);
  void pass_on();
  void close_writing_ends();

  std::array<Way, 2> ways_;  // stdout, stderr; one where both are the same
  int count_ = 0;
  Kept* kept_ = nullptr;
  pid_t passing_ = -1;
};

}  // namespace vitrine::cli
