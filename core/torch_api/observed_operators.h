// Who watches operators (torch.profiler, torch.autograd.profiler, ExecutionTraceObserver, callbacks of
// at::RecordFunction) looks at the memory of their arguments. Fake tensors have none, and what is called
// during capture is not what the program does.
#pragma once

namespace vitrine::torch_api {

// While it lives, those who watch see the operators of this thread, or do not.
class ObservedOperators {
 public:
  explicit ObservedOperators(bool seen);
  ~ObservedOperators();
  ObservedOperators(const ObservedOperators&) = delete;
  ObservedOperators& operator=(const ObservedOperators&) = delete;
  bool before() const { return before_; }

 private:
  const bool before_;
};

}  // namespace vitrine::torch_api
