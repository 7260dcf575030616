#include "views/kit/session/session_data.h"

#include <QDateTime>
#include <QFileInfo>
#include <algorithm>
#include <future>
#include <optional>
#include <unordered_set>

#include "core/base/shown_type.h"
#include "core/session/launches.h"
#include "core/session/notes.h"
#include "views/kit/session/frames.h"
#include "views/kit/session/labels.h"

namespace vitrine::kit {

using namespace session;

Text TextStore::cached(BlobRef ref) const {
  static const Text empty = std::make_shared<const std::string>();
  if (!ref.row) return empty;
  std::lock_guard lock(mutex_);
  auto it = texts_.find(ref.row);
  return it == texts_.end() ? nullptr : it->second;
}

Text TextStore::load(BlobRef ref) {
  if (Text known = cached(ref)) return known;
  std::lock_guard lock(mutex_);
  Text text = std::make_shared<const std::string>(reader_->text(ref));
  texts_.emplace(ref.row, text);
  return text;
}

namespace {

using Links = std::vector<std::pair<Id, Id>>;
constexpr int64_t kManyNodes = 50'000;

// What the rows say about provenance without a link of their own.
Links impliedLinks(const SessionData& d) {
  Links out;
  for (const InstructionRow& row : d.instructions) out.emplace_back(row.span, row.id);
  for (const StepRow& row : d.steps) {
    if (!row.entity) continue;
    out.emplace_back(row.instruction, row.id);
    out.emplace_back(row.id, row.entity);
  }
  for (const GuardRow& row : d.guards) out.emplace_back(row.instruction, row.id);
  for (const BreakRow& row : d.breaks) {
    out.emplace_back(row.instruction, row.id);
    out.emplace_back(row.id, row.next_segment);
  }
  for (const RecompilationRow& row : d.recompilations) out.emplace_back(row.guard, row.id);
  for (const DecisionRow& row : d.decisions) {
    out.emplace_back(row.a, row.id);
    out.emplace_back(row.b, row.id);
  }
  for (const CrossingRow& row : d.crossings)
    if (row.node && row.backward_node) out.emplace_back(row.node, row.backward_node);
  for (const BufferRow& row : d.buffers) out.emplace_back(row.node, row.id);
  for (const LaunchRow& row : d.launches) out.emplace_back(row.kernel, row.id);
  for (const MessageRow& row : d.messages)
    if (kind_of(row.entity) == Kind::Span) out.emplace_back(row.entity, row.id);
  return out;
}

// A kernel of which nothing but its lines says what it computes.
void linkKernels(const Reader& r, const SessionData& d, Links& links) {
  std::unordered_set<Id> stemming;
  for (const auto& [origin, derived] : links)
    if (kind_of(derived) == Kind::Kernel && kind_of(origin) == Kind::Node) stemming.insert(derived);
  for (const KernelRow& kernel : d.kernels)
    if (kernel.source.row && !stemming.contains(kernel.id))
      for (const KernelRangeRow& row : r.rows<KernelRangeRow>("kernel = ?1", {kernel.id}))
        links.emplace_back(row.node, kernel.id);
}

// A node without any origin stems from its expression directly.
void linkSpans(const SessionData& d, Links& links) {
  std::vector<Id> stemming;
  for (const auto& [origin, derived] : links)
    if (kind_of(derived) == Kind::Node) stemming.push_back(derived);
  std::sort(stemming.begin(), stemming.end());
  for (const NodeRow& row : d.nodes)
    if (row.span && !std::binary_search(stemming.begin(), stemming.end(), row.id))
      links.emplace_back(row.span, row.id);
}

template <class Row>
Table<Row> table(const Reader& r, const char* tail, Id Row::* owner = nullptr) {
  return Table<Row>(r.all<Row>(tail), owner);
}

// Of tables that may be long: they are mostly in their order already, and SQLite would sort copies of whole
// rows.
template <class Row, class Key>
Table<Row> longTable(const Reader& r, Id Row::* owner, Key key) {
  std::vector<Row> rows = r.all<Row>();
  const auto before = [&](const Row& a, const Row& b) {
    return a.*owner != b.*owner ? a.*owner < b.*owner : key(a) < key(b);
  };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) std::stable_sort(rows.begin(), rows.end(), before);
  return Table<Row>(std::move(rows), owner);
}
constexpr auto byOrdinal = [](const auto& row) { return row.ordinal; };

void loadCapture(const Reader& r, SessionData& d) {
  d.files = table<FileRow>(r, "ORDER BY id");
  d.spans = table<SpanRow>(r, "ORDER BY line, col", &SpanRow::file);
  d.codes = table<CodeRow>(r, "ORDER BY first_line", &CodeRow::file);
  d.instructions = table<InstructionRow>(r, "ORDER BY pc", &InstructionRow::code);
  d.frames = table<FrameRow>(r, "ORDER BY id", &FrameRow::run);
  d.segments = table<SegmentRow>(r, "ORDER BY ordinal", &SegmentRow::frame);
  d.compilations = table<CompilationRow>(r, "ORDER BY ordinal", &CompilationRow::segment);
  d.steps = longTable<StepRow>(r, &StepRow::compilation, byOrdinal);
  d.guards = longTable<GuardRow>(r, &GuardRow::compilation, byOrdinal);
  d.breaks = table<BreakRow>(r, "ORDER BY id", &BreakRow::compilation);
  d.recompilations = table<RecompilationRow>(r, "ORDER BY id", &RecompilationRow::compilation);
  d.calls = table<CallRow>(r, "ORDER BY ordinal", &CallRow::run);
}

void loadCompiler(const Reader& r, SessionData& d) {
  d.stages = table<StageRow>(r, "ORDER BY start_ns", &StageRow::compilation);
  d.graphs = table<GraphRow>(r, "ORDER BY ordinal", &GraphRow::compilation);
  d.crossings = table<CrossingRow>(r, "ORDER BY ordinal", &CrossingRow::compilation);
  d.partitions = table<PartitionRow>(r, "", &PartitionRow::compilation);
  d.backwards = table<BackwardRow>(r, "", &BackwardRow::compilation);
  d.symbols = table<SymbolRow>(r, "ORDER BY ordinal", &SymbolRow::compilation);
  d.symbol_guards = table<SymbolGuardRow>(r, "ORDER BY ordinal", &SymbolGuardRow::compilation);
  d.instances = table<InstanceRow>(r, "ORDER BY ordinal", &InstanceRow::compilation);
  d.sized_buffers = table<SizedBufferRow>(r, "ORDER BY ordinal", &SizedBufferRow::compilation);
  d.decisions = longTable<DecisionRow>(r, &DecisionRow::compilation, byOrdinal);
  d.kernels = table<KernelRow>(r, "ORDER BY ordinal", &KernelRow::compilation);
  d.remarks = table<RemarkRow>(r, "ORDER BY line, col", &RemarkRow::kernel);
  d.counters = table<CounterRow>(r, "ORDER BY launch, ordinal", &CounterRow::kernel);
  d.samples = table<SampleRow>(r, "ORDER BY offset", &SampleRow::kernel);
  d.cuda_graphs = table<CudaGraphRow>(r, "", &CudaGraphRow::compilation);
  d.choices = table<ChoiceRow>(r, "ORDER BY ordinal", &ChoiceRow::kernel);
  for (GpuKernelRow& row : r.all<GpuKernelRow>()) d.gpu_kernels[row.kernel] = std::move(row);
  d.buffers = table<BufferRow>(r, "ORDER BY ordinal", &BufferRow::compilation);
  d.numerics = table<NumericsRow>(r, "ORDER BY ordinal", &NumericsRow::compilation);
  d.launches = table<LaunchRow>(r, "ORDER BY ordinal", &LaunchRow::compilation);
}

void loadRuns(const Reader& r, SessionData& d) {
  d.runs = table<RunRow>(r, "ORDER BY id");
  d.lanes = table<LaneRow>(r, "ORDER BY side DESC, ordinal", &LaneRow::run);
  d.accuracies = table<AccuracyRow>(r, "", &AccuracyRow::run);
  d.timings = table<TimingRow>(r, "ORDER BY ordinal", &TimingRow::run);
  d.measurements = table<MeasurementRow>(r, "", &MeasurementRow::run);
  d.messages = table<MessageRow>(r, "ORDER BY time_ns, id", &MessageRow::run);
  d.allocations = table<AllocationRow>(r, "ORDER BY side, ordinal", &AllocationRow::run);
  d.ceilings = r.all<CeilingRow>();
  d.names = r.all<NameRow>("ORDER BY id");
  for (const MetaRow& row : r.all<MetaRow>()) d.meta[row.key] = row.value;
}

// A backward graph comes second to the forward one that it is a half of.
Id mainCompilation(const SessionData& d) {
  Id best = 0;
  std::tuple<int64_t, int64_t, int64_t> most{-1, -1, -1};  // has kernels, operators, calls
  for (const CompilationRow& row : d.compilations) {
    if (!d.runs.empty() && d.runOf(row.id) != d.runs[0].id) continue;
    int64_t ops = 0;
    for (const char* stage : {"aten", "joint", "captured"}) {
      const auto all = d.snapshots(row.id, stage);
      const auto nodes = all.empty() ? std::span<const NodeRow>() : d.nodes.of(d.withNodes(*all.back())->id);
      ops = std::max<int64_t>(
          ops, std::count_if(nodes.begin(), nodes.end(), [](const NodeRow& n) { return n.kind == "op"; }));
    }
    const std::tuple weight(int64_t(!d.kernels.of(row.id).empty()), ops, row.calls);
    if (weight > most) std::tie(most, best) = std::pair(weight, row.id);
  }
  return best;
}

// Links are many, and as many again follow from rows: their number is known before they are gathered.
Links allLinks(const Reader& r, const SessionData& d) {
  Links links = impliedLinks(d);
  links.reserve(links.size() +
                static_cast<size_t>(std::clamp<int64_t>(r.about_rows(LinkRow::table), 0, 1 << 22)));
  // Links to kernels' lines are most of them. The sign keeps SQLite from going by the index, row by row.
  constexpr Id kLines = make_id(Kind::KernelRange, 0), kBehind = make_id(Kind::Buffer, 0);
  for (const LinkRow& row : r.rows<LinkRow>("+derived < ?1 OR +derived >= ?2", {kLines, kBehind}))
    links.emplace_back(row.origin, row.derived);
  linkKernels(r, d, links);
  linkSpans(d, links);
  return links;
}

// The tables that have most of the rows of a large session.
void loadGraphs(const Reader& r, SessionData& d) {
  d.nodes = longTable<NodeRow>(r, &NodeRow::graph, byOrdinal);
  d.rewrites = longTable<RewriteRow>(r, &RewriteRow::graph, byOrdinal);
}

// Of a file that is known to be whole they are read at the same time as the rest, by a second connection. Of
// a stranger's all is read by one, so that it costs no more than its limits.
struct GraphsApart {
  std::unique_ptr<Reader> reader;
  std::future<void> done;
  GraphsApart(const std::string& path, Whose whose, Loading* loading, SessionData& d) {
    auto second = Reader::open(path, whose);
    if (!second) return;
    reader = second.take();
    if (loading) reader->count_rows(&loading->rows);
    done = std::async(std::launch::async, [this, &d] { loadGraphs(*reader, d); });
  }
};

// Each of a kernel's lines has a link to it, and neither is read.
int64_t rowsOf(const Reader& r) {
  const int64_t links = r.about_rows(LinkRow::table) - r.about_rows(KernelRangeRow::table);
  return r.about_rows(NodeRow::table) + r.about_rows(StepRow::table) + std::max<int64_t>(0, links);
}

}  // namespace

