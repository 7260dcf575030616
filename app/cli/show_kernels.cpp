#include <algorithm>
#include <map>

#include "app/cli/json_rows.h"
#include "app/cli/run_times.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/base/shown_type.h"
#include "core/base/whole.h"
#include "core/session/launches.h"
#include "core/session/sized_memory.h"

namespace vitrine::cli {

using namespace session;

namespace {
template <class Row>
std::vector<Row> of_compilation(const Reader& s, const ShowOptions& options) {
  EntityNames names(s);
  auto rows = s.all<Row>("ORDER BY compilation, ordinal");
  std::erase_if(rows, [&](const Row& r) { return !names.shown(r.compilation, options); });
  return rows;
}
}  // namespace

namespace {

std::string percent(double part) {
  return part > 0 ? std::to_string(whole(part * 100 + 0.5)) + " %" : "–";
}

// What the kernels of a GPU take of it; "" where there are none.
std::string gpu_table(const std::vector<KernelRow>& kernels, const std::map<Id, GpuKernelRow>& gpu,
                      size_t width) {
  TextTable table(
      {"kernel", "arch", ">registers", ">spilled", ">shared", ">block", ">grid", ">occupancy", "limited by"});
  table.least({"arch", "grid", "block", "limited by"});
  std::string notes;
  for (const KernelRow& k : kernels) {
    auto found = gpu.find(k.id);
    if (found == gpu.end()) continue;
    const GpuKernelRow& g = found->second;
    table.row({k.label, g.arch, std::to_string(g.registers), bytes(g.spill_bytes), bytes(g.shared_bytes),
               std::to_string(g.threads), std::to_string(g.blocks), percent(g.occupancy), g.limited_by});
    if (!g.note.empty() && notes.find(g.note) == std::string::npos) notes += g.note + "\n";
  }
  return table.empty() ? "" : "\n" + table.text(width) + notes;
}

// Of all launches of a kernel together.
struct KernelTime {
  int64_t launches = 0, calls = 0;
  double ns = 0, lower_ns = 0, upper_ns = 0;
};

std::map<Id, KernelTime> kernel_times(const Reader& s) {
  std::map<Id, KernelTime> out;
  for (const LaunchRow& l : s.all<LaunchRow>()) {
    KernelTime& time = out[l.kernel];
    ++time.launches;
    time.calls = time.calls ? std::min(time.calls, l.calls) : l.calls;
    time.ns += l.median_ns, time.lower_ns += l.lower_ns, time.upper_ns += l.upper_ns;
  }
  return out;
}

std::string kernel_heading(const KernelRow& k, std::string_view stage) {
  const bool gpu = k.language == "cuda c++";
  const char* comment = stage == "assembly" && !gpu ? "# " : stage == "ir" && !gpu ? "; " : "// ";
  std::string heading = comment + k.label + " " + k.name;
  if (gpu && stage != "kernels") heading += stage == "ir" ? ", PTX" : ", SASS";
  return heading;
}

const std::string& text_of(const KernelRow& k, std::string_view stage, const Reader& s, std::string& room) {
  return room = s.text(stage == "ir" ? k.ir : stage == "assembly" ? k.assembly : k.source);
}

// The lines between the comments that frame a generated text's prelude, as one.
std::string without_prelude(const std::string& text) {
  const size_t from = text.find("// prelude"), end = text.find("// end of prelude");
  if (from == std::string::npos || end == std::string::npos || end < from) return text;
  const size_t behind = std::min(text.size(), text.find('\n', end));
  const auto lines = std::count(text.begin() + static_cast<std::ptrdiff_t>(from),
                                text.begin() + static_cast<std::ptrdiff_t>(behind), '\n');
  return text.substr(0, from) + "// prelude, " + std::to_string(lines + 1) + " lines: --wide prints them" +
         text.substr(behind);
}

// The kernels of one label: the text alone, below a line that says which it is.
std::string one_kernel(const Reader& s, const std::vector<KernelRow>& kernels, const ShowOptions& options,
                       std::string_view stage) {
  const EntityNames names(s);
  const std::string_view of = options.text.empty() ? stage : std::string_view(options.text);
  std::string out, room;
  for (const KernelRow& k : kernels) {
    if (k.label != options.kernel) continue;
    out += (out.empty() ? "" : "\n") + kernel_heading(k, of) + ", " + names.compilation(k.compilation) +
           (k.space.empty() ? "" : ", " + k.space) + "\n";
    const std::string& text = text_of(k, of, s, room);
    if (text.empty())
      out += nothing(of, k.kind == "generated" ? "none was recorded" : "the kernel is PyTorch's");
    else
      out += options.wide || of != "kernels" ? text : without_prelude(text);
  }
  return out;
}

}  // namespace

std::string show_kernel_text(const Reader& s, const ShowOptions& options, std::string_view stage) {
  auto kernels = of_compilation<KernelRow>(s, options);
  std::map<Id, GpuKernelRow> gpu;
  for (GpuKernelRow& row : s.all<GpuKernelRow>()) gpu[row.kernel] = std::move(row);
  if (options.json) {
    if (!options.kernel.empty())
      std::erase_if(kernels, [&](const KernelRow& k) { return k.label != options.kernel; });
    auto json = json_rows(s, kernels);
    for (size_t i = 0; i < kernels.size(); ++i)
      if (auto found = gpu.find(kernels[i].id); found != gpu.end())
        json[i]["gpu"] = json_row(s, found->second);
    return json_text(json);
  }
  if (!options.kernel.empty()) return one_kernel(s, kernels, options, stage);
  std::string out;
  const std::map<Id, KernelTime> times = kernel_times(s);
  TextTable table({"kernel", "name", "kind", "space", ">launches", ">" + launch_title(s),
                   ">half of the calls", ">bytes", ">compile", "from"});
  table.least({"from", "compile", "kind", "half of the calls", "launches"});  // a label says the kind, too
  table.whole("space");
  for (const KernelRow& k : kernels) {
    const auto found = times.find(k.id);
    const KernelTime time = found == times.end() ? KernelTime{} : found->second;
    table.row({k.label, k.name, k.kind, k.space, std::to_string(time.launches), nanoseconds(time.ns),
               middle_half(time.lower_ns, time.upper_ns, time.calls), bytes(k.bytes),
               nanoseconds(static_cast<double>(k.compile_ns)),
               k.kind != "generated" ? "PyTorch"
               : k.cached            ? "cache"
                                     : "compiled"});
    std::string text;
    text_of(k, stage, s, text);
    if (!text.empty()) out += "\n" + kernel_heading(k, stage) + "\n" + text;
  }
  if (table.empty()) return nothing("kernels", why_nothing(s, "kernels", "what was compiled launches none"));
  return table.text(options.width) + wrapped(shown_call_notes(s), options.width) +
         gpu_table(kernels, gpu, options.width) + out;
}

namespace {

std::string why_no_remarks(const Reader& s) {
  int64_t generated = 0, cached = 0;
  for (const KernelRow& k : s.all<KernelRow>()) {
    generated += k.kind == "generated";
    cached += k.kind == "generated" && k.cached;
  }
  if (!generated) return why_nothing(s, "kernels", "no kernel was generated");
  return cached == generated ? "every generated kernel came from the cache" : "none was recorded";
}

}  // namespace

std::string show_remarks(const Reader& s, const ShowOptions& options, std::string_view) {
  auto remarks = s.all<RemarkRow>("ORDER BY kernel, line");
  if (options.json) return json_table(s, remarks);
  TextTable table({"kernel", ">line", "kind", "remark"});
  for (const RemarkRow& r : remarks)
    table.row({s.row<KernelRow>(r.kernel).label, std::to_string(r.line), r.kind, r.text});
  return table.empty() ? nothing("remarks", why_no_remarks(s)) : table.text(options.width);
}

std::string show_choices(const Reader& s, const ShowOptions& options, std::string_view) {
  auto choices = s.all<ChoiceRow>("ORDER BY kernel, ordinal");
  const EntityNames names(s);
  std::erase_if(choices, [&](const ChoiceRow& c) {
    return !names.shown(s.row<KernelRow>(c.kernel).compilation, options);
  });
  if (options.json) return json_table(s, choices);
  TextTable table({"kernel", "product", "candidate", ">time", ">threads", "", "from"});
  Id before = 0;
  for (const ChoiceRow& c : choices) {
    const KernelRow kernel = s.row<KernelRow>(c.kernel);
    const bool first = c.kernel != before;
    before = c.kernel;
    table.row({first ? kernel.label : "", first ? kernel.space : "", c.candidate,
               c.ns ? nanoseconds(static_cast<double>(c.ns)) : "–", std::to_string(c.threads),
               c.chosen ? "chosen" : "", c.source});
  }
  return table.empty()
             ? nothing("choices",
                       why_nothing(s, "kernels", "no product of this session was timed against others"))
             : table.text(options.width);
}

namespace {

// The memory from which plans for new sizes are made, with what it takes in the last sizes that were met.
std::string sized_memory(const Reader& s, const ShowOptions& options) {
  const EntityNames names(s);
  std::map<Id, InstanceRow> last;
  for (const InstanceRow& row : s.all<InstanceRow>("ORDER BY compilation, ordinal"))
    if (!row.buffer_bytes.empty()) last[row.compilation] = row;
  std::string out;
  for (const auto& [compilation, instance] : last) {
    if (!names.shown(compilation, options)) continue;
    const std::vector<int64_t> sizes = buffer_bytes(instance);
    TextTable table({"buffer", "kind", "type", "size", ">" + instance.sizes, "offset"});
    for (const SizedBufferRow& b :
         s.rows<SizedBufferRow>("compilation = ?1", {compilation}, "ORDER BY ordinal")) {
      const auto at = static_cast<size_t>(b.ordinal);
      table.row({b.name, b.kind, b.type, b.kind == "view" ? "–" : b.size,
                 at < sizes.size() ? bytes(sizes[at]) : "–", b.place.empty() ? "–" : b.place});
    }
    out += "\n# " + names.compilation(compilation) + " for any size; " + instance.sizes + " takes " +
           (instance.arena_bytes ? bytes(instance.arena_bytes) : "0 B") + " of temporaries\n" +
           table.text(options.width);
  }
  return out;
}

// The launches that a buffer lives through: "2–149".
std::string from_to(int64_t first, int64_t last) {
  return std::to_string(first) + (last > first ? "–" + std::to_string(last) : "");
}

}  // namespace

// PyTorch places most temporaries of a GPU: where it does all of them, no column is left empty.
std::string show_memory(const Reader& s, const ShowOptions& options, std::string_view) {
  auto buffers = of_compilation<BufferRow>(s, options);
  if (options.json) return json_table(s, buffers);
  const bool offsets =
      std::any_of(buffers.begin(), buffers.end(), [](const BufferRow& b) { return b.offset >= 0; });
  std::vector<std::string> titles = {"buffer", "kind", "type", ">bytes", ">launches"};
  if (offsets) titles.emplace_back(">offset, B");
  titles.emplace_back("reuses");
  TextTable table(titles);
  table.least({"reuses", "offset, B"});
  table.readable(16);  // parameters of one model begin alike
  std::vector<std::string_view> types;
  for (const BufferRow& b : buffers) types.push_back(b.type);
  const std::string device = device_of(types);
  std::map<Id, std::vector<LaunchRow>> plans;
  for (LaunchRow& l : s.all<LaunchRow>()) plans[l.compilation].push_back(std::move(l));
  for (const BufferRow& b : buffers) {
    const auto& plan = plans[b.compilation];
    std::vector<std::string> cells = {b.name, b.kind, type_for(b.type, device), bytes(b.bytes),
                                      from_to(launch_number(plan, b.first), launch_number(plan, b.last))};
    if (offsets) cells.push_back(b.offset < 0 ? "–" : std::to_string(b.offset));
    cells.push_back(b.reuses ? s.row<BufferRow>(b.reuses).name : "");
    table.row(std::move(cells));
  }
  return table.empty() ? nothing("buffers", why_nothing(s, "memory", "what was compiled has no memory plan"))
                       : table.text(options.width) + sized_memory(s, options);
}

// What stands between forward and backward of each graph that needs gradients.
std::string show_partition(const Reader& s, const ShowOptions& options, std::string_view) {
  auto crossings = of_compilation<CrossingRow>(s, options);
  if (options.json) return json_table(s, crossings);
  EntityNames names(s);
  std::string out;
  for (const PartitionRow& p : s.all<PartitionRow>("ORDER BY compilation")) {
    if (!names.shown(p.compilation, options)) continue;
    TextTable table({"value", "type", "backward", ">bytes", "why"});
    for (const CrossingRow& c : crossings)
      if (c.compilation == p.compilation)
        table.row({c.name, c.type, c.kind, c.bytes ? bytes(c.bytes) : "–", c.reason});
    out += "# " + names.compilation(p.compilation) + ": " + std::to_string(p.saved) + " saved, " +
           bytes(p.saved_bytes) + " instead of " + bytes(p.eager_bytes) + "; " +
           std::to_string(p.recomputed) + " computed again\n" + table.text(options.width) + "\n";
  }
  return out.empty() ? nothing("partition", why_no_halves(s)) : out;
}

std::string show_launch(const Reader& s, const ShowOptions& options, std::string_view) {
  auto launches = of_compilation<LaunchRow>(s, options);
  if (options.json) return json_table(s, launches);
  EntityNames names(s);
  TextTable table({"compilation", ">#", "kind", "launch", "arguments", ">bytes", ">" + launch_title(s),
                   ">half of the calls", ">calls"});
  table.least({"calls", "arguments", "half of the calls", "kind"});
  int64_t number = 0;
  Id before = 0;
  for (const LaunchRow& l : launches) {
    if (l.compilation != before) number = 0;
    before = l.compilation;
    const int64_t moved = l.bytes || !l.kernel ? l.bytes : s.row<KernelRow>(l.kernel).bytes;
    table.row({names.compilation(l.compilation), launches_something(l) ? std::to_string(++number) : "",
               l.kind, l.text, l.args, bytes(moved), nanoseconds(l.median_ns),
               middle_half(l.lower_ns, l.upper_ns, l.calls), l.calls ? std::to_string(l.calls) : "–"});
  }
  return table.empty() ? nothing("launch plan", why_nothing(s, "launch", "what was compiled has none"))
                       : table.text(options.width) + shown_call_notes(s);
}

}  // namespace vitrine::cli
