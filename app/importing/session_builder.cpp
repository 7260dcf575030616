#include "app/importing/session_builder.h"

#include <algorithm>
#include <ctime>

#include "core/base/words.h"

namespace vitrine::importing {

using namespace session;

namespace {

constexpr int64_t kMostLine = 20'000;  // of a file that is made of the lines that are known
constexpr int kDeepest = 100;
constexpr int64_t kLongest = int64_t{1} << 52;
constexpr size_t kMostText = 100'000;

bool is_library(const std::string& path) {
  return path.find("site-packages") != std::string::npos || path.find("dist-packages") != std::string::npos ||
         path.starts_with("<");
}

struct NamedWeight {
  std::string kind, path;
};
// Dynamo names a module's tensor by its way: "L_self_modules_fc_parameters_weight_" is L['self'].fc.weight.
NamedWeight parameter_of(const std::string& name) {
  static constexpr std::pair<const char*, const char*> kKinds[] = {{"_parameters_", "parameter"},
                                                                   {"_buffers_", "buffer"}};
  if (!name.starts_with("L_")) return {};
  for (const auto& [mark, kind] : kKinds) {
    const size_t at = name.find(mark), modules = name.find("_modules_");
    if (at == std::string::npos) continue;
    const size_t root = std::min(modules, at);
    std::string path = "L['" + name.substr(2, root - 2) + "']";
    for (size_t from = modules < at ? modules + 9 : at; from < at;) {
      const size_t end = std::min(name.find("_modules_", from), at);
      path += "." + name.substr(from, end - from);
      from = end == at ? at : end + 9;
    }
    std::string last = name.substr(at + std::string(mark).size());
    while (last.ends_with('_')) last.pop_back();
    return {kind, path + "." + last};
  }
  return {};
}

std::string cut(std::string text, size_t most = kMostText) {
  if (text.size() > most) text.resize(most);
  return text;
}

}  // namespace

SessionBuilder::SessionBuilder(std::unique_ptr<Writer> writer, const std::string& source,
                               const std::string& tool)
    : out_(std::move(writer)), source_(source), tool_(tool) {
  run.id = out_->next(Kind::Run);
  run.label = "import of " + file_name(source.substr(0, source.find_last_not_of('/') + 1));
  run.entry = tool;
  run.device = "cpu";
  run.status = "finished";
  run.started_unix_ns = static_cast<int64_t>(std::time(nullptr)) * 1'000'000'000;
  out_->put(run);
  out_->meta("created_unix_ns", std::to_string(run.started_unix_ns));
}

void SessionBuilder::note(const std::string& severity, const std::string& text, const std::string& hint) {
  if (++messages_ > 10'000) return;
  MessageRow row;
  row.id = out_->next(Kind::Message);
  row.run = run.id;
  row.severity = severity;
  row.origin = "environment";
  row.text = cut(text), row.hint = cut(hint);
  out_->put(row);
}

void SessionBuilder::finish(const std::string& lacks) {
  for (const auto& [path, lines] : lines_) {
    std::string text;
    int64_t at = 1;
    for (const auto& [line, code] : lines) {
      for (; at < line; ++at) text += '\n';
      text += code;
    }
    FileRow row{files_[path], path, "", out_->blob(text + "\n"), !is_library(path)};
    out_->put(row);
  }
  for (const auto& row : compilations_) out_->put(*row);
  for (const auto& [key, row] : stages_) out_->put(row);
  const std::string said = tool_ + ", imported. " + lacks;
  out_->meta("imported", said);
  note("info", said);
  out_->put(run);
  out_->finish("finished");
}

Id SessionBuilder::file(const std::string& path) {
  Id& id = files_[cut(path, 4000)];
  if (!id) {
    id = out_->next(Kind::File);
    out_->put(FileRow{id, cut(path, 4000), "", {}, !is_library(path)});
  }
  return id;
}

Id SessionBuilder::span(const std::string& path, int64_t line, const std::string& code) {
  if (path.empty() || line <= 0 || line > 1'000'000) return 0;
  const Id at = file(path);
  if (!code.empty() && line <= kMostLine && !is_library(path))
    lines_[cut(path, 4000)].emplace(line, "    " + cut(code, 2000));
  Id& id = spans_[{at, line}];
  if (!id) {
    id = out_->next(Kind::Span);
    const auto length = static_cast<int64_t>(std::min<size_t>(code.size(), 2000));
    out_->put(SpanRow{id, at, line, code.empty() ? 0 : 4, line, code.empty() ? 1 : 4 + length});
  }
  return id;
}

Id SessionBuilder::segment(const std::string& name, const std::string& path, int64_t line) {
  CodeRow code{out_->next(Kind::Code), path.empty() ? 0 : file(path), cut(name, 1000),
               std::clamp<int64_t>(line, 0, 1'000'000), 0};
  code.last_line = code.first_line;
  out_->put(code);
  FrameRow frame{out_->next(Kind::Frame), run.id, code.id, "captured", ""};
  out_->put(frame);
  SegmentRow row{out_->next(Kind::Segment), frame.id};
  out_->put(row);
  code_of_segment_[row.id] = code.id;
  return row.id;
}

Id SessionBuilder::code_of(Id segment) const {
  const auto found = code_of_segment_.find(segment);
  return found == code_of_segment_.end() ? 0 : found->second;
}

CompilationRow& SessionBuilder::compilation(Id segment, const std::string& label) {
  auto row = std::make_unique<CompilationRow>();
  row->id = out_->next(Kind::Compilation);
  row->segment = segment;
  row->ordinal = static_cast<int64_t>(compilations_.size());
  row->label = label;
  row->status = "ok";
  row->end = "return";
  compilations_.push_back(std::move(row));
  return *compilations_.back();
}

CompilationRow* SessionBuilder::compilation_called(const std::string& label) {
  for (const auto& row : compilations_)
    if (row->label == label) return row.get();
  return nullptr;
}

void SessionBuilder::stage(Id compilation, const char* name, int64_t count, double ns,
                           const std::string& note) {
  StageRow& row = stages_[{compilation, name}];  // what is not told now may have been told before
  row.compilation = compilation, row.name = name, row.state = "ok";
  if (count > 0) row.count = count;
  if (!note.empty()) row.note = note;
  if (ns > 0) row.duration_ns = static_cast<int64_t>(std::min(ns, static_cast<double>(kLongest)));
}

Id SessionBuilder::graph(Id compilation, const std::string& stage, const std::string& pass,
                         const FxGraph& graph, Id names) {
  GraphRow row{out_->next(Kind::Graph), compilation, stage, pass, "", snapshots_[compilation]++};
  row.changed = 1;  // what stood before it is not told
  row.text = out_->blob(graph.text);
  std::vector<Id> ids;
  const std::string owner = std::to_string(names ? names : compilation) + " ";
  std::map<std::string, Id> fresh;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].type.find("cuda") != std::string::npos) run.device = "cuda";
    const FxNode& node = graph.nodes[i];
    NodeRow out;
    out.id = out_->next(Kind::Node);
    out.graph = row.id;
    out.ordinal = static_cast<int64_t>(i);
    out.stable =
        stables_.try_emplace(owner + node.name, static_cast<int64_t>(stables_.size()) + 1).first->second;
    out.name = node.name, out.kind = node.kind, out.op = node.kind == "op" ? node.op : "";
    const auto [kind, path] = node.kind == "placeholder" ? parameter_of(node.name) : NamedWeight();
    out.family = node.kind == "op" ? family_of(node.op) : "";
    out.type = node.type, out.shape = shape_of(node.type), out.detail = node.detail;
    if (!kind.empty()) out.kind = kind, out.detail = path;
    out.bytes = bytes_of(node.type);
    out.span = span(node.file, node.line, node.code);
    out_->put(out);
    for (size_t slot = 0; slot < node.inputs.size(); ++slot)
      out_->put(EdgeRow{row.id, ids[node.inputs[slot]], out.id, static_cast<int64_t>(slot),
                        bytes_of(graph.nodes[node.inputs[slot]].type)});
    if (const auto before = last_nodes_.find(owner + node.name); before != last_nodes_.end())
      out_->link(before->second, out.id);
    fresh[owner + node.name] = out.id;
    ids.push_back(out.id);
  }
  for (const auto& [name, id] : fresh) last_nodes_[name] = id;
  out_->put(row);
  this->stage(compilation, stage.c_str(), static_cast<int64_t>(graph.nodes.size()), 0);
  return row.id;
}

