#include "app/cli/export_command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cli/exports/exports.h"
#include "app/cli/exports/page.h"
#include "app/cli/run_command.h"
#include "app/cli/show_parts.h"
#include "core/base/closest.h"
#include "core/base/visible.h"
#include "core/session/abandoned.h"
#include "core/session/stages.h"

namespace vitrine::cli {

namespace fs = std::filesystem;
using namespace session;

namespace {

constexpr size_t kMostSlices = 2'000'000;

struct Exporting {
  const Reader& session;
  const ExportArguments& arguments;
  std::string output;
};

// ---- perfetto: a trace as Chrome's tools and ui.perfetto.dev read it

std::optional<Error> export_trace(const Exporting& e) {
  const Reader& s = e.session;
  std::map<int64_t, std::string> names;
  for (const NameRow& name : s.all<NameRow>()) names[name.id] = name.text;
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::map<std::pair<Id, std::string>, int> processes;
  size_t left = kMostSlices;
  int thread = 0;
  for (const LaneRow& lane : s.all<LaneRow>("ORDER BY run, ordinal")) {
    const auto [at, fresh] =
        processes.try_emplace({lane.run, lane.side}, static_cast<int>(processes.size()) + 1);
    const int process = at->second, own = ++thread;
    auto name_of = [&](const char* what, const std::string& text) {
      events.push_back(
          {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", own}, {"args", {{"name", text}}}});
    };
    if (fresh) name_of("process_name", s.row<RunRow>(lane.run).label + ", " + lane.side);
    name_of("thread_name", lane.kind + " " + lane.label);
    const auto start = s.column<int64_t>(lane.start), duration = s.column<int64_t>(lane.duration),
               relation = s.column<int64_t>(lane.relation);
    const auto name = s.column<int32_t>(lane.name);
    const size_t count = std::min({start.size(), duration.size(), name.size(), left});
    left -= count;
    for (size_t i = 0; i < count; ++i) {
      const auto text = names.find(name[i]);
      nlohmann::ordered_json event{{"ph", "X"},
                                   {"name", text == names.end() ? "" : text->second},
                                   {"cat", lane.kind},
                                   {"pid", process},
                                   {"tid", own},
                                   {"ts", static_cast<double>(start[i]) / 1000},
                                   {"dur", static_cast<double>(duration[i]) / 1000}};
      if (i < relation.size() && relation[i])
        event["args"] = {{"replaced by", s.row<LaunchRow>(relation[i]).text}};
      events.push_back(std::move(event));
    }
  }
  if (events.empty())
    return Error{"There is no timeline in this session.", "Record it with --repeats 20.", s.path()};
  const nlohmann::ordered_json trace{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return write_file(e.output,
                    trace.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

// ---- dot, svg, pdf and png: graphs, with a box around what is one kernel

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : visible(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Of the last snapshot of the stage. Of no stage in particular: of loops in kernels, and of what was never
// fused the last of all.
std::vector<NodeRow> last_nodes(const Reader& s, Id compilation, const std::string& stage) {
  GraphRow graph = page::last_graph(s, compilation, stage.empty() ? "fused" : stage);
  if (!graph.id && stage.empty()) graph = page::last_graph(s, compilation, "");
  return graph.id ? s.rows<NodeRow>("graph = ?1", {graph.id}, "ORDER BY ordinal") : std::vector<NodeRow>();
}

// Stages of which the session has graphs, in their order.
std::string stages_with_graphs(const Reader& s) {
  std::set<std::string> there;
  for (const GraphRow& graph : s.all<GraphRow>()) there.insert(graph.stage);
  std::string out;
  for (const StageInfo& stage : kStages)
    if (there.contains(std::string(stage.name))) out += (out.empty() ? "" : ", ") + std::string(stage.name);
  return out;
}

std::string graph_text(const Reader& s, const std::vector<NodeRow>& nodes, const std::string& title,
                       int number) {
  const std::string prefix = "c" + std::to_string(number) + "_";
  std::map<std::string, std::string> groups;  // by label; "": none
  std::set<Id> known;
  for (const NodeRow& node : nodes) {
    known.insert(node.id);
    groups[node.group_label] += "    n" + std::to_string(node.id) +
                                " [label=" + quoted(node.name + (node.type.empty() ? "" : "  " + node.type)) +
                                (node.kind == "op" ? "" : ", style=dashed") + "];\n";
  }
  std::string out = "  subgraph cluster_" + prefix + "all {\n  label=" + quoted(title) + ";\n";
  int group = 0;
  for (const auto& [label, text] : groups)
    out += label.empty() ? text
                         : "  subgraph cluster_" + prefix + std::to_string(group++) +
                               " {\n    label=" + quoted(label) + ";\n" + text + "  }\n";
  out += "  }\n";
  for (const EdgeRow& edge : s.rows<EdgeRow>("graph = ?1", {nodes.front().graph}))
    if (known.contains(edge.src) && known.contains(edge.dst))
      out += "  n" + std::to_string(edge.src) + " -> n" + std::to_string(edge.dst) + ";\n";
  return out;
}

Result<std::string> dot_text(const Exporting& e) {
  const EntityNames names(e.session);
  std::string out;
  int number = 0;
  for (const CompilationRow& c : e.session.all<CompilationRow>()) {
    if (!e.arguments.compilation.empty() && c.label != e.arguments.compilation) continue;
    const auto nodes = last_nodes(e.session, c.id, e.arguments.stage);
    if (!nodes.empty()) out += graph_text(e.session, nodes, names.compilation(c.id), number++);
  }
  if (out.empty()) {
    const std::string there = stages_with_graphs(e.session);
    if (there.empty())
      return Error{"There is no graph in this session.", "What was compiled has none.", e.session.path()};
    return Error{"There is no graph of the stage " + e.arguments.stage + ".", "--stage " + there + ".",
                 e.session.path()};
  }
  return "digraph vitrine {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n" + out + "}\n";
}

std::optional<Error> export_dot(const Exporting& e) {
  auto text = dot_text(e);
  if (!text) return text.error();
  return write_file(e.output, text.value());
}

// Of the format's name, which is also what Graphviz calls it.
std::optional<Error> export_drawing(const Exporting& e) {
  auto text = dot_text(e);
  if (!text) return text.error();
  const std::string source = e.output + ".dot";
  if (auto error = write_file(source, text.value())) return error;
  const std::string kind = "-T" + e.arguments.format;
  const pid_t child = fork();
  if (child == 0) {
    execlp("dot", "dot", kind.c_str(), "-o", e.output.c_str(), source.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  const bool ran = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
  std::error_code ignored;
  if (ran && WEXITSTATUS(status) == 0) {
    fs::remove(source, ignored);
    return std::nullopt;
  }
  if (ran && WEXITSTATUS(status) == 127) {
    fs::remove(source, ignored);
    return Error{"Graphviz is not here: there is no program dot.", "Install graphviz, or export --to dot.",
                 ""};
  }
  return Error{"Graphviz could not draw the graph.", "What it was given is in " + source + ".", ""};
}

// ---- kernels: a folder of texts

std::optional<Error> export_kernels(const Exporting& e) {
  std::error_code failed;
  fs::create_directories(e.output, failed);
  if (failed) return Error{"The folder could not be made.", "Choose another place with -o.", e.output};
  std::map<Id, std::string> labels;
  for (const CompilationRow& c : e.session.all<CompilationRow>()) labels[c.id] = c.label;
  size_t written = 0;
  for (const KernelRow& k : e.session.all<KernelRow>()) {
    const std::string& label = labels[k.compilation];
    if (!e.arguments.compilation.empty() && label != e.arguments.compilation) continue;
    for (const auto& [name, text] : kernel_files(e.session, k)) {
      if (auto error = write_file(e.output + "/" + file_word(label) + "_" + name, text)) return error;
      ++written;
    }
  }
  return written ? std::nullopt
                 : std::optional(Error{"There is no kernel text in this session.", "", e.session.path()});
}

std::optional<Error> export_html(const Exporting& e) {
  return write_file(e.output, html_page(e.session));
}

// A folder: a file each graph.
std::optional<Error> export_fx(const Exporting& e) {
  const auto files = fx_files(e.session, e.arguments.compilation);
  if (files.empty())
    return Error{"There is no ATen graph in this session.", "What was compiled has none.", e.session.path()};
  std::error_code failed;
  fs::create_directories(e.output, failed);
  if (failed) return Error{"The folder could not be made.", "Choose another place with -o.", e.output};
  for (const auto& [name, text] : files)
    if (auto error = write_file((fs::path(e.output) / name).string(), text)) return error;
  return std::nullopt;
}

std::optional<Error> export_debug_folder(const Exporting& e) {
  return debug_folder(e.session, e.output, e.arguments.compilation);
}

struct ExportFormat {
  const char *name, *ending;
  std::optional<Error> (*write)(const Exporting&);
};
constexpr std::array<ExportFormat, 9> kFormats = {{{"html", ".html", export_html},
                                                   {"fx", ".fx", export_fx},
                                                   {"perfetto", ".trace.json", export_trace},
                                                   {"dot", ".dot", export_dot},
                                                   {"svg", ".svg", export_drawing},
                                                   {"pdf", ".pdf", export_drawing},
                                                   {"png", ".png", export_drawing},
                                                   {"kernels", ".kernels", export_kernels},
                                                   {"debug-folder", ".debug", export_debug_folder}}};

}  // namespace

int export_command(const ExportArguments& a) {
  const auto format =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& f) { return a.format == f.name; });
  if (format == kFormats.end()) {
    std::vector<std::string> names;
    std::string all;
    for (const ExportFormat& f : kFormats)
      names.push_back(f.name), all += (all.empty() ? "" : ", ") + names.back();
    return fail(Error{"There is no format \"" + a.format + "\"." + did_you_mean(a.format, names),
                      "Formats: " + all + ".", ""},
                2);
  }
  close_if_abandoned(a.session);
  auto opened = Reader::open(a.session);
  if (!opened) return fail(opened.error());
  const std::string output =
      a.output.empty() ? fs::path(a.session).stem().string() + format->ending : a.output;
  if (auto error = format->write({*opened.value(), a, output})) return fail(*error);
  print_text("written " + output + "\n");
  return 0;
}

}  // namespace vitrine::cli