Result<std::shared_ptr<const SessionData>> SessionData::load(const std::string& path, Whose whose,
                                                             Loading* loading) {
  const int64_t stamp = stampOf(path);  // before reading: what comes meanwhile is seen next time
  auto reader = Reader::open(path, whose);
  if (!reader) return reader.error();
  Reader& r = *reader.value();
  if (loading) {
    loading->all = rowsOf(r);
    r.count_rows(&loading->rows);
  }
  auto data = std::make_shared<SessionData>();
  SessionData& d = *data;
  d.path = path;
  d.stamp = stamp;
  d.trusted = r.trusted();
  std::optional<GraphsApart> apart;
  if (d.trusted && r.meta("status") != "running" && r.about_rows(NodeRow::table) > kManyNodes)
    apart.emplace(path, whose, loading, d);
  loadRuns(r, d);
  add_notes_beside(path, d.meta);
  loadCapture(r, d);
  loadCompiler(r, d);
  if (apart && apart->done.valid())
    apart->done.get();
  else
    loadGraphs(r, d);
  d.links = LinkIndex(allLinks(r, d));
  for (const CompilationRow& row : d.compilations) d.workCodes[row.id] = workCode(d, row.id);
  d.main = mainCompilation(d);
  std::vector<std::string_view> types;
  for (const session::NodeRow& node : d.nodes.all()) types.push_back(node.type);
  d.device = device_of(types);
  d.damage = r.damage();
  if (apart && apart->reader && d.damage.empty()) d.damage = apart->reader->damage();
  r.count_rows(nullptr);
  d.texts = std::make_shared<TextStore>(reader.take());
  d.edges = Pages<EdgeRow>([texts = d.texts](Id graph) {
    auto rows = texts->rows<EdgeRow>("graph = ?1", {graph});
    std::stable_sort(rows.begin(), rows.end(), [](const EdgeRow& a, const EdgeRow& b) {
      return std::pair(a.dst, a.slot) < std::pair(b.dst, b.slot);
    });
    return rows;
  });
  d.ranges = KernelLines(
      [texts = d.texts](const char* where, Id id) { return texts->rows<KernelRangeRow>(where, {id}); });
  for (const FileRow& file : d.files)
    if (file.user) d.texts->load(file.text);  // so that every label can quote the user's source
  return std::shared_ptr<const SessionData>(data);
}

