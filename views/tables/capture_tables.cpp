// Graph breaks, guards and recompilations.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <algorithm>
#include <map>
#include <set>

#include "core/session/guard_groups.h"
#include "views/kit/session/labels.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/sources.h"
#include "views/kit/session/verdict.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/recompilation_diff.h"
#include "views/tables/tables.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

QString html(const std::string& text) {
  return q(text).toHtmlEscaped();
}

const SpanRow* span_of(const SessionData& data, Id instruction) {
  const InstructionRow* row = data.instructions.find(instruction);
  return row ? data.spans.find(row->span) : nullptr;
}

QString place_of(const SessionData& data, Id instruction) {
  const SpanRow* span = span_of(data, instruction);
  return span ? data.place(span->id) : unknown();
}

// "12:4"; "linear.py:134:31" where that is in another file than the code that was compiled.
QString place_from(const SessionData& data, Id compilation, Id instruction) {
  const SpanRow* span = span_of(data, instruction);
  const CodeRow* code = data.codes.find(data.codeOf(compilation));
  const FileRow* file = span && code && span->file != code->file ? data.files.find(span->file) : nullptr;
  const QString place = place_of(data, instruction);
  return file ? q(file->path).section('/', -1) + ':' + place : place;
}

Cell shown_number(double value, const QString& text, Tone tone = Tone::None) {
  Cell cell{text};
  cell.sort = value;
  cell.tone = tone;
  return cell;
}
Cell count(int64_t n, Tone tone = Tone::None) {
  return shown_number(static_cast<double>(n), QString::number(n), tone);
}

// A count that another tool did not record is no 0.
Cell known(const TableScope& scope, Cell cell) {
  if (scope.data.imported() && cell.sort.toDouble() == 0) cell.text = unknown();
  return cell;
}

// Rows of one compilation when the film stands at one of a segment, else of all.
template <class Row>
std::vector<const Row*> of_run(const SessionData& data, const Table<Row>& table, Id run) {
  std::vector<const Row*> out;
  for (const Row& row : table)
    if (!run || data.runOf(row.id) == run) out.push_back(&row);
  return out;
}

QString fact(const QString& name, const QString& text) {
  return text.isEmpty()
             ? QString()
             : QStringLiteral("<tr><td width=\"64\"><font color=\"%1\">%2</font></td><td>%3</td></tr>")
                   .arg(theme().text3.name(), name, text);
}

// "block.py:11 forward ← train.py:22 step", innermost first.
QString stack_text(const std::string& json) {
  QStringList frames;
  for (const QJsonValue& value : QJsonDocument::fromJson(QByteArray::fromStdString(json)).array()) {
    QJsonObject f = value.toObject();
    frames << QStringLiteral("<code>%1:%2 %3</code>")
                  .arg(f["file"].toString().section('/', -1).toHtmlEscaped())
                  .arg(f["line"].toInt())
                  .arg(f["function"].toString().toHtmlEscaped());
  }
  return frames.join(QStringLiteral(" ← "));
}

// --- breaks ---

std::vector<BreakCause> causes(const TableScope& scope) {
  return breakCauses(scope.data, scope.run);
}

// A line number alone says where a break is as long as all are in one file.
bool in_several_files(const TableScope& scope) {
  std::set<Id> files;
  for (const BreakCause& cause : causes(scope))
    if (const SpanRow* span = span_of(scope.data, session::place_of(cause))) files.insert(span->file);
  return files.size() > 1;
}

QString break_place(const SessionData& data, Id instruction, bool with_file) {
  const SpanRow* span = span_of(data, instruction);
  const FileRow* file = with_file && span ? data.files.find(span->file) : nullptr;
  const QString place = place_of(data, instruction);
  return file ? q(file->path).section('/', -1) + ':' + place : place;
}

MeasureUnit break_unit(const TableScope& scope) {
  Extent prices;
  for (const BreakCause& cause : causes(scope)) {
    prices.add(cause.ns_per_call);
    for (const BreakRow* b : cause.rows) prices.add(b->ns_per_call);
  }
  return timeUnit(prices);
}

std::vector<Column> break_columns(const TableScope& scope) {
  const bool with_file = in_several_files(scope);
  return {{with_file ? "place" : "line", with_file ? 190 : 110, false, true},
          {"expression", 260, false, true, true},
          {"kind", 190},
          {"calls", 64, true},
          {QStringLiteral("%1 a call").arg(break_unit(scope).name), 96, true}};
}

