#include "views/kit/code/kernel_edits.h"

namespace vitrine::kit {

const KernelEdit* KernelEdits::find(Id kernel) const {
  const auto found = edits_.find(kernel);
  return found == edits_.end() ? nullptr : &found->second;
}

void KernelEdits::begin(Id kernel, const QString& generated) {
  last_ = kernel;
  KernelEdit fresh;
  fresh.generated = fresh.text = generated;
  if (edits_.try_emplace(kernel, std::move(fresh)).second) Q_EMIT changed(kernel);
}

void KernelEdits::write(Id kernel, const QString& text) {
  const auto found = edits_.find(kernel);
  if (found == edits_.end() || found->second.text == text) return;
  last_ = kernel;
  KernelEdit fresh;
  fresh.generated = found->second.generated;
  fresh.text = text;
  fresh.errors = std::move(found->second.errors);  // they stand until the next rebuilding
  fresh.busy = found->second.busy;
  found->second = std::move(fresh);
  Q_EMIT changed(kernel);
}

void KernelEdits::tell(Id kernel, const KernelEdit& edit) {
  const auto found = edits_.find(kernel);
  if (found == edits_.end()) return;
  KernelEdit told = edit;
  told.generated = found->second.generated;
  told.text = found->second.text;
  found->second = std::move(told);
  Q_EMIT changed(kernel);
}

void KernelEdits::discard(Id kernel) {
  if (!edits_.erase(kernel)) return;
  if (last_ == kernel) last_ = edits_.empty() ? 0 : edits_.begin()->first;
  Q_EMIT changed(kernel);
}

void KernelEdits::clear() {
  while (!edits_.empty()) discard(edits_.begin()->first);
}

}  // namespace vitrine::kit
