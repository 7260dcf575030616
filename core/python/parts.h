// The parts of the extension module vitrine._engine: each adds its functions and types to it. One row a part.
#pragma once

struct _object;

namespace vitrine::python {

// Adds to `module`; on failure a Python error is set.
using AddPart = void (*)(_object* module);

void add_frames(_object* module);     // engine_frames.cpp: bytecode and the frame loop, for tests
void add_bridge(_object* module);     // engine_bridge.cpp: tensors and PyTorch's state, for tests and doctor
void add_lowering(_object* module);   // engine_lowering.cpp: recording of torch calls, for tests
void add_trace(_object* module);      // engine_trace.cpp: what the symbolic interpreter makes of a call
void add_callables(_object* module);  // callable.cpp: what vitrine.compile and vitrine.disable return
void add_api(_object* module);        // engine_api.cpp: settings, pausing, forgetting
void add_runtime(_object* module);    // engine_runtime.cpp: plans, for tests
void add_debug(_object* module);      // engine_debug.cpp: values inside of plans, bisecting, faults for tests
void add_passes(_object* module);     // engine_passes.cpp: passes of the user's own, graphs of stages
void add_export(_object* module);     // engine_export.cpp: programs that leave the process
void add_ops(_object* module);        // engine_ops.cpp: operator table and passes, for tests
void add_cuda(_object* module);       // engine_cuda.cpp: NVRTC, limits of GPUs, recording through CUPTI
void add_counters(_object* module);   // engine_counters.cpp: a GPU's counters and samples of its instructions
void add_session(_object* module);    // engine_session.cpp: what Python writes into the session; profiles

// Whether this PyTorch is one that the engine knows; the first call tries it out. false: a Python error is
// set. What takes a tensor from Python asks first.
bool fits_pytorch();

inline constexpr AddPart kParts[] = {
    add_frames, add_bridge, add_lowering, add_trace, add_callables, add_api,      add_runtime,
    add_debug,  add_passes, add_export,   add_ops,   add_cuda,      add_counters, add_session,
};

}  // namespace vitrine::python
