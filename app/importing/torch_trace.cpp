// Structured logs of torch.compile, as TORCH_TRACE writes them: a line of JSON a record, its payload on the
// lines below, each after a tab.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "app/importing/input.h"
#include "app/importing/session_builder.h"

namespace vitrine::importing {

namespace fs = std::filesystem;
using namespace session;
using Json = nlohmann::json;

namespace {

constexpr size_t kMostFiles = 64;
constexpr size_t kMostRows = 200'000;  // guards, breaks and recompilations

std::string text_of(const Json& json, const char* key, size_t most = 4000) {
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>().substr(0, most)
                                                   : std::string();
}

double number_of(const Json& json, const char* key) {
  if (!json.is_object()) return 0;
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

int64_t whole_of(const Json& json, const char* key) {
  const double value = number_of(json, key);
  return value > -1e15 && value < 1e15 ? static_cast<int64_t>(value) : 0;
}

std::vector<fs::path> logs_of(const std::string& path) {
  std::vector<fs::path> out;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path};
  for (fs::directory_iterator it(path, ignored), end; it != end && out.size() < kMostFiles;
       it.increment(ignored))
    if (it->path().filename().string().starts_with("dedicated_log_torch_trace_") &&
        it->path().extension() == ".log")
      out.push_back(it->path());
  std::sort(out.begin(), out.end());
  return out;
}

// The JSON of a record's line; nothing where it is none.
std::string_view record_json(std::string_view line) {
  if (line.size() < 20 || std::string_view("VIWEC").find(line[0]) == std::string_view::npos) return {};
  const size_t at = line.find("] {");
  return at == std::string_view::npos || at > 400 ? std::string_view() : line.substr(at + 2);
}

// Of "n == 2" and of "tensor 'x' size mismatch at index 0. expected 8, actual 24": what was, and what came.
std::pair<std::string, std::string> values_of(const std::string& failed) {
  const size_t expected = failed.find("expected "), actual = failed.find(", actual ");
  if (expected != std::string::npos && actual != std::string::npos && expected + 9 < actual)
    return {failed.substr(expected + 9, actual - expected - 9), failed.substr(actual + 9)};
  const size_t equals = failed.find(" == ");
  return {equals == std::string::npos ? "–" : failed.substr(equals + 4), "–"};  // the log does not say
}

// One log into one session.
class TraceReader {
 public:
  explicit TraceReader(SessionBuilder& out) : out_(out) {}

  void read(std::string_view text) {
    Json record;
    std::string payload;
    bool open = false;
    for (const std::string_view line : lines_of(text)) {
      if (line.starts_with('\t')) {
        if (open) payload += (payload.empty() ? "" : "\n") + std::string(line.substr(1));
        continue;
      }
      if (open) take(record, payload);
      payload.clear();
      const std::string_view json = record_json(line);
      record = json.empty() ? Json() : Json::parse(json, nullptr, false);
      open = record.is_object();
    }
    if (open) take(record, payload);
  }

  void finish() {
    end_open_phases();
    for (auto& [label, what] : compilations_) {
      CompilationRow& row = *what.row;
      if (!what.graphs && row.status == "ok") row.status = what.broke ? "no_graph" : row.status;
      if (!what.measured) times_of_phases(label, what);
    }
    out_.lane("compiled", "range", "compiling", std::move(slices_));
  }

 private:
  struct Compilation {
    CompilationRow* row = nullptr;
    CompilationRow* backward = nullptr;
    std::string post_grad;  // waits until the code says which half it is of
    bool broke = false;
    bool measured = false;  // the trace says itself what it took
    int graphs = 0;
  };
  struct OpenPhase {
    std::string name, compilation;
    int64_t start = 0;
  };

  std::string interned(const Json& frame) {
    const auto found = frame.find("filename");
    if (found == frame.end()) return text_of(frame, "uninterned_filename");
    if (found->is_string()) return found->get<std::string>().substr(0, 4000);
    const auto known = found->is_number_integer() ? strings_.find(found->get<int64_t>()) : strings_.end();
    return known == strings_.end() ? std::string() : known->second;
  }

  static std::string label_of(const Json& record) {
    if (!record.contains("frame_id")) return {};
    return std::to_string(whole_of(record, "frame_id")) + "/" +
           std::to_string(whole_of(record, "frame_compile_id"));
  }