int64_t SessionData::stampOf(const std::string& path) {
  const QFileInfo file(QString::fromStdString(path)), log(QString::fromStdString(path + "-wal"));
  if (!file.exists()) return -1;
  const int64_t stamp = file.size() + file.lastModified().toMSecsSinceEpoch();
  return log.exists() ? stamp + log.size() + log.lastModified().toMSecsSinceEpoch() : stamp;
}

Id SessionData::compilationOf(Id id) const {
  auto owner = [&](const auto& rows) -> Id {
    const auto* row = rows.find(id);
    return row ? row->compilation : 0;
  };
  switch (kind_of(id)) {
    case Kind::Compilation:
      return id;
    case Kind::Step:
      return owner(steps);
    case Kind::Guard:
      return owner(guards);
    case Kind::Break:
      return owner(breaks);
    case Kind::Recompilation:
      return owner(recompilations);
    case Kind::Graph:
      return owner(graphs);
    case Kind::Decision:
      return owner(decisions);
    case Kind::Kernel:
      return owner(kernels);
    case Kind::Buffer:
      return owner(buffers);
    case Kind::Launch:
      return owner(launches);
    case Kind::Node:
      if (const NodeRow* row = nodes.find(id)) return compilationOf(row->graph);
      return 0;
    case Kind::KernelRange:
      if (const KernelRangeRow* row = ranges.find(id)) return compilationOf(row->kernel);
      return 0;
    default:
      return 0;
  }
}

