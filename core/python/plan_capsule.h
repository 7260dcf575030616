// A plan as Python holds it.
#pragma once

#include <Python.h>

#include <memory>
#include <utility>

#include "core/ir/graph.h"
#include "core/runtime/compile.h"

namespace vitrine::python {

struct HeldPlan {
  std::shared_ptr<runtime::Plan> plan;
  ir::GraphPtr graph;  // what it was compiled from; may be null
};

inline constexpr const char* kPlanName = "vitrine.plan";

// nullptr: a Python error is set.
inline HeldPlan* held_plan(PyObject* capsule) {
  return static_cast<HeldPlan*>(PyCapsule_GetPointer(capsule, kPlanName));
}

inline PyObject* plan_capsule(std::shared_ptr<runtime::Plan> plan, ir::GraphPtr graph) {
  return PyCapsule_New(new HeldPlan{std::move(plan), std::move(graph)}, kPlanName,
                       [](PyObject* c) { delete held_plan(c); });
}

}  // namespace vitrine::python
