#include "views/kit/session/kernel_lines.h"

#include <algorithm>
#include <tuple>

namespace vitrine::kit {

KernelLines::KernelLines(Read read)
    : kernels_(std::make_unique<Kernels>()), pages_([read](Id kernel) {
        std::vector<Row> rows = read("kernel = ?1", kernel);
        std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
          return std::tie(a.text, a.line, a.col) < std::tie(b.text, b.line, b.col);
        });
        return rows;
      }) {
  kernels_->read = std::move(read);
}

std::span<const KernelLines::Row> KernelLines::of(Id kernel) const {
  return pages_.of(kernel);
}

const KernelLines::Row* KernelLines::find(Id id) const {
  if (!kernels_ || kind_of(id) != Kind::KernelRange) return nullptr;
  Id kernel = 0;
  {
    const std::lock_guard lock(kernels_->mutex);
    const auto [at, first] = kernels_->of_lines.try_emplace(id);
    if (first)
      for (const Row& row : kernels_->read("id = ?1", id)) at->second = row.kernel;
    kernel = at->second;
  }
  const auto rows = of(kernel);
  const auto found = std::find_if(rows.begin(), rows.end(), [id](const Row& row) { return row.id == id; });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<Id> KernelLines::of_node(Id kernel, Id node) const {
  std::vector<Id> out;
  for (const Row& row : of(kernel))
    if (row.node == node) out.push_back(row.id);
  return out;
}

}  // namespace vitrine::kit