Id SessionData::runOf(Id id) const {
  switch (kind_of(id)) {
    case Kind::Run:
      return id;
    case Kind::Frame:
      if (const FrameRow* row = frames.find(id)) return row->run;
      return 0;
    case Kind::Segment:
      if (const SegmentRow* row = segments.find(id)) return runOf(row->frame);
      return 0;
    case Kind::Call:
      if (const CallRow* row = calls.find(id)) return row->run;
      return 0;
    case Kind::Message:
      if (const MessageRow* row = messages.find(id)) return row->run;
      return 0;
    case Kind::Compilation:
      if (const CompilationRow* row = compilations.find(id)) return runOf(row->segment);
      return 0;
    default:
      return compilationOf(id) ? runOf(compilationOf(id)) : 0;
  }
}

const StageRow* SessionData::stage(Id compilation, std::string_view name) const {
  for (const StageRow& row : stages.of(compilation))
    if (row.name == name && row.state != "none") return &row;
  return nullptr;
}

Id SessionData::forwardOf(Id compilation) const {
  for (const BackwardRow& row : backwards)
    if (row.backward == compilation) return row.compilation;
  return compilation;
}

bool SessionData::isGpu(Id compilation) const {
  for (const KernelRow& kernel : kernels.of(compilation))
    if (gpu_kernels.count(kernel.id)) return true;
  return false;
}