  Compilation* of(const Json& record) {
    const std::string label = label_of(record);
    if (label.empty() || (compilations_.size() > 20'000 && !compilations_.contains(label))) return nullptr;
    Compilation& out = compilations_[label];
    if (out.row) return &out;
    Id& segment = segments_[label.substr(0, label.find('/'))];
    if (!segment)
      segment =
          out_.segment(name_.empty() ? "frame " + label.substr(0, label.find('/')) : name_, path_, line_);
    out.row = &out_.compilation(segment, label);
    return &out;
  }

  void take(const Json& record, const std::string& payload) {
    if (const auto text = record.find("str"); text != record.end() && text->is_array() && text->size() == 2 &&
                                              (*text)[0].is_string() && (*text)[1].is_number_integer()) {
      if (strings_.size() < 100'000)
        strings_[(*text)[1].get<int64_t>()] = (*text)[0].get<std::string>().substr(0, 4000);
      return;
    }
    if (record.contains("dynamo_start")) start(record["dynamo_start"]);
    if (record.contains("chromium_event")) return event(payload);
    Compilation* compilation = of(record);
    if (!compilation) return;
    for (const auto& [key, stage] : kGraphs)
      if (record.contains(key)) graph(*compilation, stage, payload);
    if (record.contains("inductor_post_grad_graph")) compilation->post_grad = payload;
    if (record.contains("inductor_output_code")) code(*compilation, payload);
    if (record.contains("dynamo_cpp_guards_str")) guards(*compilation, payload);
    if (record.contains("compilation_metrics")) metrics(*compilation, record["compilation_metrics"]);
    if (const auto artifact = record.find("artifact"); artifact != record.end()) {
      const std::string name = text_of(*artifact, "name");
      if (name == "dynamo_graph_break_reason") graph_break(*compilation, payload);
      if (name == "recompile_reasons") recompiled(*compilation, payload);
      if (name == "inductor_post_grad_graph" && compilation->post_grad.empty())
        compilation->post_grad = payload;
      if (name == "dynamo_error") out_.note("error", payload.substr(0, 2000));
    }
  }

  void start(const Json& record) {
    const auto stack = record.find("stack");
    if (stack == record.end() || !stack->is_array() || stack->empty() || !stack->back().is_object()) return;
    const Json& frame = stack->back();
    name_ = text_of(frame, "name", 400);
    path_ = interned(frame);
    line_ = whole_of(frame, "line");
  }

  void graph(Compilation& c, const char* stage, const std::string& text) {
    ++c.graphs;
    const FxGraph parsed = read_fx(text, stage);
    if (std::string_view(stage) != "backward") {
      out_.graph(c.row->id, stage, "", parsed);
      return;
    }
    out_.graph(c.row->id, stage, "", parsed, backward_of(c).id);  // as ours: both halves of one compilation
  }

  CompilationRow& backward_of(Compilation& c) {
    if (!c.backward) {
      c.backward = &out_.compilation(c.row->segment, c.row->label + " backward");
      out_.out().put(BackwardRow{c.row->id, c.backward->id, "all"});
    }
    return *c.backward;
  }

  void code(Compilation& c, const std::string& text) {
    const OutputCode parsed = read_output_code(text);
    CompilationRow& row = parsed.backward ? backward_of(c) : *c.row;
    if (!c.post_grad.empty()) out_.graph(row.id, "optimised", "", read_fx(c.post_grad, "optimised"));
    c.post_grad.clear();
    out_.code(row.id, parsed, text);
  }

  void guards(Compilation& c, const std::string& text) {
    std::string source;
    int64_t ordinal = 0;
    for (std::string_view line : lines_of(text)) {
      const size_t at = line.find("+- ");
      if (at == std::string_view::npos || ++rows_ > kMostRows) continue;
      line = line.substr(at + 3);
      const size_t colon = line.find(": ");
      if (colon == std::string_view::npos) continue;
      const std::string kind(line.substr(0, colon));
      std::string_view rest = line.substr(colon + 2);
      if (const size_t from = rest.find("source=");
          from == 0 || (from != std::string_view::npos && kind.ends_with("Manager"))) {
        source = rest.substr(from + 7);
        source = source.substr(0, source.find(", accessed_by"));
      }
      if (kind.ends_with("Manager") || kind.ends_with("MANAGER")) continue;
      if (const size_t comment = rest.find("  # "); comment != std::string_view::npos)
        rest = rest.substr(0, comment);
      GuardRow row;
      row.id = out_.out().next(Kind::Guard);
      row.compilation = c.row->id;
      row.ordinal = ordinal++;
      const bool global = kind == "GLOBAL_STATE" || kind == "LAMBDA_GUARD" ||
                          kind.starts_with("TORCH_FUNCTION") || kind == "DEFAULT_DEVICE";
      row.source =
          global && rest.find(source) == std::string_view::npos ? "global state" : source.substr(0, 2000);
      row.root = row.source.substr(0, row.source.find('.'));
      std::string word(kind.substr(0, 100));
      for (char& c : word)
        c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      row.kind = std::move(word);
      while (rest.ends_with(' ')) rest.remove_suffix(1);
      row.expected = rest.substr(0, 2000);
      out_.out().put(row);
    }
  }

  // "Graph break in user code at FILE:LINE", reason, "Explanation: ", "Hint: ".
  void graph_break(Compilation& c, const std::string& text) {
    if (++rows_ > kMostRows) return;
    BreakRow row;
    row.id = out_.out().next(Kind::Break);
    row.compilation = c.row->id;
    row.kind = "dynamo";
    std::string path;
    int64_t line_number = 0;
    bool reason_next = false;
    for (std::string_view line : lines_of(text)) {
      while (line.starts_with(' ')) line.remove_prefix(1);
      if (line.starts_with("Graph break in user code at ")) {
        const std::string_view where = line.substr(28);
        const size_t colon = where.rfind(':');
        path = where.substr(0, colon);
        line_number =
            colon == std::string_view::npos ? 0 : std::atoll(std::string(where.substr(colon + 1, 9)).c_str());
      } else if (line.starts_with("Graph Break Reason: ")) {
        reason_next = true;
        row.reason = line.substr(20, 1000);
      } else if (reason_next && !line.empty()) {
        row.reason = line.substr(0, 1000);  // the sentence behind "... when attempting to trace CALL"
        reason_next = false;
      } else if (line.starts_with("Explanation: ") && row.reason.find(". ") == std::string::npos) {
        row.reason += ". " + std::string(line.substr(13, 1000));
      } else if (line.starts_with("Hint: ") && row.hint.empty()) {
        row.hint = line.substr(6, 1000);
      } else if (line.starts_with("Developer debug context: ")) {
        row.expression = line.substr(25, std::min<size_t>(200, line.substr(25).find(" [")));
      }
    }
    row.instruction = instruction_at(c, path, line_number);
    out_.out().put(row);
    c.broke = true;
    c.row->end = "break";
  }

  Id instruction_at(const Compilation& c, const std::string& path, int64_t line) {
    const Id span = out_.span(path, line);
    if (!span) return 0;
    const Id code = out_.code_of(c.row->segment);
    const auto [at, fresh] = instructions_.try_emplace({code, span}, 0);
    if (!fresh) return at->second;
    at->second = out_.out().next(Kind::Instruction);
    out_.out().put(InstructionRow{at->second, code, 0, "CALL", 0, "", span, -1});
    return at->second;
  }

  // "2/0: n == 2   # ...", or a list of such.
  void recompiled(Compilation& c, const std::string& payload) {
    const Json json = Json::parse(payload, nullptr, false);
    std::vector<std::string> texts;
    if (json.is_array())
      for (const Json& each : json) {
        if (each.is_string()) texts.push_back(each.get<std::string>());
      }
    else
      texts.push_back(json.is_string() ? json.get<std::string>() : payload);
    for (const std::string& text : texts) {
      if (++rows_ > kMostRows) return;
      RecompilationRow row;
      row.id = out_.out().next(Kind::Recompilation);
      row.compilation = c.row->id;
      const std::string first = text.substr(0, text.find('\n'));
      const size_t colon = first.find(": ");
      if (const CompilationRow* before = out_.compilation_called(first.substr(0, colon)))
        row.previous = before->id;
      row.failed = colon == std::string::npos ? first : first.substr(colon + 2);
      if (const size_t comment = row.failed.find("  # "); comment != std::string::npos)
        row.failed.resize(comment);
      while (row.failed.ends_with(' ')) row.failed.pop_back();
      row.failed = row.failed.substr(0, 2000);
      std::tie(row.old_value, row.new_value) = values_of(row.failed);
      out_.out().put(row);
    }
  }

  void metrics(Compilation& c, const Json& m) {
    c.measured = true;
    if (const std::string why = text_of(m, "fail_reason"); !why.empty())
      c.row->status = "failed", c.row->message = why;
    times(c, whole_of(m, "graph_node_count"), number_of(m, "entire_frame_compile_time_s") * 1e9,
          number_of(m, "backend_compile_time_s") * 1e9, number_of(m, "inductor_compile_time_s") * 1e9,
          number_of(m, "code_gen_time_s") * 1e9);
  }

  // In nanoseconds; each is a part of the one before it.
  void times(Compilation& c, int64_t nodes, double all, double backend, double inductor, double generated) {
    c.row->duration_ns = static_cast<int64_t>(std::clamp(all, 0.0, 1e15));
    if (all > 0) out_.stage(c.row->id, "captured", nodes, all - backend);
    if (backend > 0) out_.stage(c.row->id, "aten", 0, backend - inductor);
    if (inductor > 0)
      out_.stage(c.row->id, "optimised", 0, inductor - generated,
                 "Inductor's own time, without code generation");
    if (generated > 0) out_.stage(c.row->id, "kernels", 0, generated);
  }

  // A compilation whose end the trace does not reach has no times of its own: its phases tell them.
  void times_of_phases(const std::string& label, Compilation& c) {
    const std::map<std::string, double>& phases = phases_[label];
    auto ns = [&](const char* name) {
      const auto found = phases.find(name);
      return found == phases.end() ? 0.0 : found->second;
    };
    times(c, 0, ns("entire_frame_compile"), ns("backend_compile"), ns("inductor_compile"), ns("code_gen"));
  }

  void end_phase(const OpenPhase& phase, const std::string& compilation, int64_t at) {
    const std::string name = compilation.empty() ? phase.name : phase.name + " " + compilation;
    slices_.push_back({phase.start, at - phase.start, out_.out().name(name, "")});
    phases_[compilation][phase.name] += static_cast<double>(at - phase.start);
  }

  // The trace ends while something is compiled: what began has lasted until then.
  void end_open_phases() {
    std::string compiled;
    for (; !open_.empty(); open_.pop_back()) {
      if (!open_.back().compilation.empty()) compiled = open_.back().compilation;
      end_phase(open_.back(), open_.back().compilation, last_);
    }
    if (!compiled.empty())
      out_.note("info", "The trace ends while " + compiled + " is compiled.",
                "Its times are what was taken until then.");
  }

  // Begin and end of a phase, in microseconds since 1970.
  void event(const std::string& payload) {
    if (++events_ > 2'000'000) return;
    const Json e = Json::parse(payload, nullptr, false);
    const std::string phase = text_of(e, "ph"), name = text_of(e, "name", 300);
    const double at = number_of(e, "ts");
    if (at <= 0 || name.empty()) return;
    if (first_ < 0) first_ = at;
    const auto ns = static_cast<int64_t>(std::clamp((at - first_) * 1e3, 0.0, 4e15));
    last_ = std::max(last_, ns);
    const std::string which = e.contains("args") ? text_of(e["args"], "compile_id", 60) : "";
    if (phase == "B" && open_.size() < 10'000) open_.push_back({name, which, ns});
    if (phase != "E") return;
    for (size_t i = open_.size(); i-- > 0;) {
      if (open_[i].name != name) continue;
      end_phase(open_[i], which, ns);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }

  static constexpr std::pair<const char*, const char*> kGraphs[] = {{"dynamo_output_graph", "captured"},
                                                                    {"aot_inference_graph", "aten"},
                                                                    {"aot_joint_graph", "joint"},
                                                                    {"aot_forward_graph", "forward"},
                                                                    {"aot_backward_graph", "backward"}};
  SessionBuilder& out_;
  std::map<int64_t, std::string> strings_;
  std::map<std::string, Id> segments_;
  std::map<std::pair<Id, Id>, Id>
      instructions_;  // by code and place: each compilation breaks at the same one
  std::map<std::string, Compilation> compilations_;
  std::string name_, path_;
  int64_t line_ = 0;
  size_t rows_ = 0, events_ = 0;
  double first_ = -1;
  int64_t last_ = 0;
  std::vector<OpenPhase> open_;
  std::map<std::string, std::map<std::string, double>> phases_;  // nanoseconds, by compilation and name
  std::vector<ImportedSlice> slices_;
};

}  // namespace

bool is_torch_trace(const std::string& path) {
  for (const fs::path& log : logs_of(path)) {
    const std::string head = first_bytes(log.string(), 1 << 16);
    for (const std::string_view line : lines_of(head))
      if (!record_json(line).empty()) return true;
  }
  return false;
}

Status import_torch_trace(const std::string& path, SessionBuilder& out) {
  const auto logs = logs_of(path);
  for (size_t i = 0; i < logs.size(); ++i) {
    auto text = read_input(logs[i].string());
    if (!text) return text.error();
    if (i > 0) {  // of another rank or process, whose ids are its own
      out.note("warning", "Only the first of " + std::to_string(logs.size()) + " logs is shown.",
               "Import the others by their files.");
      break;
    }
    TraceReader reader(out);
    reader.read(text.value());
    reader.finish();
  }
  return std::nullopt;
}

}  // namespace vitrine::importing
