// While a call is recorded the process is in the state of the traced program, and that follows what it sets.
#pragma once

#include <optional>

#include "core/torch_api/api.h"
#include "core/torch_api/attention_choice.h"
#include "core/torch_api/autocast.h"

namespace vitrine::torch_api {

// The traced program's grad mode is its own: switching it off inside must not leak into the process.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool& traced) : traced_(traced), real_(api().symbols.grad_enabled()) {
    api().symbols.grad_set_enabled(traced);
  }
  ~GradModeGuard() {
    traced_ = api().symbols.grad_enabled();
    api().symbols.grad_set_enabled(real_);
  }
  GradModeGuard(const GradModeGuard&) = delete;

 private:
  bool& traced_;
  const bool real_;
};

// The same for autocast, and for the ways of computing attention.
template <class Kind, Kind (*now)(), void (*set)(const Kind&)>
class StateGuard {
 public:
  explicit StateGuard(Kind& traced) : traced_(traced), real_(now()) {
    if (traced_ != real_) set(traced_);
  }
  ~StateGuard() {
    traced_ = now();
    if (traced_ != real_) set(real_);
  }
  StateGuard(const StateGuard&) = delete;

 private:
  Kind& traced_;
  const Kind real_;
};
using AutocastGuard = StateGuard<AutocastState, autocast_state, set_autocast_state>;
using AttentionGuard = StateGuard<AttentionChoice, attention_choice, set_attention_choice>;

// The same; for any size without what is planned for each, where there is another way.
class AttentionWays {
 public:
  AttentionWays(AttentionChoice& traced, bool for_any_size) : traced_(traced), used_(traced) {
    if (for_any_size && (used_.flash || used_.mem_efficient)) used_.cudnn = false;
    given_ = used_;
    guard_.emplace(used_);
  }
  ~AttentionWays() {
    guard_.reset();
    if (!(used_ == given_)) traced_ = used_;
  }
  AttentionWays(const AttentionWays&) = delete;

 private:
  AttentionChoice& traced_;
  AttentionChoice used_, given_;
  std::optional<AttentionGuard> guard_;
};

// Modes that the calls set and leave so are effects of the trace, which follow; a call that fails leaves
// none.
class ModesAsBefore {
 public:
  ModesAsBefore() = default;
  ModesAsBefore(const ModesAsBefore&) = delete;

 private:
  bool grad_ = api().symbols.grad_enabled();
  AutocastState autocast_ = autocast_state();
  AttentionChoice attention_ = attention_choice();
  const GradModeGuard grad_guard_{grad_};
  const AutocastGuard autocast_guard_{autocast_};
  const AttentionGuard attention_guard_{attention_};
};

// Gradients on, casts off: the operator is below autocast.
class PlainModes {
 public:
  PlainModes() : autocast_(autocast_state()), grad_(api().symbols.grad_enabled()) {
    AutocastState off = autocast_;
    off.cpu = off.cuda = false;
    set_autocast_state(off);
    api().symbols.grad_set_enabled(true);
  }
  ~PlainModes() {
    set_autocast_state(autocast_);
    api().symbols.grad_set_enabled(grad_);
  }
  PlainModes(const PlainModes&) = delete;
  PlainModes& operator=(const PlainModes&) = delete;

 private:
  const AutocastState autocast_;
  const bool grad_;
};

}  // namespace vitrine::torch_api
