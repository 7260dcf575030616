// Which lines of a kernel's texts are whose: read kernel by kernel, when they are first asked for. A long
// session has more of them than of anything else, and most are never looked at. Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/session/rows.h"
#include "views/kit/session/pages.h"

namespace vitrine::kit {

class KernelLines {
 public:
  using Row = session::KernelRangeRow;
  using Read = std::function<std::vector<Row>(const char* where, Id id)>;
  KernelLines() = default;
  explicit KernelLines(Read read);

  std::span<const Row> of(Id kernel) const;  // by text, line and column
  const Row* find(Id id) const;              // nullptr: there is none
  std::vector<Id> of_node(Id kernel, Id node) const;

 private:
  struct Kernels {
    std::mutex mutex;
    Read read;
    std::unordered_map<Id, Id> of_lines;
  };
  std::unique_ptr<Kernels> kernels_;
  Pages<Row> pages_;
};

}  // namespace vitrine::kit