Id SessionData::codeOf(Id compilation) const {
  const CompilationRow* own = compilations.find(compilation);
  const SegmentRow* segment = own ? segments.find(own->segment) : nullptr;
  const FrameRow* frame = segment ? frames.find(segment->frame) : nullptr;
  return frame ? frame->code : 0;
}

Id SessionData::workCodeOf(Id compilation) const {
  auto it = workCodes.find(compilation);
  return it == workCodes.end() ? codeOf(compilation) : it->second;
}

int64_t SessionData::countOf(Id compilation, std::string_view name) const {
  for (const StageRow& row : stages.of(compilation))
    if (row.name == name && (row.state == "none" || row.state == "cancelled")) return -1;
  // Counted here, so that strip and headers say the same: operators, not inputs and weights; launches that
  // run.
  if (const GraphRow* graph = lastGraph(compilation, name); graph && name != "fused") {
    const auto all = nodes.of(graph->id);
    return std::count_if(all.begin(), all.end(), [](const NodeRow& n) { return n.kind == "op"; });
  }
  if (name == "launch" && !launches.of(compilation).empty()) return launches_in(launches.of(compilation));
  for (const StageRow& row : stages.of(compilation))
    if (row.name == name) return row.count;
  auto some = [](size_t n) { return n ? static_cast<int64_t>(n) : -1; };
  const CodeRow* code = codes.find(codeOf(compilation));
  if (name == "source") return code ? code->last_line - code->first_line + 1 : -1;
  if (name == "bytecode") return code ? some(instructions.of(code->id).size()) : -1;
  if (name == "kernels" || name == "ir" || name == "assembly")
    return some(
        static_cast<size_t>(std::count_if(kernels.of(compilation).begin(), kernels.of(compilation).end(),
                                          [](const KernelRow& k) { return k.source.row != 0; })));
  if (name == "timeline") return some(lanes.of(runOf(compilation)).size());
  if (name == "memory") {
    int64_t bytes = 0;
    for (const BufferRow& row : buffers.of(compilation)) bytes = std::max(bytes, row.offset + row.bytes);
    return bytes ? bytes : -1;
  }
  const GraphRow* graph = lastGraph(compilation, name);
  if (!graph) return -1;
  const auto all = nodes.of(graph->id);
  return std::count_if(all.begin(), all.end(), [](const NodeRow& node) { return node.kind == "op"; });
}

std::vector<const GraphRow*> SessionData::snapshots(Id compilation, std::string_view stage) const {
  std::vector<const GraphRow*> out;
  for (const GraphRow& row : graphs.of(compilation))
    if (row.stage == stage) out.push_back(&row);
  return out;
}

const GraphRow* SessionData::lastGraph(Id compilation, std::string_view stage) const {
  auto all = snapshots(compilation, stage);
  if (all.empty()) all = snapshots(forwardOf(compilation), stage);
  return all.empty() ? nullptr : withNodes(*all.back());
}

const GraphRow* SessionData::withNodes(const GraphRow& snapshot) const {
  const GraphRow* found = &snapshot;
  for (const GraphRow* row : snapshots(snapshot.compilation, snapshot.stage))
    if (row->ordinal <= snapshot.ordinal && !nodes.of(row->id).empty()) found = row;
  return found;
}

const NodeRow* SessionData::nodeByStable(Id graph, int64_t stable) const {
  for (const NodeRow& row : nodes.of(graph))
    if (row.stable == stable) return &row;
  return nullptr;
}

const std::string& SessionData::name(int64_t row) const {
  static const std::string none;
  return row >= 1 && row <= static_cast<int64_t>(names.size()) ? names[static_cast<size_t>(row) - 1].text
                                                               : none;
}

QString SessionData::fileName(Id file) const {
  const FileRow* row = files.find(file);
  return row ? QFileInfo(QString::fromStdString(row->path)).fileName() : QString();
}

QString SessionData::type(const std::string& recorded) const {
  return QString::fromStdString(type_for(recorded, device));
}

QString SessionData::place(Id span) const {
  const SpanRow* row = spans.find(span);
  return row ? QStringLiteral("%1:%2").arg(row->line).arg(row->col) : QString();
}

QString SessionData::label(Id id) const {
  return labelOf(*this, id);
}

}  // namespace vitrine::kit
