#include "core/runtime/kernel_stage.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <unordered_map>

#include "core/base/clock.h"
#include "core/runtime/cuda/cuda_stage.h"
#include "core/runtime/reproducer_file.h"

namespace vitrine::runtime {

namespace kc = kernel_compiler;

namespace {

// One text to compile; several kernels of a program may share it.
struct ObjectWork {
  std::string key;
  const codegen::Kernel* kernel = nullptr;  // the first that has this text
  bool sent = false;
  KernelService::Ticket ticket;
  CompiledKernel result;
  Problem problem;
  bool died = false;  // the compiler, of this one
};

std::string diagnostics_text(const kc::Response& response) {
  std::string out;
  for (const kc::Diagnostic& d : response.diagnostics)
    out += "line " + std::to_string(d.line) + ":" + std::to_string(d.col) + ": " + d.severity + ": " +
           d.text + "\n";
  return out;
}

// "the object could not be kept in memory for the linker: File too large" -> "File too large".
std::string cause_of(const std::string& text) {
  const size_t at = text.rfind(": ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

class ObjectStage {
 public:
  ObjectStage(const CompileOptions& options, bool with_texts, const std::function<bool()>& cancelled)
      : options_(options), with_texts_(with_texts), cancelled_(cancelled) {}

  KernelStage run(const std::vector<const codegen::Kernel*>& kernels) {
    KernelStage out;
    out.start_ns = monotonic_ns();
    gather(kernels);
    auto cache = ObjectCache::open(options_.cache_dir);
    if (!cache)  // kernels still run; they are compiled anew in every process
      no_place_ = cache.error();
    else
      cache_ = cache.take();
    for (ObjectWork& w : work_) look_up(w);
    send();
    for (ObjectWork& w : work_) receive(w);
    if (grown_) cache_->trim();
    out.cancelled = cancelled_now_;
    for (const ObjectWork& w : work_) out.add_work(w.result);
    out.workers = workers_;
    for (ObjectWork& w : work_) w.result.failed = !w.result.loaded.function && !cancelled_now_;
    for (const codegen::Kernel* k : kernels) out.kernels.push_back(work_[place_.at(k->text)].result);
    if (no_place_ && !lacks_.empty()) no_place_.reset();  // of what the machine lacks this says less
    if (no_place_) {
      const std::string text = no_place_->what + " (" + no_place_->where + ")";
      if (first_time(text)) out.problems.push_back({text, no_place_->hint, "", cause_of(no_place_->what)});
    }
    if (!lacks_.empty())
      missing_ = {"kernels cannot be compiled here: " + lacks_ + ": they run through PyTorch instead",
                  lacks_hint_, "", cause_of(lacks_)};
    if (!missing_.text.empty() && !without_compiler(kernels, out)) out.problems.push_back(missing_);
    tell_deaths_once();
    for (ObjectWork& w : work_)
      if (!w.problem.text.empty()) out.problems.push_back(w.problem);
    out.duration_ns = monotonic_ns() - out.start_ns;
    return out;
  }

 private:
  // Kernels of single numbers need none; whether all are such.
  static bool without_compiler(const std::vector<const codegen::Kernel*>& kernels, KernelStage& out) {
    bool all = true;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (!out.kernels[i].failed) continue;
      out.kernels[i].loaded.scalar = kernels[i]->scalar;
      out.kernels[i].failed = !kernels[i]->scalar;
      all = all && !out.kernels[i].failed;
    }
    return all;
  }
  void gather(const std::vector<const codegen::Kernel*>& kernels) {
    for (const codegen::Kernel* k : kernels) {
      if (!place_.try_emplace(k->text, work_.size()).second) continue;
      ObjectWork& w = work_.emplace_back();
      w.key = ObjectCache::key(k->text);
      w.kernel = k;
    }
  }

  void look_up(ObjectWork& w) {
    auto entry = cache_ ? cache_->find(w.key) : std::nullopt;
    if (!entry) return;
    std::optional<kc::Texts> texts;
    if (with_texts_ && !(texts = cache_->texts(w.key))) return;  // compile again, for the texts
    auto loaded = load_kernel(entry->fd);
    if (!loaded) return cache_->remove(w.key);
    w.result.loaded = loaded.take();
    w.result.cached = true;
    if (texts) w.result.texts = std::move(*texts);
  }

  void send() {
    std::string program;
    KernelService* service = nullptr;
    for (ObjectWork& w : work_) {
      if (w.result.loaded.function) continue;
      if (!service) {
        program = find_kernel_compiler(options_.kernel_compiler);
        if (program.empty()) {
          missing_ = {"vitrine-cc, the kernel compiler, is missing: kernels run through PyTorch instead",
                      "Build the target vitrine-cc, or install Vitrine again.", ""};
          return;
        }
        service = &shared_kernel_service(program);
      }
      w.result.start_ns = monotonic_ns();
      w.ticket = service->submit({0, w.kernel->label, w.kernel->text, "", "native", with_texts_});
      w.sent = true;
      workers_ = std::min<int64_t>(workers_ + 1, service->helpers());
    }
  }

  bool wait(ObjectWork& w) {
    while (w.ticket.answer.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
      if (cancelled_now_ || !cancelled_ || !cancelled_()) continue;
      cancelled_now_ = true;
      for (ObjectWork& each : work_)
        if (each.sent) *each.ticket.cancelled = true;
    }
    return !cancelled_now_;
  }

  void receive(ObjectWork& w) {
    if (!w.sent) return;
    if (!wait(w)) return;
    KernelAnswer answer = w.ticket.answer.get();
    if (answer.of_machine) {
      lacks_ = answer.error;
      if (!answer.hint.empty()) lacks_hint_ = answer.hint;
      return;
    }
    if (answer.kind != KernelAnswer::Kind::compiled) return refuse(w, answer);
    const Descriptor file = keep(w.key, answer.response.object);
    if (!file) {
      lacks_ = std::string("a compiled kernel cannot be kept in memory: ") + std::strerror(errno);
      return;
    }
    auto loaded = load_kernel(file);
    if (!loaded) {
      answer.error = loaded.error().what;
      return refuse(w, answer);
    }
    w.result.loaded = loaded.take();
    w.result.wall_ns = answer.wall_ns;
    w.result.front_ns = answer.response.front_ns;
    w.result.codegen_ns = answer.response.codegen_ns;
    w.result.link_ns = answer.response.link_ns;
    if (!with_texts_) return;
    w.result.texts = std::move(answer.response.texts);
    if (cache_) cache_->insert_texts(w.key, w.result.texts);
  }

  // The file from which it is loaded: of the cache, else of memory.
  Descriptor keep(const std::string& key, const std::string& object) {
    if (!cache_) return memory_file(object);
    auto entry = cache_->insert(key, object);
    grown_ = grown_ || entry;
    if (entry) return std::move(entry.value().fd);
    no_place_ = entry.error();
    return memory_file(object);
  }

  void refuse(ObjectWork& w, const KernelAnswer& answer) {
    std::string said = diagnostics_text(answer.response);
    w.died = answer.kind == KernelAnswer::Kind::failed;
    w.problem.text =
        "kernel " + w.kernel->label + " (" + w.kernel->name + ") could not be compiled: " + answer.error;
    if (!answer.response.diagnostics.empty()) w.problem.text += ": " + answer.response.diagnostics[0].text;
    w.problem.hint = "Its operators run through PyTorch instead; ";
    w.problem.hint += w.kernel->edited ? "its text was edited." : "please report it with the reproducer.";
    w.problem.reproducer = write_kernel_reproducer(options_.cache_dir, w.kernel->label + "_" + w.kernel->name,
                                                   w.kernel->text, w.problem.text + "\n" + said);
  }

  // A compiler that dies of one kernel tells of that kernel; one that dies of several tells of itself.
  void tell_deaths_once() {
    std::vector<Problem*> deaths;
    for (ObjectWork& w : work_)
      if (w.died) deaths.push_back(&w.problem);
    if (deaths.size() < 2) return;
    deaths[0]->text += "; " + std::to_string(deaths.size() - 1) + " more fared the same";
    for (size_t i = 1; i < deaths.size(); ++i) *deaths[i] = {};
  }

  const CompileOptions& options_;
  bool with_texts_;
  const std::function<bool()>& cancelled_;
  bool cancelled_now_ = false;
  int64_t workers_ = 0;
  bool grown_ = false;  // the folder: only then is it measured, which takes milliseconds
  Status no_place_;     // of the machine: said once, not once a kernel
  Problem missing_;     // the same
  std::string lacks_;   // what the machine lacks for any kernel; the same
  std::string lacks_hint_ = "Look at the limits of this process (ulimit -a).";
  std::shared_ptr<ObjectCache> cache_;
  std::vector<ObjectWork> work_;
  std::unordered_map<std::string, size_t> place_;  // text -> work
};

}  // namespace

KernelStage compile_kernels(const std::vector<codegen::Kernel>& kernels, const CompileOptions& options,
                            bool with_texts, const std::function<bool()>& cancelled) {
  if (kernels.empty()) return {};
  std::map<int, std::vector<size_t>> places;  // by GPU, -1: the CPU
  for (size_t k = 0; k < kernels.size(); ++k)
    places[kernels[k].grid.blocks > 0 ? kernels[k].grid.device : -1].push_back(k);
  KernelStage out;
  out.start_ns = monotonic_ns();
  out.kernels.resize(kernels.size());
  for (const auto& [device, list] : places) {
    std::vector<const codegen::Kernel*> part;
    for (size_t k : list) part.push_back(&kernels[k]);
    KernelStage done = device < 0 ? ObjectStage(options, with_texts, cancelled).run(part)
                                  : cuda::compile_kernels(part, device, options, with_texts, cancelled);
    for (size_t i = 0; i < list.size() && i < done.kernels.size(); ++i)
      out.kernels[list[i]] = std::move(done.kernels[i]);
    out.problems.insert(out.problems.end(), done.problems.begin(), done.problems.end());
    out.cancelled = out.cancelled || done.cancelled;
    out.duration_ns += done.duration_ns;
    out.front_ns += done.front_ns, out.back_ns += done.back_ns;
    out.workers = std::max(out.workers, done.workers);
  }
  return out;
}

}  // namespace vitrine::runtime
