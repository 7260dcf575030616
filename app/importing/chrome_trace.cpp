// Traces of PyTorch's profiler, in Chrome's format: event by event, so that a large file takes only its
// slices.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "app/importing/input.h"
#include "app/importing/session_builder.h"

namespace vitrine::importing {

namespace {

constexpr size_t kMostEvents = 20'000'000;
constexpr size_t kMostName = 300;

struct Event {
  std::string phase, category, name, process, thread, stream, said, device;
  double start = std::numeric_limits<double>::quiet_NaN(), duration = 0;
};

// Takes what stands in the array traceEvents, or in an array at the top.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::function<void(const Event&)> found;
  size_t count = 0;
  bool failed = false;
  size_t failed_at = 0;  // byte of what was parsed
  std::string device_name;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t value) override {
    return number(static_cast<double>(value), std::to_string(value));
  }
  bool number_unsigned(uint64_t value) override {
    return number(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& text) override {
    return number(value, text.substr(0, 40));
  }
  bool string(std::string& value) override {
    if (depth_ == event_) {
      if (key_ == "ph") now_.phase = value.substr(0, 4);
      if (key_ == "cat") now_.category = value.substr(0, 60);
      if (key_ == "name") now_.name = value.substr(0, kMostName);
      if (key_ == "pid") now_.process = value.substr(0, 60);
      if (key_ == "tid") now_.thread = value.substr(0, 60);
    } else if (event_ && depth_ == event_ + 1 && key_ == "name") {
      now_.said = value.substr(0, kMostName);  // args of a name
    } else if (!event_ && key_ == "name" && device_name.empty()) {
      device_name = value.substr(0, 100);
    }
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(size_t) override {
    ++depth_;
    if (inside_ && !event_ && depth_ == inside_ + 1) event_ = depth_, now_ = {};
    return true;
  }
  bool end_object() override {
    if (event_ == depth_) {
      event_ = 0;
      found(now_);
      if (++count > kMostEvents) return false;
    }
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    ++depth_;
    if (!inside_ && (depth_ == 1 || (depth_ == 2 && key_ == "traceEvents"))) inside_ = depth_;
    return true;
  }
  bool end_array() override {
    if (inside_ == depth_) inside_ = 0, ended_ = true;
    --depth_;
    return true;
  }
  bool key(std::string& value) override { return key_ = value.substr(0, 60), true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    failed = true;
    failed_at = position;
    return false;
  }
  void begin() {
    failed = false;
    ended_ = false;
    depth_ = inside_ = event_ = 0;
    key_.clear();
  }
  bool whole() const { return ended_; }  // the array of events has ended; what follows it does not matter

 private:
  bool number(double value, const std::string& text) {
    if (depth_ == event_) {
      if (key_ == "ts") now_.start = value;
      if (key_ == "dur") now_.duration = value;
      if (key_ == "pid") now_.process = text;
      if (key_ == "tid") now_.thread = text;
    } else if (event_ && depth_ == event_ + 1) {
      if (key_ == "stream") now_.stream = text;
      if (key_ == "device") now_.device = text;
    }
    return true;
  }
  size_t depth_ = 0, inside_ = 0, event_ = 0;  // where the array and the event begin
  bool ended_ = false;
  std::string key_;
  Event now_;
};

// What a category is on our timeline.
std::string lane_kind(const Event& e) {
  if (e.category == "kernel" || e.category == "gpu_memcpy" || e.category == "gpu_memset") return "stream";
  if (e.category == "cuda_runtime" || e.category == "cuda_driver") return "api";
  if (e.category == "cuda_sync") return "wait";
  if (e.category == "overhead") return "overhead";
  if (e.category == "python_function" || e.category.ends_with("user_annotation")) return "range";
  return "thread";
}

// Operators are called as those of a recorded session are.
std::string shown_name(const std::string& name) {
  return name.starts_with("aten::") ? name.substr(6) : name;
}

std::string family(const Event& e) {
  if (e.category == "gpu_memcpy" || e.category == "gpu_memset") return "memory";
  std::string name = e.name;
  if (name.starts_with("aten::")) return family_of(shown_name(name));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* word : {"gemm", "matmul", "cutlass", "conv", "cublas"})
    if (name.find(word) != std::string::npos) return "matmul";
  for (const char* word : {"triton_red", "triton_per", "reduce", "softmax", "norm"})
    if (name.find(word) != std::string::npos) return "reduction";
  return e.category == "kernel" ? "pointwise" : "";
}

bool of_compiled(const Event& e) {
  for (const char* word : {"Torch-Compiled Region", "CompiledFxGraph", "triton_poi", "triton_red",
                           "triton_per", "CompiledFunction"})
    if (e.name.find(word) != std::string::npos) return true;
  return false;
}

// What is damaged is passed over: reading goes on at the next event. Gives how many gaps there are.
size_t read_events(std::string& json, Events& events) {
  constexpr size_t kMostGaps = 200;
  size_t from = 0, gaps = 0;
  while (gaps < kMostGaps) {
    events.begin();
    nlohmann::json::sax_parse(json.begin() + static_cast<std::ptrdiff_t>(from), json.end(), &events);
    if (!events.failed || events.whole()) break;
    ++gaps;
    size_t at = json.find("\"ph\"", from + events.failed_at);
    if (at == std::string::npos || (at = json.rfind('{', at)) == std::string::npos || at <= from) break;
    from = at - 1;
    json[from] = '[';  // what is left is an array of events
  }
  return gaps;
}

}  // namespace

