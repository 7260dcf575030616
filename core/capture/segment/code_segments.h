// The segments of one code object, by the place where they begin. Lives and dies with the code object.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/capture/cpython/code_entry.h"
#include "core/capture/segment/segment.h"
#include "core/torch_api/observed_operators.h"

namespace vitrine::capture {

class CodeSegments;
class Engine;

// A position of a frame at which compiled code may begin.
struct Place {
  explicit Place(CodeSegments& code) : code(code) {}
  ~Place();
  Place(const Place&) = delete;
  CodeSegments& code;
  int32_t pc = 0, depth = 0;
  bool tracing = false;                            // some thread is at it; others run eagerly meanwhile
  bool observed = true;                            // whether a profiler saw operators before it was
  bool eager = false;                              // nothing can be captured here, whatever the values
  bool speculates = true;                          // no branch that only raises was taken here
  bool eager_rest = false;                         // nor behind it
  std::vector<std::shared_ptr<Segment>> segments;  // most recently used first
  std::unordered_map<int32_t, SizeHistory> sizes;  // what its compilations saw, by number of the settings
  void add(const std::shared_ptr<Segment>& segment);
  // Gives up those that are chosen, and hands them over: they end when nothing uses them any more.
  template <class Chosen>
  std::vector<std::shared_ptr<Segment>> take(Chosen&& chosen) {
    std::vector<std::shared_ptr<Segment>> taken;
    for (const std::shared_ptr<Segment>& s : segments)
      if (chosen(s)) taken.push_back(s), s->place = nullptr;
    std::erase_if(segments, [](const std::shared_ptr<Segment>& s) { return !s->place; });
    return taken;
  }
  // The last recorded segment for these settings that was buried, and why.
  struct Ended {
    Id compilation = 0;
    GuardFailure failure;
  };
  std::unordered_map<int32_t, Ended> ended;
  // What a segment was compiled for has ended.
  void bury(Segment& segment);
  // What was compiled for the module whose method the frame runs comes first.
  void bring_forward(const Frame& frame);
  // Those that count against the limit of this frame.
  int64_t compilations(int32_t settings, const Frame& frame) const;
};

// Marks a place while it is traced, however that ends. No profiler sees operators of this thread meanwhile.
class Tracing {
 public:
  explicit Tracing(Place& place) : place_(place) {
    place_.tracing = true;
    place_.observed = unseen_.before();
  }
  ~Tracing() { place_.tracing = false; }
  Tracing(const Tracing&) = delete;

 private:
  Place& place_;
  const torch_api::ObservedOperators unseen_{false};
};

class CodeSegments : public CodeData {
 public:
  explicit CodeSegments(Engine& engine);
  ~CodeSegments() override;
  Place& place(int32_t pc, int32_t depth);
  // The place that was asked for first: where a call begins.
  bool begins_at(const Place& place) const { return places_.front().get() == &place; }
  // Hands over what it drops: the end of a segment may end code objects, and with them others of this class.
  void forget(int32_t settings, std::vector<std::shared_ptr<Segment>>& dropped);
  const std::vector<std::unique_ptr<Place>>& places() const { return places_; }
  int64_t compilations = 0;  // of all places
  int64_t buried = 0;        // of these: what they were for has ended

 private:
  Engine& engine_;
  std::vector<std::unique_ptr<Place>> places_;  // a Place stays where it is: a thread may be tracing at it
};

}  // namespace vitrine::capture
