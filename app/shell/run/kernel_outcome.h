// What a run with an edited kernel says beside the run it was generated in.
#pragma once

#include "views/kit/code/kernel_edits.h"
#include "views/kit/session/session_data.h"

namespace vitrine::app {

// By how much eager's times of two runs may differ, as part of the shorter, before the machine was another.
constexpr double kSameMachine = 0.25;

// `text`: the edited kernel's. recording: the session of its run. Reads the kernels' texts: for jobs.
kit::KernelEdit kernelOutcome(const kit::SessionData& before, Id kernel, const kit::SessionData& after,
                              const QString& text);

// "FILE:12:5: error: text" of a compiler's lines; warnings and notes are left out.
std::vector<kit::KernelError> compilerErrors(const QString& said);

}  // namespace vitrine::app
