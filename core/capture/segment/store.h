// The segment store of one set of settings: looks a frame's place up, runs the segment whose guards hold, and
// captures and compiles a new one when none does.
#pragma once

#include <optional>

#include "core/capture/hook.h"
#include "core/capture/segment/code_segments.h"
#include "core/capture/segment/engine.h"
#include "core/capture/segment/recompilation_hint.h"
#include "core/capture/segment_store.h"

namespace vitrine::capture {

class Store : public SegmentStore {
 public:
  Store(Engine& engine, CallSettingsPtr settings);
  SegmentOutcome at(Frame& frame) override;
  void did_not_raise() override;
  const CallSettings& settings() const { return *settings_; }

 private:
  CodeSegments& segments_of(PyObject* code);
  SegmentOutcome look_up(Frame& frame, CodeSegments& code, Place& place);
  // None is planned for this call's sizes: one of the candidates, whose guards hold, or a new one.
  SegmentOutcome enter_ready(Frame& frame, Place& place, const std::shared_ptr<Segment>& segment);
  SegmentOutcome look_up_new_sizes(Frame& frame, CodeSegments& code, Place& place,
                                   const torch_api::GlobalState& state,
                                   const std::vector<std::shared_ptr<Segment>>& candidates);
  SegmentOutcome enter_fitting(Frame& frame, Place& place, const std::shared_ptr<Segment>& segment,
                               const char* how, int64_t start = -1);
  // compile_start: when this entry began, if it compiled first; else -1.
  SegmentOutcome enter(Frame& frame, const std::shared_ptr<Segment>& segment, const char* how,
                       int64_t compile_start = -1);
  // A checked call that found a difference: recorded, told, and the segment runs through PyTorch from then
  // on.
  void report(Frame& frame, Segment& segment, const Check& check);
  // What a stance says that lets nothing be compiled now; nothing: it lets it.
  std::optional<SegmentOutcome> held_back(Frame& frame, Place& place, const torch_api::GlobalState& state);
  bool is_first_example(const Frame& frame, Place& place) const;
  void note_arguments(const Frame& frame, SizeHistory& seen) const;
  // The same of the settings, limits among them.
  std::optional<SegmentOutcome> refused(Frame& frame, const CodeSegments& code, const Place& place,
                                        const torch_api::GlobalState& state);
  SegmentOutcome miss(Frame& frame, CodeSegments& code, Place& place, const torch_api::GlobalState& state);
  // Whether it was compiled as often as it may be. That is told once, and under fullgraph an error is set.
  SegmentOutcome entered(Place& place, const std::shared_ptr<Segment>& segment, SegmentOutcome outcome);
  bool limited(Frame& frame, const CodeSegments& code, const Place& place,
               const torch_api::GlobalState& state);
  // What was compiled last for the place under these settings; nullptr: nothing.
  std::shared_ptr<Segment> newest(const Place& place) const;
  // Why what was compiled before does not serve this call.
  RecompilationCause cause_of(Frame& frame, const CodeSegments& code, const Place& place, Segment& previous,
                              const torch_api::GlobalState& state) const;
  std::shared_ptr<Segment> compile(Frame& frame, Place& place, const torch_api::GlobalState& state,
                                   CompilationRecord* record);
  std::shared_ptr<Segment> build(std::unique_ptr<Trace> trace, Frame& frame, Place& place,
                                 const torch_api::GlobalState& state, CompilationRecord* record,
                                 int64_t start);
  bool give_backend(Segment& segment, const Frame& frame, const torch_api::GlobalState& state,
                    CompilationRecord* record, std::string& message);
  void give_pieces(Segment& segment, CompilationRecord* record, std::string& message);
  runtime::CompileOptions options_for(const Segment& segment, const Instance& instance) const;
  Status place_plan(const Segment& segment, Instance& instance, std::shared_ptr<runtime::Plan> plan,
                    const runtime::CompileOptions& options, BackwardOrigin origin);
  // The plan of an instance, or why it has none.
  void give_plan(const Segment& segment, Instance& instance, CompilationRecord* record, std::string& status,
                 std::string& message);
  // For Config::taker.
  void hand_out(Segment& segment, const Frame& frame, const torch_api::GlobalState& state);
  // The segment is asked for sizes that it meets for the first time. false: it does not fit them.
  bool extend(Segment& segment, Place& place);
  SegmentOutcome give_up(Frame& frame, Place& place, const char* why);
  bool breaks_full_graph(const Trace& trace) const;
  bool only_compiled(const Segment& segment, const SegmentOutcome& outcome) const;

  Engine& engine_;
  CallSettingsPtr settings_;
  int32_t number_;
  CompilerSettings told_;  // when it last had to compile
  BreakInfo awaited_;      // the error that CPython is to come upon
};

// Offers frames of the user's code to a store.
class CaptureHandler : public FrameHandler {
 public:
  CaptureHandler(Engine& engine, CallSettingsPtr settings)
      : FrameHandler(kPolicy), store_(engine, std::move(settings)) {}
  bool wants(PyObject* code) override;
  PyObject* run(_ts* thread, _PyInterpreterFrame* frame) noexcept override;
  const CallSettings& settings() const { return store_.settings(); }
  // Captures this code wherever it comes from: it is what the user gave to vitrine.compile.
  static void always_capture(PyObject* code);

 private:
  static constexpr uint32_t kPolicy = 1;
  Store store_;
};

}  // namespace vitrine::capture