// Of how many calls the price is the median; the caller's part is in it.
QString price_text(const BreakCause& cause) {
  if (cause.ns_per_call <= 0) return QStringLiteral("not measured: no steady call was recorded");
  if (!cause.priced) return {};
  return QStringLiteral("%1 a call, the median of %2")
      .arg(timeText(cause.ns_per_call), countText(cause.priced, "steady call"));
}

std::vector<Item> break_rows(const TableScope& scope) {
  std::vector<Item> out;
  const std::vector<BreakCause> all = causes(scope);
  const MeasureUnit unit = break_unit(scope);
  const bool with_file = in_several_files(scope);
  auto price = [&](double ns) { return shown_number(ns, ns > 0 ? unit.format(ns) : unknown()); };
  double dearest = -1;
  for (const BreakCause& cause : all) dearest = std::max(dearest, cause.ns_per_call);
  for (const BreakCause& cause : all) {
    const BreakRow* b = cause.rows[0];
    QString kind = q(b->kind);
    kind.replace('_', ' ');
    Cell line{break_place(scope.data, session::place_of(cause), with_file)};
    line.icon = "scissors";
    line.tone = Tone::Warn;
    Item item{
        b->id, {line, {q(b->expression)}, {kind}, known(scope, count(cause.calls)), price(cause.ns_per_call)},
        {},    {},
        false, false};
    item.detail = QStringLiteral("<table>%1%2%3%4</table>")
                      .arg(fact("why", html(b->reason)), fact("stack", stack_text(b->stack)),
                           fact("price", price_text(cause)), fact("instead", html(b->hint)));
    if (cause.rows.size() > 1)
      for (const BreakRow* each : cause.rows) {
        if (each == b) continue;
        // Its caller, another compilation, or where the same line stopped before.
        Cell where{each->instruction != b->instruction && each->cause == b->cause
                       ? QStringLiteral("from ") + break_place(scope.data, each->instruction, with_file)
                       : QStringLiteral("also")};
        where.quiet = true;
        item.children.push_back({each->id,
                                 {where,
                                  {compilationName(scope.data, each->compilation)},
                                  {},
                                  count(each->calls),
                                  price(each->ns_per_call)},
                                 {},
                                 {},
                                 false,
                                 false});
      }
    item.open = cause.ns_per_call == dearest;
    if (cause.ns_per_call == dearest) dearest = -1;  // one of equals
    out.push_back(std::move(item));
  }
  return out;
}

// What was looked at, where no break was found.
QString break_why(const TableScope& scope) {
  return QString::fromStdString(verdictOf(scope.data, scope.run).frames());
}

QString break_subtitle(const TableScope& scope) {
  double dearest = 0;
  const std::vector<BreakCause> all = causes(scope);
  for (const BreakCause& cause : all) dearest = std::max(dearest, cause.ns_per_call);
  const QString price = dearest > 0 ? timeText(dearest) + QStringLiteral(" each time") : QString();
  return all.empty() ? QString()
                     : countText(static_cast<int64_t>(all.size()), "break") +
                           (price.isEmpty()  ? QString()
                            : all.size() > 1 ? QStringLiteral(", the dearest ") + price
                                             : QStringLiteral(", ") + price);
}

// --- guards: a tree by source, in evaluation order ---

std::vector<Column> guard_columns(const TableScope&) {
  return {{"guard", 240, false, true, true},
          {"expected", 200, false, true, true},
          {"line", 66, false, true},
          {"cost, ns", 100, true, false, false, true},
          {"checks", 58, true},
          {"fails", 46, true}};
}

// "state.size(1)" under "state": the part that its root does not say.
QString tail_of(const std::string& source, const std::string& root, const std::string& otherwise) {
  if (source.size() > root.size() && source.rfind(root, 0) == 0)
    return sourceText(source.substr(root.size())).trimmed();
  return q(otherwise);
}

