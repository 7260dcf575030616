#include "core/runtime/cuda/cuda_stage.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>

#include "core/base/clock.h"
#include "core/codegen/cuda/gpu.h"
#include "core/codegen/cuda/prelude.h"
#include "core/runtime/cuda/disassembler.h"
#include "core/runtime/cuda/driver.h"
#include "core/runtime/cuda/listing.h"
#include "core/runtime/cuda/nvrtc.h"
#include "core/runtime/reproducer_file.h"

namespace vitrine::runtime::cuda {

namespace {

struct CubinWork {
  const codegen::Kernel* kernel = nullptr;  // the first that has this text
  int64_t shared = 0;                       // the most shared memory that one of them takes
  std::string key, cubin;
  CompiledKernel result;
  std::string error;
};

class CubinStage {
 public:
  CubinStage(int device, const CompileOptions& options, bool with_texts,
             const std::function<bool()>& cancelled)
      : device_(device), options_(options), with_texts_(with_texts), cancelled_(cancelled) {}

  KernelStage run(const std::vector<const codegen::Kernel*>& kernels) {
    KernelStage out;
    out.start_ns = monotonic_ns();
    gather(kernels);
    missing_ = prepare();
    if (!missing_) {
      for (CubinWork& w : work_) look_up(w);
      compile();
      for (CubinWork& w : work_) finish(w);
    }
    if (missing_) out.problems.push_back(environment_problem(*missing_));
    if (no_place_) {
      const std::string text = no_place_->what + " (" + no_place_->where + ")";
      if (first_time(text)) out.problems.push_back({text, no_place_->hint, ""});
    }
    for (CubinWork& w : work_) {
      w.result.failed = missing_ || !w.error.empty();
      if (!w.error.empty()) out.problems.push_back(problem(w));
    }
    out.cancelled = stopped_;
    for (const CubinWork& w : work_) out.add_work(w.result);
    out.workers = workers_;
    for (const codegen::Kernel* k : kernels) out.kernels.push_back(work_[place_.at(k->text)].result);
    out.duration_ns = monotonic_ns() - out.start_ns;
    return out;
  }

 private:
  void gather(const std::vector<const codegen::Kernel*>& kernels) {
    for (const codegen::Kernel* k : kernels) {
      const auto [place, added] = place_.try_emplace(k->text, work_.size());
      if (added) work_.emplace_back().kernel = k;
      int64_t& shared = work_[place->second].shared;
      shared = std::max<int64_t>(shared, k->grid.shared);
    }
  }

  // Errors: what keeps every kernel from being compiled.
  Status prepare() {
    auto nvrtc = Nvrtc::find(options_.nvrtc);
    if (!nvrtc) return nvrtc.error();
    nvrtc_ = nvrtc.value();
    arch_ = options_.target;
    if (arch_.empty()) {
      auto own = architecture(device_);
      if (!own) return own.error();
      arch_ = own.value();
    }
    if (std::string refused = nvrtc_->refuses(arch_); !refused.empty())
      return Error{refused, "Install the NVRTC of a CUDA version that serves this GPU."};
    auto cache = ObjectCache::open(options_.cache_dir);
    if (cache)
      cache_ = cache.take();
    else
      no_place_ = cache.error();
    // Machine code that tells its lines is another than that of the steady state.
    const std::string how = "cuda " + arch_ + " nvrtc " + nvrtc_->version() + (with_texts_ ? " lines" : "");
    for (CubinWork& w : work_)
      w.key = ObjectCache::key(how + "\n" + function_name(w.kernel->name) + "\n" + w.kernel->text);
    return {};
  }

  void look_up(CubinWork& w) {
    auto entry = cache_ ? cache_->find(w.key) : std::nullopt;
    if (!entry) return;
    std::optional<kernel_compiler::Texts> texts;
    if (with_texts_ && !(texts = cache_->texts(w.key))) return;
    w.cubin = std::move(entry->content);
    w.result.cached = true;
    w.result.arch = arch_;
    if (texts) take_texts(w, std::move(*texts));
  }

  void compile() {
    std::atomic<size_t> next = 0;
    // Only the calling thread may ask whether it was cancelled: the answer can need Python.
    auto worker = [&](bool calling) {
      for (size_t i = next++; i < work_.size() && !stopped_; i = next++) {
        if (calling && cancelled_ && cancelled_()) stopped_ = true;
        if (work_[i].cubin.empty() && !stopped_) compile(work_[i]);
      }
    };
    const size_t threads = std::min<size_t>(work_.size(), std::max(1u, std::thread::hardware_concurrency()));
    const auto fresh =
        std::count_if(work_.begin(), work_.end(), [](const CubinWork& w) { return w.cubin.empty(); });
    workers_ = std::min<int64_t>(static_cast<int64_t>(threads), fresh);
    std::vector<std::thread> pool;
    for (size_t i = 1; i < threads; ++i) pool.emplace_back(worker, false);
    worker(true);
    for (std::thread& t : pool) t.join();
  }
  void compile(CubinWork& w) const {
    w.result.start_ns = monotonic_ns();
    // Tiles take instructions that the next architectures do not have.
    const bool own = !w.kernel->maps.empty() && arch_.back() != 'a';
    auto compiled =
        nvrtc_->compile(w.kernel->text, function_name(w.kernel->name), arch_ + (own ? "a" : ""), with_texts_);
    w.result.wall_ns = monotonic_ns() - w.result.start_ns;
    if (!compiled) {
      w.error = compiled.error().what;
      return;
    }
    w.cubin = compiled.value().cubin;
    w.result.front_ns = w.result.wall_ns;
    w.result.arch = arch_;
    if (with_texts_) take_texts(w, texts_of(w, compiled.value()));
  }

