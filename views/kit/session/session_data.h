// A session as the views see it: everything but large texts and edges, constant once loaded, shared by
// pointer. A run in progress is followed by replacing it with a newer one; ids stay the same. Large texts are
// read by a job through `texts`.
#pragma once

#include <QString>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/base/result.h"
#include "core/session/reader.h"
#include "core/session/rows.h"
#include "views/kit/session/kernel_lines.h"
#include "views/kit/session/link_index.h"
#include "views/kit/session/pages.h"
#include "views/kit/session/table.h"

namespace vitrine::kit {

using Text = std::shared_ptr<const std::string>;

// Texts of one session file, kept once read. Thread-safe; `load` reads the file, so call it from jobs only.
class TextStore {
 public:
  explicit TextStore(std::unique_ptr<session::Reader> reader) : reader_(std::move(reader)) {}
  Text cached(session::BlobRef ref) const;  // null when not read yet; "" for no text
  Text load(session::BlobRef ref);
  template <class Row>
  std::vector<Row> rows(const std::string& where, const std::vector<int64_t>& args) {
    const std::lock_guard lock(mutex_);
    return reader_->rows<Row>(where, args);
  }
  // A typed column blob, e.g. the starts of a lane.
  template <class T>
  std::vector<T> column(session::BlobRef ref) {
    const Text raw = load(ref);
    std::vector<T> out(raw->size() / sizeof(T));
    std::copy_n(raw->data(), out.size() * sizeof(T), reinterpret_cast<char*>(out.data()));
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<session::Reader> reader_;
  std::unordered_map<int64_t, Text> texts_;
};

// How far a session has been loaded: written by the job that loads it, read by whoever tells of it.
struct Loading {
  std::atomic<int64_t> rows = 0, all = 0;  // all 0: not known yet
};

struct SessionData {
  std::string path;
  bool trusted = false;  // recorded here by this user, or said to be: see session::Reader
  int64_t stamp = 0;     // of the file when it was loaded; differs once more has been recorded
  std::string damage;    // "" or what could not be read
  std::map<std::string, std::string> meta;
  // Of another tool's record: what was called and checked how often is not known.
  bool imported() const { return meta.contains("imported"); }

  Table<session::RunRow> runs;
  Table<session::FileRow> files;
  Table<session::SpanRow> spans;                    // of(file)
  Table<session::CodeRow> codes;                    // of(file)
  Table<session::InstructionRow> instructions;      // of(code), by pc
  Table<session::FrameRow> frames;                  // of(run)
  Table<session::SegmentRow> segments;              // of(frame)
  Table<session::CompilationRow> compilations;      // of(segment)
  Table<session::StepRow> steps;                    // of(compilation), in order
  Table<session::GuardRow> guards;                  // of(compilation), in order
  Table<session::BreakRow> breaks;                  // of(compilation)
  Table<session::RecompilationRow> recompilations;  // of(compilation): why that compilation was made
  Table<session::CallRow> calls;                    // of(run)
  Table<session::StageRow> stages;                  // of(compilation)
  Table<session::GraphRow> graphs;                  // of(compilation), in order: all snapshots
  Table<session::NodeRow> nodes;                    // of(graph), in order
  Pages<session::EdgeRow> edges;                    // of(graph)
  Table<session::RewriteRow> rewrites;           // of(graph), in order: what the pass that led to it applied
  Table<session::CrossingRow> crossings;         // of(compilation), in order: what backward reads of forward
  Table<session::PartitionRow> partitions;       // of(compilation): at most one
  Table<session::BackwardRow> backwards;         // of(compilation): its backward compilations
  Table<session::SymbolRow> symbols;             // of(compilation), in order
  Table<session::SymbolGuardRow> symbol_guards;  // of(compilation), in order
  Table<session::InstanceRow> instances;         // of(compilation), in order
  Table<session::SizedBufferRow> sized_buffers;  // of(compilation), in order
  Table<session::DecisionRow> decisions;         // of(compilation), in order
  Table<session::KernelRow> kernels;             // of(compilation), in order
  KernelLines ranges;                            // of(kernel), by text and line
  Table<session::RemarkRow> remarks;             // of(kernel)
  Table<session::ChoiceRow> choices;             // of(kernel): who could compute it, in order
  Table<session::CounterRow> counters;           // of(kernel): by launch and kernel on the device
  Table<session::SampleRow> samples;             // of(kernel): by instruction
  Table<session::CudaGraphRow> cuda_graphs;      // of(compilation): at most one
  std::unordered_map<Id, session::GpuKernelRow> gpu_kernels;  // by kernel
  Table<session::BufferRow> buffers;                          // of(compilation)
  Table<session::LaunchRow> launches;                         // of(compilation), in order
  Table<session::LaneRow> lanes;                              // of(run)
  Table<session::AccuracyRow> accuracies;                     // of(run)
  Table<session::NumericsRow> numerics;                       // of(compilation), in order
  Table<session::TimingRow> timings;                          // of(run)
  Table<session::MeasurementRow> measurements;                // of(run)
  Table<session::AllocationRow> allocations;                  // of(run), by side and time
  std::vector<session::CeilingRow> ceilings;
  Table<session::MessageRow> messages;  // of(run)
  std::vector<session::NameRow> names;  // names[i].id == i + 1
  LinkIndex links;                      // without kernels' lines: those know their node and their kernel
  std::shared_ptr<TextStore> texts;
  std::unordered_map<Id, Id> workCodes;  // by compilation
  Id main =
      0;  // the compilation that is shown first: of the first run, the one whose graph has most operators
  std::string device;  // of the first run, as types write it: "cuda:0"; "" on the CPU

