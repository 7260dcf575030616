#include "core/capture/segment/engine.h"

#include <limits>
#include <utility>

#include "core/capture/segment/code_segments.h"

namespace vitrine::capture {

int32_t Engine::number_of(const CallSettingsPtr& settings) {
  PyObject *const backend = settings->backend.get(), *const observer = settings->observer.get();
  size_t place = numbered_.size();
  for (size_t i = 0; i < numbered_.size(); ++i) {
    const Numbered& n = numbered_[i];
    if (!n.lifeline)
      place = i;
    else if (n.backend == backend && n.observer == observer && n.plain.same_code_as(*settings))
      return static_cast<int32_t>(i);
  }
  if (place == numbered_.size()) numbered_.emplace_back();
  auto lifeline = std::make_unique<Lifeline>([this, place] {
    std::vector<std::shared_ptr<Segment>> dropped;
    give_back(place, dropped);
  });
  for (PyObject* o : {backend, observer}) lifeline->hold_weakly(o);
  Numbered& own = numbered_[place];
  own.plain = *settings;
  own.backend = backend, own.observer = observer;
  own.lifeline = std::move(lifeline);
  return static_cast<int32_t>(place);
}

void Engine::give_back(size_t number, std::vector<std::shared_ptr<Segment>>& dropped) {
  for (CodeSegments* code : codes) code->forget(static_cast<int32_t>(number), dropped);
  const auto last = std::make_unique<Numbered>();  // its end may run code of the user's
  std::swap(*last, numbered_[number]);
}

void Engine::forget(PyObject* observer) {
  std::vector<std::shared_ptr<Segment>> dropped;  // alive until nothing iterates over `codes`
  for (size_t i = 0; i < numbered_.size(); ++i) {
    if (observer && numbered_[i].observer == observer) give_back(i, dropped);
    if (observer) continue;
    for (CodeSegments* code : codes) code->forget(static_cast<int32_t>(i), dropped);
  }
  if (!observer) warned_.clear();
}

void Engine::warn(const std::string& text, const std::string& hint, const std::string& detail, Id entity) {
  if (SessionRecording* r = live_recording()) r->message("warning", text, hint, detail, entity);
  tell(text, hint, detail);
}

void Engine::tell(const std::string& text, const std::string& hint, const std::string& detail) {
  if (!warned_.insert(text).second) return;
  ErrorAside aside;
  const PyRef category = find(Name::VitrineWarning);
  std::string shown = "vitrine: " + text;
  if (!hint.empty()) shown += (shown.ends_with('.') ? " " : ". ") + hint;
  if (!detail.empty()) shown += " (" + detail + ")";
  PyErr_WarnEx(category ? category.get() : PyExc_UserWarning, shown.c_str(), 1);
  PyErr_Clear();  // under an "error" filter too: what runs is right, and must not fail for a warning
}

void Engine::tell(const runtime::Problem& p) {
  if (p.cause.empty() || warned_.insert(p.cause).second)
    tell(p.text, p.hint, p.reproducer.empty() ? "" : "reproducer: " + p.reproducer);
}

void Engine::tell(const runtime::Plan& plan) {
  for (const runtime::Problem& p : plan.problems()) tell(p);
}

void Engine::start_profile(int64_t calls) {
  profile.clear();
  calls_profiled_.clear();
  profiled_calls_ = calls;
}

// Launches are only seen one by one where they are not replayed: who wants each call's gets them, and who
// watches a script leaves its CUDA Graphs alone.
bool Engine::profiles_this(Id compilation, const runtime::Plan& plan) {
  const bool all = profiled_calls_ == std::numeric_limits<int64_t>::max();
  return profiling() && calls_profiled_[compilation] <= profiled_calls_ &&
         (all || plan.graph_facts().state.empty());
}

bool Engine::profiles(Id compilation, const runtime::Plan* plan) {
  if (!profiling()) return false;
  ++calls_profiled_[compilation];
  return plan ? profiles_this(compilation, *plan) : calls_profiled_[compilation] <= profiled_calls_;
}

void Engine::note(const std::string& severity, const std::string& text, const std::string& detail,
                  Id entity) {
  if (SessionRecording* r = live_recording()) r->message(severity, text, "", detail, entity);
}

std::function<void(session::CacheRow)> Engine::kept_teller(Id compilation) {
  if (!live_recording() || !compilation) return {};
  return [this, compilation, session = recording->started_ns()](session::CacheRow row) {
    SessionRecording* const live = live_recording();
    if (!live || live->started_ns() != session) return;
    row.compilation = compilation;
    live->writer().put(row);
  };
}

runtime::CompileOptions Engine::compile_options(const CallSettings& settings) const {
  runtime::CompileOptions options;
  options.mode = settings.mode;
  options.fuse = settings.fuse;
  options.verify = settings.verify;
  options.products = settings.products;
  options.freezing = settings.freezing;
  options.target = settings.target;
  options.edited = config.edited;
  options.bisect = config.bisect;
  options.faults = config.faults;
  options.observer = config.observer;
  options.watched = config.observer != nullptr;
  options.user_passes = config.user_passes;
  options.stages = config.stages;
  options.nvrtc = config.nvrtc;
  options.nvdisasm = config.nvdisasm;
  options.disabled_passes = settings.disabled_passes;
  options.cache_dir = config.cache_dir;
  options.threads = static_cast<int>(config.threads);
  options.arenas = arenas;
  options.kept = kept;
  options.tuning_seconds = config.autotune_seconds;
  options.tuning_ns = settings.tuning_ns;
  return options;
}

}  // namespace vitrine::capture