  // PTX and SASS with their lines, and ptxas's report as a remark.
  kernel_compiler::Texts texts_of(const CubinWork& w, const Compiled& compiled) const {
    std::vector<bool> body(1);
    for (const codegen::LineOrigin& o : w.kernel->lines) {
      body.resize(std::max(body.size(), static_cast<size_t>(o.end_line) + 1));
      std::fill(body.begin() + o.line, body.begin() + o.end_line + 1, true);
    }
    kernel_compiler::Texts texts;
    Listing ptx = read_ptx(compiled.ptx, body);
    texts.ir = std::move(ptx.text);
    texts.ir_lines = std::move(ptx.lines);
    texts.remarks.push_back({0, 0, "ptxas", "analysis", compiled.report});
    auto sass = disassemble(options_.nvdisasm, compiled.cubin);
    if (!sass) {
      texts.remarks.push_back({0, 0, "nvdisasm", "missed", sass.error().what + ". " + sass.error().hint});
      return texts;
    }
    Listing listing = read_sass(sass.value(), body);
    texts.assembly = std::move(listing.text);
    texts.assembly_lines = std::move(listing.lines);
    return texts;
  }
  void take_texts(CubinWork& w, kernel_compiler::Texts texts) const {
    for (const kernel_compiler::Remark& r : texts.remarks)
      if (r.pass == "ptxas") w.result.report = read_report(r.text);
    w.result.texts = std::move(texts);
  }

  void finish(CubinWork& w) {
    if (!w.error.empty() || w.cubin.empty()) return;
    if (!w.result.cached) store(w);
    // Compiled for a GPU that was named: tensors were only taken to be on it.
    if (!options_.target.empty()) return;
    // While a run is recorded each kernel's time is its own: none starts before another is done.
    const bool follows =
        !with_texts_ && codegen::cuda::follows(w.kernel->text) && codegen::cuda::gpu_of(arch_).follows;
    auto loaded =
        load_kernel(w.cubin, function_name(w.kernel->name), device_, w.shared, follows, w.kernel->maps);
    if (loaded)
      w.result.loaded.cuda = loaded.take();
    else if (!missing_)
      missing_ = loaded.error();
  }
  void store(const CubinWork& w) {
    if (!cache_) return;
    // Without its SASS an entry is complete only until there is a disassembler.
    const bool complete = !w.result.texts.assembly.empty() || options_.nvdisasm.empty();
    auto kept = cache_->insert(w.key, w.cubin);
    if (!kept) no_place_ = kept.error();
    if (kept && with_texts_ && complete) cache_->insert_texts(w.key, w.result.texts);
  }

  static Problem environment_problem(const Error& error) {
    return {error.what + ": kernels for the GPU run through PyTorch instead", error.hint, ""};
  }
  Problem problem(const CubinWork& w) const {
    Problem out;
    out.text = "kernel " + w.kernel->label + " (" + w.kernel->name +
               ") could not be compiled: " + w.error.substr(0, w.error.find('\n'));
    out.hint = "Its operators run through PyTorch instead; ";
    out.hint += w.kernel->edited ? "its text was edited." : "please report it with the reproducer.";
    out.reproducer = write_kernel_reproducer(options_.cache_dir, w.kernel->label + "_" + w.kernel->name,
                                             w.kernel->text, w.error);
    return out;
  }

  int device_;
  const CompileOptions& options_;
  bool with_texts_;
  const std::function<bool()>& cancelled_;
  std::atomic<bool> stopped_ = false;
  int64_t workers_ = 0;
  Status missing_;   // what of the machine keeps kernels from running
  Status no_place_;  // and what keeps them from being kept
  const Nvrtc* nvrtc_ = nullptr;
  std::string arch_;
  std::shared_ptr<ObjectCache> cache_;
  std::vector<CubinWork> work_;
  std::unordered_map<std::string, size_t> place_;
};

}  // namespace

KernelStage compile_kernels(const std::vector<const codegen::Kernel*>& kernels, int device,
                            const CompileOptions& options, bool with_texts,
                            const std::function<bool()>& cancelled) {
  return CubinStage(device, options, with_texts, cancelled).run(kernels);
}

}  // namespace vitrine::runtime::cuda
