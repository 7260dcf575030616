// The Inspector's words for the compiler's things: nodes, kernels, launches, buffers, fusion decisions.
#pragma once

#include "views/inspector/inspector_content.h"

namespace vitrine::views {

void inspectNode(const kit::SessionData& d, const kit::Selection& selection, const session::NodeRow& row,
                 InspectorContent& out);
void inspectKernel(const kit::SessionData& d, const session::KernelRow& row, InspectorContent& out);
void inspectLaunch(const kit::SessionData& d, const session::LaunchRow& row, InspectorContent& out);
void inspectBuffer(const kit::SessionData& d, const session::BufferRow& row, InspectorContent& out);
void inspectDecision(const kit::SessionData& d, const session::DecisionRow& row, InspectorContent& out);
// While nothing is active: how the run went, and where its time goes. An empty title without a run.
InspectorContent overview(const kit::SessionData& d, const kit::Selection& selection);
// Every verdict on a pair that the active thing is part of.
void addFusion(const kit::SessionData& d, const kit::Selection& selection, InspectorContent& out);

}  // namespace vitrine::views