bool is_chrome_trace(const std::string& path) {
  const std::string head = first_bytes(path, 1 << 16);
  const size_t at = head.find_first_not_of(" \t\r\n");
  if (at == std::string::npos || (head[at] != '{' && head[at] != '[')) return false;
  return head.find("\"traceEvents\"") != std::string::npos || head.find("\"ph\"") != std::string::npos ||
         head.find("\"schemaVersion\"") != std::string::npos;
}

Status import_chrome_trace(const std::string& path, SessionBuilder& out) {
  auto text = read_input(path);
  if (!text) return text.error();
  std::string json = text.take();
  // The profiler writes names as they are: a control character in one would end the reading.
  for (char& c : json)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  using LaneKey = std::tuple<std::string, std::string, std::string>;  // process, kind, thread or stream
  std::map<LaneKey, std::vector<ImportedSlice>> lanes;
  std::map<std::pair<std::string, std::string>, std::string> names;
  struct Raw {
    const LaneKey* lane;
    double start, duration;
    int64_t name;
  };
  std::vector<Raw> raw;
  bool compiled = false;
  double first = std::numeric_limits<double>::infinity();
  Events events;
  events.found = [&](const Event& e) {
    if (e.phase == "M" && e.name == "thread_name" && names.size() < 10'000)
      names[{e.process, e.thread}] = e.said;
    if (e.phase != "X" || e.category == "Trace" || !std::isfinite(e.start) || !std::isfinite(e.duration) ||
        e.duration < 0)
      return;
    if (lanes.size() >= 2000) return;
    const std::string kind = lane_kind(e);
    const bool python = e.category == "python_function";
    const auto lane =
        lanes
            .try_emplace({e.process, kind,
                          kind == "stream" ? "stream " + (e.stream.empty() ? e.thread : e.stream)
                                           : (python ? "Python " : "") + e.thread})
            .first;
    compiled = compiled || of_compiled(e);
    first = std::min(first, e.start);
    raw.push_back({&lane->first, e.start, e.duration, out.out().name(shown_name(e.name), family(e))});
  };
  const size_t gaps = read_events(json, events);
  json.clear();
  json.shrink_to_fit();
  for (const Raw& r : raw)
    lanes[*r.lane].push_back({static_cast<int64_t>(std::min((r.start - first) * 1e3, 4e15)),
                              static_cast<int64_t>(std::min(r.duration * 1e3, 4e15)), r.name});
  if (!events.device_name.empty()) out.run.device = events.device_name;
  for (auto& [key, slices] : lanes) {
    const auto& [process, kind, thread] = key;
    const auto named = names.find({process, thread});
    out.lane(compiled ? "compiled" : "eager", kind,
             named == names.end() || named->second.empty() ? thread : named->second, std::move(slices));
  }
  if (gaps)
    out.note(
        "warning",
        "The trace ends in the middle, or is damaged: " + std::to_string(events.count) + " events were read.",
        "Was the process that wrote it killed?");
  if (events.count > kMostEvents)
    out.note("warning", "Only the first " + std::to_string(kMostEvents) + " events were read.");
  return std::nullopt;
}

}  // namespace vitrine::importing
