// Lays a fused program out as steps over buffers: which values live in memory, where, and in which order
// things run. Views become steps only where PyTorch needs a tensor for them.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "core/codegen/codegen_options.h"
#include "core/codegen/schedule/schedule.h"
#include "core/fusion/fuse.h"
#include "core/ops/attention/one_query.h"

namespace vitrine::codegen {

class ProgramBuilder {
 public:
  ProgramBuilder(const fusion::LoopProgram& loops, const fusion::Readers& readers,
                 const fusion::FusedProgram& fused, const CodegenOptions& options)
      : loops_(loops), readers_(readers), fused_(fused), options_(options) {}

  // Kernels, with all that the options offer to be measured, and the steps that run them.
  void add_steps();
  Program& program() { return program_; }
  // Of what was offered the options' choices stay, and nothing else. false: a choice changes which steps
  // there are, or whose memory they use; they must be added anew.
  bool settle();
  // Small kernels of a GPU that need nothing of each other get one launch; once all is settled.
  void share_launches();
  // Plans the memory.
  Program finish();
  // Units of each step; none for views. Filled by add_steps().
  const std::vector<std::vector<int>>& units_of_step() const { return units_of_step_; }

 private:
  void add_inputs();
  void find_uses();
  void find_destinations();
  bool may_share(ir::Ref root, size_t copy) const;
  int32_t destination(int unit, const Schedule& schedule, const Argument& written);
  void add_kernel(int unit);
  void add_horizontal(int unit);  // program_horizontal.cpp
  struct Touched {                // program_launches.cpp
    std::vector<int32_t> reads, writes, makes, uses;
    bool overwrites = false, unknown = false;
  };
  Touched touched(const Step& step) const;
  bool may_share_launch(const Step& step) const;
  class Crossed;
  struct Sharing;
  class LaunchRoom;
  int64_t held_bytes(const Step& step) const;
  int32_t text_of(size_t step, Sharing& all) const;
  bool are_alike(size_t a, size_t b, Sharing& all) const;
  bool fits(size_t step, const std::vector<size_t>& group, Sharing& all) const;
  std::vector<size_t> sharers(size_t first, Sharing& all) const;
  void hoist_views();
  void join(std::vector<size_t> group, Sharing& all);
  const Kernel& kernel_of(const Step& step) const {
    return program_.kernels[static_cast<size_t>(step.kernel)];
  }
  void add_scattering(int unit);  // program_scatter.cpp
  void add_scan(int unit);
  void add_ordered(int unit, int32_t result, bool filled, const fusion::LoopProgram& fill,
                   const fusion::Unit& first);
  bool take_over(int unit, ir::Ref copied, int32_t result);  // program_in_place.cpp
  int32_t changed_input(int unit, ir::Ref copied, ir::Ref result);
  std::optional<ir::Ref> copied_by(const ir::Node& node) const;
  int32_t change_input(int unit, Step& step);
  void change_in_place(int unit, Step& step);
  void add_part(const fusion::LoopProgram& program, const fusion::Unit& unit, int position, ir::Ref value,
                int32_t result, std::string label, bool writes_input = false);
  void horizontal_buffers(int unit, const std::vector<Schedule>& all, size_t member, Step& step);
  std::vector<ir::Ref> stored(const fusion::Group& group) const;
  Schedule cpu_schedule(const fusion::Group& group, const std::vector<ir::Ref>& stored) const;
  Schedule gpu_schedule(const fusion::Group& group, const std::vector<ir::Ref>& stored) const;
  void add_launches(const fusion::Unit& unit, int position, const Schedule& schedule, Step step);
  int32_t temporary(ir::TensorType type, ir::Ref value);
  int32_t partial_sums(const Schedule& schedule, const ScheduledValue& sum);
  Kernel gpu_kernel(const fusion::Unit& unit, const Schedule& schedule, ir::NodeId first,
                    size_t launch) const;
  void offer_shapes(const fusion::Unit& unit, const Schedule& schedule, Step& step);
  // program_tiles.cpp: a GPU's products.
  void offer_gpu_product(const fusion::Unit& unit, Step& step, int32_t chosen);
  std::optional<Alternative> tiled(const Step& step, int32_t candidate, const std::string& label);
  std::optional<Alternative> tiled_with(size_t product, const fusion::Unit& unit, const Schedule& schedule,
                                        const Step& step, int32_t candidate);
  void add_call(int unit);
  std::optional<ops::OneQuery> own_attention(const ir::Node& node) const;  // program_attention.cpp
  bool add_attention(int unit);
  ir::TensorType read_root(ir::Ref value, std::vector<int32_t>& buffers);
  bool add_cpu_attention(int unit);  // program_cpu_attention.cpp
  bool cannot_fail(const ir::Node& node) const;
  void offer_product(const fusion::Unit& unit, Step& step);
  static void take_first(Step& step);
  std::optional<Alternative> with_product(size_t product, const Schedule& schedule, const Step& step,
                                          const Kernel& kernel, int32_t candidate);
  std::optional<Alternative> product_and(size_t product, int unit, const Schedule& schedule, const Step& step,
                                         const Kernel& kernel, int32_t candidate);
  void offer_with_product(int unit, const Schedule& schedule, Step& step);
  void compute_with_product(int unit, const Schedule& schedule, Step& step);
  void settle(Step& step, const ProductChoice& choice) const;
  void drop_unused_kernels();
  bool is_foreign(const Step& step) const;
  void add_results();
  void add_step(Step step, int unit);
  bool is_of_weights(const Schedule& schedule);  // program_weights.cpp
  void hold(const Schedule& schedule);
  static void name_kept(Kernel& kernel);
  bool has_own_memory(const Buffer& buffer) const;
  bool may_become(int32_t source, const Buffer& target) const;
  void reuse_in_place(int unit, const Schedule& schedule, const Step& step);
  bool same_row(const Schedule& schedule, const Argument& read, const Argument& written) const;
  bool read_before(const Schedule& s, const Load& load, const ScheduledValue& stored) const;
  bool same_place(const Schedule& schedule, const Argument& read, const Argument& written) const;
  void share(int32_t source, int32_t target);
  void plan_memory();
  ir::Sym plan_arena(ir::Device device);
  void choose_what_is_large(ir::Device gpu);
  int64_t most_bytes(ir::Device gpu) const;
  void free_foreign();

