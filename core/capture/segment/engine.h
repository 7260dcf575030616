// What all compiled callables of a process share: configuration, the session being recorded, the profile
// being taken, and the register of code objects that have segments.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/capture/guards/lifeline.h"
#include "core/capture/segment/controls/controls.h"
#include "core/capture/segment/recording.h"
#include "core/capture/segment/settings.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

class CodeSegments;
class Segment;

// One launch of a profiled call.
struct ProfileEntry {
  Id compilation = 0;
  runtime::LaunchTime time;
};

// A compiled graph that gave something else than eager.
struct Difference {
  Id compilation = 0;
  std::string text, reproducer;
};

class Engine {
 public:
  Config config;
  Controls controls;
  std::unique_ptr<SessionRecording> recording;
  std::set<CodeSegments*> codes;
  int observing = 0;                  // calls of vitrine.explain under way
  bool eager = false;                 // compiled callables run as eager does
  PyRef before_call;                  // told of each outermost call of one, by its number; null: nobody is
  int64_t callables = 0;              // compiled ones that were made
  int calls_under_way = 0;            // of compiled callables, while somebody is told
  std::vector<ProfileEntry> profile;  // of the calls that profiles() was true for
  std::atomic<bool> cancelled = false;
  const std::shared_ptr<runtime::KeptPrograms> kept = std::make_shared<runtime::KeptPrograms>();
  const std::shared_ptr<runtime::ArenaPool> arenas = runtime::new_arena_pool();
  std::vector<Difference> differences;  // found by checked calls, since they were last taken

  // The recording, where this process may write to it.
  SessionRecording* live_recording() { return recording && recording->alive() ? recording.get() : nullptr; }
  // Empties the profile. calls: of each compilation the first so many have their launches noted; 0: none.
  void start_profile(int64_t calls);
  bool profiling() const { return profiled_calls_ > 0; }
  // Asked once a call, which counts: whether its launches are noted. plan: nullptr where it is not known yet.
  bool profiles(Id compilation, const runtime::Plan* plan);
  // The same of the call under way.
  bool profiles_this(Id compilation, const runtime::Plan& plan);
  void note_launches(Id compilation, const std::vector<runtime::LaunchTime>& times) {
    for (const runtime::LaunchTime& time : times) profile.push_back({compilation, time});
  }
  // The same number for settings under which the same code is made.
  int32_t number_of(const CallSettingsPtr& settings);
  // Drops all segments; those made with this observer only, if one is given.
  void forget(PyObject* observer);
  // Records a message, and warns the user the first time that this text appears.
  void warn(const std::string& text, const std::string& hint, const std::string& detail, Id entity);
  // Warns the user the first time that this text appears; what it tells is recorded already.
  void tell(const std::string& text, const std::string& hint, const std::string& detail);
  void tell(const runtime::Problem& problem);
  void tell(const runtime::Plan& plan);  // each of its problems
  std::function<void(const runtime::Problem&)> teller() {
    return [this](const runtime::Problem& problem) { tell(problem); };
  }
  // Records what became of programs that were looked for on disk; empty: nobody listens.
  std::function<void(session::CacheRow)> kept_teller(Id compilation);
  // Records a message only.
  void note(const std::string& severity, const std::string& text, const std::string& detail, Id entity);
  runtime::CompileOptions compile_options(const CallSettings& settings) const;

 private:
  // Settings that have a number. The user's own backend is not kept alive by it.
  struct Numbered {
    PlainSettings plain;
    PyObject *backend = nullptr, *observer = nullptr;
    std::unique_ptr<Lifeline> lifeline;  // null: given back
  };
  void give_back(size_t number, std::vector<std::shared_ptr<Segment>>& dropped);
  std::vector<Numbered> numbered_;
  std::set<std::string> warned_;
  int64_t profiled_calls_ = 0;
  std::map<Id, int64_t> calls_profiled_;
};

}  // namespace vitrine::capture
