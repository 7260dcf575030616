// The frame loop: a frame as a chain of compiled segments and single instructions run for real between them.
// Whatever it cannot do, or what CPython does faster, leaves through CPython's own loop.
#pragma once

#include "core/capture/segment_store.h"

struct _PyInterpreterFrame;
struct _ts;

namespace vitrine::capture {

struct DriverOptions {
  // Instructions run here without meeting a segment before CPython takes the frame over: it is faster.
  int patience = 500;
};

// Runs a fresh, unlinked frame to its end. The store is asked once the prologue is done, after every
// instruction run because a segment stopped at it, and while stepping after calls and backward jumps.
// New reference, or nullptr with a Python error set.
_object* drive(_ts* thread, _PyInterpreterFrame* frame, SegmentStore& store,
               const DriverOptions& options = {}) noexcept;

}  // namespace vitrine::capture
