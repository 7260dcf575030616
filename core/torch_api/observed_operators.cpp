#include "core/torch_api/observed_operators.h"

#include "core/torch_api/api.h"

namespace vitrine::torch_api {

namespace {

bool can_switch() {
  return api().symbols.operators_observed && api().symbols.observe_operators;
}

}  // namespace

ObservedOperators::ObservedOperators(bool seen)
    : before_(!can_switch() || api().symbols.operators_observed()) {
  if (before_ != seen && can_switch()) api().symbols.observe_operators(seen);
}

ObservedOperators::~ObservedOperators() {
  if (can_switch()) api().symbols.observe_operators(before_);
}

}  // namespace vitrine::torch_api