// "is <function gelu at 0x7f4e1ae1b9c0>" -> "is gelu": the address is in the tooltip; "a Encoder" -> "an
// Encoder".
QString shortened(QString expected) {
  static const QRegularExpression vowel(QStringLiteral("^a (?=[aeioAEIO])"));
  expected.replace(vowel, QStringLiteral("an "));
  static const QRegularExpression nameless(QStringLiteral("<([^ '>]+) object>"));
  expected.replace(nameless, QStringLiteral("the same \\1"));
  static const QRegularExpression object(
      QStringLiteral("<(?:built-in )?(?:function|method|class|module|bound method|type) '?([^ '>]+)[^>]*>"));
  return expected.replace(object, QStringLiteral("\\1"));
}

constexpr size_t kFewGuards = 60;  // of which all branches stand open

// The guards of one source and, below, of the modules in it.
class GuardRows {
 public:
  explicit GuardRows(const TableScope& scope) : scope_(scope) {}

  std::vector<Item> run() {
    const auto all = scope_.data.guards.of(scope_.compilation);
    for (const GuardRow& g : all) dearest_ = std::max(dearest_, g.cost_ns);
    std::vector<const GuardRow*> rows;
    for (const GuardRow& g : all) rows.push_back(&g);
    for (GuardGroup& group : guard_groups(rows))
      if (group.likeness == GuardLikeness::Parameters || group.likeness == GuardLikeness::SameObject)
        add(std::move(group));
      else
        for (const GuardRow* g : group.rows) add(*g);
    std::vector<Item> out;
    for (const std::string& root : roots_) out.push_back(item(root, "", all.size() <= kFewGuards));
    return out;
  }

 private:
  struct Branch {
    std::vector<const GuardRow*> guards;
    std::vector<GuardGroup> groups;
    std::vector<std::string> below;
  };

  // Like guards stand together below their root.
  void add(GuardGroup group) {
    const std::string& root = group.rows.front()->root;
    grow(root, root).groups.push_back(std::move(group));
  }

  void add(const GuardRow& g) {
    const std::string root = g.root.empty() ? "global state" : g.root;
    std::string at = modulePart(g.source);
    if (at == g.source && g.kind != "type") at = g.source;
    if (at.size() <= root.size() || at.rfind(root, 0) != 0 || !is_module(at)) at = root;
    grow(root, at).guards.push_back(&g);
  }

  static bool is_module(const std::string& source) {
    return source.find("['_modules']['") != std::string::npos;
  }

  Branch& grow(const std::string& root, const std::string& at) {
    const auto [it, added] = branches_.try_emplace(at);
    if (!added) return it->second;
    if (at == root) {
      roots_.push_back(root);
      return it->second;
    }
    const std::string above = at.substr(0, at.rfind(".__dict__['_modules']['"));
    const std::string up = above.size() < root.size() ? root : above;
    grow(root, up).below.push_back(at);
    return branches_[at];
  }

  Item item(const std::string& at, const std::string& up, bool open) const {
    const Branch& branch = branches_.at(at);
    Item out{
        0,          {{up.empty() ? sourceText(scope_.data, scope_.compilation, at) : tail_of(at, up, at)}},
        {},         {},
        up.empty(), open || up.empty()};
    double cost = 0;
    int64_t fails = 0;
    for (const GuardRow* g : branch.guards) out.children.push_back(leaf(*g, at));
    for (const GuardGroup& group : branch.groups) out.children.push_back(together(group));
    for (const std::string& below : branch.below) out.children.push_back(item(below, at, open));
    sum(at, cost, fails);
    if (up.empty()) {
      Cell meaning{on_stack(at) ? QStringLiteral("on the stack at its beginning") : QString()};
      meaning.quiet = true;
      meaning.tooltip =
          QStringLiteral("values on the stack where the segment begins, numbered from its bottom");
      if (on_stack(at)) out.cells.push_back(meaning);
      return out;
    }
    Cell type{class_of(branch)}, total = shown_number(cost, fixed(cost, 0));
    type.quiet = total.quiet = true;
    out.cells.insert(out.cells.end(), {type, {}, total, {}, fails_cell(fails)});
    if (!fails) out.cells.back().text.clear();
    return out;
  }

  void sum(const std::string& at, double& cost, int64_t& fails) const {
    for (const GuardRow* g : branches_.at(at).guards) cost += g->cost_ns, fails += g->fails;
    for (const GuardGroup& group : branches_.at(at).groups) cost += group.cost_ns, fails += group.fails;
    for (const std::string& below : branches_.at(at).below) sum(below, cost, fails);
  }