  // Loads a snapshot; milliseconds to a second, so from a job. Errors: as session::Reader::open.
  static Result<std::shared_ptr<const SessionData>> load(const std::string& path,
                                                         session::Whose whose = session::Whose::Found,
                                                         Loading* loading = nullptr);

  static int64_t stampOf(
      const std::string& path);  // from sizes and times of the file and its log; -1: not there

  // What the entity belongs to, 0 if unknown: any entity of a compilation -> the compilation, of a run -> the
  // run.
  Id compilationOf(Id id) const;
  Id runOf(Id id) const;
  Id codeOf(Id compilation) const;      // of the captured frame
  bool isGpu(Id compilation) const;     // its generated kernels are a GPU's
  Id workCodeOf(Id compilation) const;  // the function a person means by it, see kit/frames.h
  // The compilation whose joint graph a backward one is a half of; any other is its own.
  Id forwardOf(Id compilation) const;
  const session::StageRow* stage(Id compilation, std::string_view name) const;  // nullptr: not in this run
  // What the stage counted, from its row or else from the rows it left; -1: it is not in this run.
  int64_t countOf(Id compilation, std::string_view stage) const;
  // Snapshots of one stage, in order; the last is what the stage hands on. Empty when there is none.
  std::vector<const session::GraphRow*> snapshots(Id compilation, std::string_view stage) const;
  // A pass that changed nothing left no nodes: the snapshot of its stage, up to this one, that has them.
  const session::GraphRow* withNodes(const session::GraphRow& snapshot) const;
  // Of a stage that a backward compilation shares with its forward one: that one's.
  const session::GraphRow* lastGraph(Id compilation, std::string_view stage) const;
  const session::NodeRow* nodeByStable(Id graph, int64_t stable) const;
  const std::string& name(int64_t row) const;  // of a lane's name column
  QString fileName(Id file) const;             // last part of its path
  // A tensor's type without the run's device: "f32[8,128]"; what lies elsewhere says so: "i64[] cpu".
  QString type(const std::string& recorded) const;

  // Words for the entity, the same in every view: "gelu", "K2 add_gelu", "32:12 F.gelu(…)", "0/1", "l6 → l7".
  QString label(Id id) const;
  QString place(Id span) const;  // "32:12"
};
using SessionPtr = std::shared_ptr<const SessionData>;

}  // namespace vitrine::kit
