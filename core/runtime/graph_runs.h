// Calls of a plan as replays of a CUDA Graph. Two calls run as always; the third records. What only kernels
// of our own touch is not copied: their launches get the address that an input has in this call, and that of
// a fresh result. Of what PyTorch's kernels read, whose arguments are not ours to change, a tensor that came
// at the same address in both calls before (a weight) is read there; another one is copied to memory of the
// graph before each replay, and results are copied out, so that a later call never changes an earlier one's.
// What the plan writes to an input it writes there in a replay too, so that an input that PyTorch's kernels
// touch and that is written must stay where it is. Gradients are lent instead of copied, as long as each has
// gone before the next call; once one has not, all are copied from then on. What the plan computes on the CPU
// (an optimizer's step counts) is computed before each replay, and the launches get these numbers. Random
// numbers are PyTorch's own: its CUDAGraph has the generator's place in its stream count on. The GIL must be
// held in every function.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/compile.h"
#include "core/runtime/graph_launches.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/cuda/cuda_graph.h"

struct _object;

namespace vitrine::runtime {

class GraphRuns {
 public:
  // Runs the plan's steps on these inputs and adds its own launches to `seen`; false: a Python error is set.
  using Launch =
      std::function<bool(_object* const* inputs, std::vector<_object*>& outputs, GraphLaunches* seen)>;
  // Runs what is computed on the CPU, and gives the numbers that launches get; false: a Python error is set.
  using Numbers = std::function<bool(_object* const* inputs, std::vector<void*>& numbers)>;
  enum class Outcome : uint8_t { served, failed, not_served };  // failed: a Python error is set

  struct Roles {
    std::vector<bool> our_inputs, our_results;  // only kernels of our own touch it
    std::vector<bool> lent;                     // by result: the recording's own memory is handed out
    bool may_copy_lent = false;                 // others see what is lent, and may keep it
    std::vector<bool> written;                  // by input: the plan writes to it
    std::vector<size_t> counted;             // inputs whose version is counted up after a call, once an entry
    std::vector<size_t> counted_by_pytorch;  // the same, by PyTorch where it records
    torch_api::CudaGenerator* generator = nullptr;  // whose numbers its kernels draw; null: they draw none
    int64_t advance = 0;                            // of its offset, by a call
    int calls_before = 2;  // in these libraries choose their kernels and take their memory
  };
  GraphRuns(int device, Roles roles) : device_(device), roles_(std::move(roles)) {}
  ~GraphRuns();
  GraphRuns(const GraphRuns&) = delete;
  GraphRuns& operator=(const GraphRuns&) = delete;

  // not_served: the call has to be run as always, and no error is set.
  Outcome run(_object* const* inputs, size_t n, std::vector<_object*>& outputs, const Launch& launch,
              const Numbers& numbers);
  GraphFacts facts() const;

 private:
  std::vector<void*> addresses(_object* const* inputs, size_t n) const;
  bool record(_object* const* inputs, size_t n, const Launch& launch);
  bool make_copies(_object* const* inputs, std::vector<_object*>& given);
  bool fits(const std::vector<void*>& now);
  bool nothing_is_lent() const;
  bool copies_from_now_on(_object* const* inputs, size_t n, const Launch& launch);
  bool replay(_object* const* inputs, const std::vector<void*>& now, std::vector<_object*>& outputs,
              const Numbers& numbers);
  bool launch_recorded(_object* const* inputs, const std::vector<void*>& now, const Numbers& numbers);
  bool fresh_results(std::vector<_object*>& fresh);
  _object* handed_out(size_t result, _object* fresh);
  void give_up(const std::string& why);
  bool draw_and_point(const std::vector<void*>& now, const std::vector<void*>& numbers);
  void drop();

  int device_;
  Roles roles_;
  GraphLaunches launches_;
  std::vector<void*> places_;  // scratch: addresses of fresh results
  bool just_recorded_ = false;
  int calls_ = 0, recordings_ = 0, misfits_ = 0;  // misfits: calls in a row that the recording does not serve
  std::string off_;                               // why there is no graph, for good
  std::vector<void*> last_;                       // by input: its address in the call before
  std::vector<bool> changes_;                     // by input: it has come at several addresses
  std::unique_ptr<torch_api::CudaGraph> graph_;
  std::vector<torch_api::Handle> copies_;  // by input: the memory read instead of its own (owned), or null
  std::vector<_object*> copied_;           // the same as objects, owned
  std::vector<_object*> results_;          // what the recorded call returned, owned
  void* stream_ = nullptr;                 // where it was replayed last: replays share memory
  int64_t bytes_copied_ = 0;
};

}  // namespace vitrine::runtime