  static bool on_stack(const std::string& root) { return root.rfind("S[", 0) == 0; }

  static QString class_of(const Branch& branch) {
    for (const GuardRow* g : branch.guards)
      if (g->kind == "type" && modulePart(g->source) == g->source) return q(g->expected).section(' ', 1);
    return {};
  }

  Cell checks_cell(int64_t checks) const { return known(scope_, count(checks)); }

  Cell fails_cell(int64_t fails) const {
    Cell out = known(scope_, count(fails, fails ? Tone::Warn : Tone::None));
    if (fails) out.icon = "warning";
    return out;
  }

  // Of a guard on many sources: each of them.
  std::vector<Item> members(const GuardRow& g) const {
    std::vector<Item> out;
    const QStringList lines = g.members.empty() ? QStringList() : q(g.members).split(QLatin1Char('\n'));
    for (qsizetype i = 0; i < lines.size(); ++i) {
      Cell name{sourceText(scope_.data, scope_.compilation, lines[i].toStdString())};
      Cell role{i < g.changed ? QStringLiteral("changed") : QStringLiteral("read")};
      role.quiet = true;
      out.push_back({g.id, {name, role, Cell(), Cell(), Cell(), Cell()}, {}, {}, false, false});
    }
    return out;
  }

  // One row for guards that are alike, each of them below it.
  Item together(const GuardGroup& group) const {
    Cell expected{shortened(q(group_expected(group)))},
        cost = shown_number(group.cost_ns, group.cost_ns > 0 ? fixed(group.cost_ns, 0) : unknown());
    expected.quiet = true;
    Item out{
        group.rows.front()->id,
        {{q(group_title(group))}, expected, {}, cost, checks_cell(group.checks), fails_cell(group.fails)},
        {},
        {},
        false,
        false};
    for (const GuardRow* g : group.rows) out.children.push_back(leaf(*g, g->root));
    return out;
  }

  Item leaf(const GuardRow& g, const std::string& at) const {
    Cell expected{shortened(q(g.expected))};
    expected.quiet = true;
    expected.tooltip = q(g.expected);
    Cell cost = shown_number(g.cost_ns, g.cost_ns > 0 ? fixed(g.cost_ns, 0) : unknown());
    if (g.cost_ns > 0 && dearest_ > 0) cost.bar = g.cost_ns / dearest_;
    Cell name{tail_of(g.source, at, g.kind)};
    name.tooltip = sourceText(scope_.data, scope_.compilation, g.source);
    return {g.id,
            {name,
             expected,
             {place_from(scope_.data, scope_.compilation, g.instruction)},
             cost,
             checks_cell(g.checks),
             fails_cell(g.fails)},
            members(g),
            {},
            false,
            false};
  }

  const TableScope& scope_;
  double dearest_ = 0;
  std::vector<std::string> roots_;
  std::map<std::string, Branch> branches_;
};

std::vector<Item> guard_rows(const TableScope& scope) {
  return GuardRows(scope).run();
}

QString guard_subtitle(const TableScope& scope) {
  const CompilationRow* c = scope.data.compilations.find(scope.compilation);
  auto guards = scope.data.guards.of(scope.compilation);
  if (!c || guards.empty()) return {};
  double ns = 0;
  for (const GuardRow& g : guards) ns += g.cost_ns;
  return QString::number(guards.size()) +
         (ns > 0 ? QStringLiteral(", ") + timeText(ns) + QStringLiteral(" a call") : QString());
}

// --- recompilations ---

MeasureUnit recompilation_unit(const TableScope& scope) {
  Extent times;
  for (const RecompilationRow* r : of_run(scope.data, scope.data.recompilations, scope.run))
    if (const CompilationRow* c = scope.data.compilations.find(r->compilation))
      times.add(static_cast<double>(c->duration_ns));
  return timeUnit(times);
}

// The function whose compilation it is.
QString function_of(const SessionData& data, const RecompilationRow& row) {
  const CompilationRow* c = data.compilations.find(row.compilation);
  const SegmentRow* segment = c ? data.segments.find(c->segment) : nullptr;
  return segment ? data.label(segment->frame) : QString();
}