  int32_t new_buffer(ir::Ref root);       // of a value that a step writes
  int32_t buffer_for(ir::Ref value);      // makes a view step if the value is a view
  int32_t storage(int32_t buffer) const;  // follows view_of
  int32_t place(int32_t buffer) const;    // follows view_of and places shared in the arena
  const ir::Node& node(ir::Ref r) const { return loops_.graph->node(r.node); }
  const ir::TensorType& type(ir::Ref r) const { return node(r).outputs.at(static_cast<size_t>(r.output)); }

  const fusion::LoopProgram& loops_;
  const fusion::Readers& readers_;
  const fusion::FusedProgram& fused_;
  const CodegenOptions& options_;
  Program program_;
  std::vector<std::vector<int>> units_of_step_;
  std::map<ir::Ref, int32_t> buffer_of_;  // by value
  std::map<ir::Ref, int> last_unit_;      // by root: last unit that reads it from memory; results: INT_MAX
  std::map<ir::Ref, bool> keeps_own_;     // by root: an operator may hand out a share of its storage
  // By root that is only computed to be copied to an input: where a kernel may put it at once.
  struct Destination {
    ir::Ref input;
    int last_read, copy;  // units: the last that reads the input besides, and the copy
  };
  std::map<ir::Ref, Destination> destinations_;
  std::set<ir::Ref> held_;                   // roots that steps of weights alone make
  std::optional<bool> only_reads_;           // whether the graph writes to nothing that it is given
  std::set<int> written_at_once_;            // copies (units) that are no longer needed
  int64_t large_on_gpu_ = int64_t{1} << 20;  // bytes that are not taken from the arena
  std::vector<int32_t> shares_with_;         // by buffer: whose arena place it takes over, or -1
};

}  // namespace vitrine::codegen