void SessionBuilder::code(Id compilation, const OutputCode& code, const std::string& text) {
  std::vector<std::pair<Id, std::string>> generated;  // with its label
  std::map<std::string, Id> libraries;
  int64_t ordinal = 0;
  auto put = [&](const std::string& label, const std::string& name, const char* kind,
                 const std::string& language, const std::string& source) {
    KernelRow row;
    row.id = out_->next(Kind::Kernel);
    row.compilation = compilation;
    row.ordinal = ordinal++;
    row.label = label, row.name = cut(name, 400), row.kind = kind, row.language = language;
    row.family = std::string(kind) == "library" ? family_of(name) : *kind == 'w' ? "opaque" : "pointwise";
    if (!source.empty()) row.source = out_->blob(source);
    out_->put(row);
    return row.id;
  };
  for (const OutputKernel& kernel : code.kernels) {
    const std::string label = "K" + std::to_string(kernels_[compilation]++);
    generated.emplace_back(put(label, kernel.name, "generated", kernel.language, kernel.source), label);
  }
  int64_t number = 0;
  for (const OutputLaunch& launch : code.launches) {
    LaunchRow row;
    row.id = out_->next(Kind::Launch);
    row.compilation = compilation;
    row.ordinal = number++;
    row.kind = launch.kernel >= 0 ? "kernel" : "library";
    if (launch.kernel >= 0) {
      const auto& [id, label] = generated[static_cast<size_t>(launch.kernel)];
      row.kernel = id;
      row.text = label + " " + launch.text;
    } else {
      Id& id = libraries[launch.library];
      if (!id) id = put("L" + std::to_string(libraries_[compilation]++), launch.library, "library", "", "");
      row.kernel = id;
      row.text = launch.library;
    }
    row.args = launch.args;
    out_->put(row);
  }
  if (!text.empty()) put("W0", "output_code", "wrapper", "python", text);
  stage(compilation, "kernels", static_cast<int64_t>(generated.size()), 0);
  stage(compilation, "launch", number, 0);
}