// Compilations are numbered in each function: where there are several, its name stands with the number.
bool several_functions(const TableScope& scope) {
  std::set<QString> names;
  for (const RecompilationRow* r : of_run(scope.data, scope.data.recompilations, scope.run))
    names.insert(function_of(scope.data, *r));
  return names.size() > 1;
}

std::vector<Column> recompilation_columns(const TableScope& scope) {
  return {{"compile", several_functions(scope) ? 150 : 72, false, true},
          {"call", 56, true},
          {"failed guard", 240, false, true, true},
          {"was", 92, false, true},
          {"now", 92, false, true},
          {QStringLiteral("took, %1").arg(recompilation_unit(scope).name), 84, true}};
}

QString before_text(const TableScope& scope, const CompilationRow& before) {
  const QString name = QStringLiteral("compile ") + q(before.label);
  return scope.data.imported() ? name : name + QStringLiteral(", ") + countText(before.calls, "call");
}

std::vector<Item> recompilation_rows(const TableScope& scope) {
  std::vector<Item> out;
  const MeasureUnit unit = recompilation_unit(scope);
  const bool several = several_functions(scope);
  for (const RecompilationRow* r : of_run(scope.data, scope.data.recompilations, scope.run)) {
    const CompilationRow* c = scope.data.compilations.find(r->compilation);
    const CompilationRow* before = scope.data.compilations.find(r->previous);
    Cell was{q(r->old_value)}, now{q(r->new_value)};
    was.tone = Tone::Err;
    now.tone = Tone::Ok;
    double took = c ? static_cast<double>(c->duration_ns) : 0;
    Item item{r->id,
              {{(several ? function_of(scope.data, *r) + ' ' : QString()) + (c ? q(c->label) : unknown())},
               known(scope, count(callOf(scope.data, *r))),
               {sourceText(scope.data, r->compilation, r->failed)},
               was,
               now,
               shown_number(took, took > 0 ? unit.format(took) : unknown())},
              {},
              {},
              false,
              false};
    QString changes;
    for (const auto& [name, text] : recompilation_diff(scope.data, r->previous, r->compilation))
      changes += fact(name, text);
    item.detail = QStringLiteral("<table>%1%2%3%4</table>")
                      .arg(fact("called by", q(r->call_site).section('/', -1).toHtmlEscaped()),
                           fact("before", before ? before_text(scope, *before) : QString()),
                           fact("instead", html(r->hint)), changes);
    item.open = out.empty();
    out.push_back(item);
  }
  return out;
}

QString recompilation_subtitle(const TableScope& scope) {
  double ns = 0;
  size_t n = 0;
  for (const RecompilationRow* r : of_run(scope.data, scope.data.recompilations, scope.run)) {
    if (const CompilationRow* c = scope.data.compilations.find(r->compilation))
      ns += static_cast<double>(c->duration_ns);
    ++n;
  }
  if (!n) return {};
  const QString kept = keptCalls(scope.data, scope.run);
  return QStringLiteral("%1, %2 of compiling").arg(n).arg(timeText(ns)) +
         (kept.isEmpty() ? kept : "; " + kept);
}

size_t guard_count(const SessionData& data, Id compilation) {
  return data.guards.of(compilation).size();
}

// Another tool's record may be silent on what is checked.
QString guard_why(const TableScope& scope) {
  return scope.data.imported() ? QStringLiteral("what was imported tells of none")
                               : QStringLiteral("this compilation checks nothing");
}

}  // namespace

const TableSpec kBreaksTable{.id = "breaks",
                             .title = "Graph breaks",
                             .columns = break_columns,
                             .rows = break_rows,
                             .subtitle = break_subtitle,
                             .empty = "No graph breaks",
                             .sort = 4,
                             .why = break_why};
const TableSpec kGuardsTable{.id = "guards",
                             .title = "Guards",
                             .columns = guard_columns,
                             .rows = guard_rows,
                             .subtitle = guard_subtitle,
                             .empty = "No guards: this compilation checks nothing.",
                             .count = guard_count,
                             .why = guard_why};
const TableSpec kRecompilationsTable{"recompilations",
                                     "Recompilations",
                                     recompilation_columns,
                                     recompilation_rows,
                                     recompilation_subtitle,
                                     "No recompilations: nothing was compiled a second time.",
                                     1,
                                     Qt::AscendingOrder,
                                     true};

}  // namespace vitrine::views
