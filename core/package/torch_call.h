// One operator of a program, computed by PyTorch through its C interface.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/ir/graph.h"
#include "core/package/torch_functions.h"

namespace vitrine::package {

class TorchCall {
 public:
  using SlotOf = std::function<int32_t(ir::Ref)>;
  virtual ~TorchCall() = default;
  // Errors: PyTorch's C interface has no such call. schemas: Package::schemas().
  static Result<std::unique_ptr<TorchCall>> make(const TorchFunctions& torch, const ir::Node& node,
                                                 const SlotOf& slot_of,
                                                 const std::vector<std::string>& schemas);

  bool into_out() const { return into_out_; }  // into the one tensor that call() is given
  const std::vector<int32_t>& reads() const { return reads_; }
  // values: by reads(). outs: see into_out(); else receives what is made, without one where it is undefined.
  virtual Status call(const std::vector<AtenHandle>& values, std::vector<AtenTensor>& outs) const = 0;

 protected:
  explicit TorchCall(const TorchFunctions& torch) : torch_(torch) {}
  Status done(AtenStatus status) const { return status == 0 ? Status() : Status(torch_.failed(status)); }
  const TorchFunctions& torch_;
  bool into_out_ = true;
  std::vector<int32_t> reads_;
};

}  // namespace vitrine::package