void SessionBuilder::lane(const std::string& side, const std::string& kind, const std::string& label,
                          std::vector<ImportedSlice> slices) {
  if (slices.empty()) return;
  for (ImportedSlice& slice : slices) {
    slice.start = std::clamp<int64_t>(slice.start, 0, kLongest);
    slice.duration = std::clamp<int64_t>(slice.duration, 0, kLongest);
  }
  std::stable_sort(slices.begin(), slices.end(), [](const ImportedSlice& a, const ImportedSlice& b) {
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  });
  std::vector<int64_t> start, duration, nothing(slices.size(), 0), ends;
  std::vector<int32_t> name;
  std::vector<int8_t> depth;
  for (const ImportedSlice& slice : slices) {
    while (!ends.empty() && ends.back() <= slice.start) ends.pop_back();
    start.push_back(slice.start), duration.push_back(slice.duration);
    name.push_back(static_cast<int32_t>(slice.name));
    depth.push_back(static_cast<int8_t>(std::min<size_t>(ends.size(), kDeepest)));
    ends.push_back(slice.start + slice.duration);
  }
  const BlobRef none = out_->column(nothing);
  out_->put(LaneRow{++lanes_, run.id, side, kind, cut(label, 200), lanes_,
                    static_cast<int64_t>(slices.size()), out_->column(start), out_->column(duration),
                    out_->column(name), none, out_->column(depth), none});
}

}  // namespace vitrine::importing
