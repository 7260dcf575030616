// A plan whose first run somebody sees before it begins.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/compile.h"

namespace vitrine::runtime {

class WatchedPlan : public Plan {
 public:
  WatchedPlan(std::shared_ptr<Plan> plan, ir::GraphPtr graph, Id compilation, std::string place,
              std::shared_ptr<const PlanObserver> observer)
      : plan_(std::move(plan)),
        graph_(std::move(graph)),
        compilation_(compilation),
        place_(std::move(place)),
        observer_(std::move(observer)) {}

  bool run(_object* const* inputs, size_t n_inputs, std::vector<_object*>& outputs,
           std::vector<LaunchTime>* times, std::vector<_object*>* given_up) override {
    if (auto observer = std::exchange(observer_, nullptr))
      (*observer)(plan_, graph_, compilation_, place_, {inputs, n_inputs});
    return plan_->run(inputs, n_inputs, outputs, times, given_up);
  }
  bool run_watched(std::span<_object* const> inputs, std::vector<_object*>& outputs,
                   const WantedValue& wanted, std::vector<SeenValue>& seen) override {
    return plan_->run_watched(inputs, outputs, wanted, seen);
  }
  int launches() const override { return plan_->launches(); }
  int generated_kernels() const override { return plan_->generated_kernels(); }
  int python_calls() const override { return plan_->python_calls(); }
  const std::vector<Problem>& problems() const override { return plan_->problems(); }
  GraphFacts graph_facts() const override { return plan_->graph_facts(); }

 private:
  std::shared_ptr<Plan> plan_;
  ir::GraphPtr graph_;
  Id compilation_;
  std::string place_;
  std::shared_ptr<const PlanObserver> observer_;
};

}  // namespace vitrine::runtime
