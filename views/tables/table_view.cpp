#include "views/tables/table_view.h"

#include <QLineEdit>
#include <QPainter>
#include <map>

#include "views/kit/painting/paint.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/run_times.h"
#include "views/kit/widgets/widgets.h"
#include "views/tables/in_range.h"
#include "views/tables/time_cells.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr const char* kShowElsewhere = "table.elsewhere";
constexpr const char* kAllTime = "table.all-time";
const QStringList kWhen{QStringLiteral("In range"), QStringLiteral("All")};
}  // namespace

TableView::TableView(const TableSpec& spec, Jobs* jobs, QWidget* parent)
    : View(jobs, parent), spec_(spec), items_(new ItemView(this)), split_column_(spec.split) {
  connect(items_, &ItemView::activate, this, &TableView::activate);
  connect(items_, &ItemView::selectAll, this, &TableView::selectAll);
  connect(items_, &ItemView::toggle, this, &TableView::toggle);
  connect(items_, &ItemView::hover, this, &TableView::hover);
  connect(items_, &ItemView::open, this, [this](Id id, bool other) { Q_EMIT openIn(id, QString(), other); });
  items_->setMarks(&selection());
  if (spec_.calls) {
    calls_ = new CallStrip(this);
    calls_->setMarks(&selection());
    connect(calls_, &CallStrip::hover, this, &TableView::hover);
    connect(calls_, &CallStrip::activate, this, [this](Id id) {
      showCompilation(id);
      Q_EMIT activate(id);
    });
  }
  setFocusProxy(items_);
}

TableScope TableView::scope() const {
  Id run = selection().film.run;
  if (!run && !session()->runs.empty()) run = session()->runs[0].id;
  return {*session(), run, compilation(), whole() ? siblings() : std::vector<Id>()};
}

// All compilations of the run that is shown.
std::vector<Id> TableView::siblings() const {
  std::vector<Id> out;
  if (!session()) return out;
  const Id run = session()->runOf(compilation());
  for (const auto& row : session()->compilations)
    if (session()->runOf(row.id) == run) out.push_back(row.id);
  return out;
}

// "0/0 | Whole run": what the rows are of, where a run has several compilations.
void TableView::update_whole() {
  if (!whole_) return;
  const bool several = siblings().size() > 1;
  if (several)
    whole_->setChoices({kit::compilationName(*session(), compilation()), QStringLiteral("Whole run")});
  else
    whole_->setCurrent(0);
  whole_->setVisible(several);
}

// What the rows are kept to: the time that is selected, unless all is asked for.
TimeRange TableView::range() const {
  const TimeRange& selected = selection().range;
  return spec_.in_range && selects(selected) && !(when_ && when_->current() == 1) ? selected : TimeRange();
}

void TableView::update_when() {
  if (when_) when_->setVisible(selects(selection().range));
}

QString TableView::subtitle() const {
  if (!session() || !spec_.subtitle) return {};
  const TableScope all = scope();
  QString text = spec_.subtitle(all);
  if (selects(range()))
    text = after_count(text, QStringLiteral("rows in ") + rangeText(range().from_ns, range().to_ns));
  // What one compilation of several has is not the run's.
  if (whole()) return after_count(text, QStringLiteral("whole run"));
  const QString which = spec_.count ? kit::whichOf(all.data, all.compilation) : QString();
  if (text.isEmpty() || !which.contains(QLatin1String(" of "))) return text;
  return after_count(text, "compilation " + which);
}

QList<QWidget*> TableView::headerControls() {
  if (!filter_) {
    filter_ = searchField(QStringLiteral("Filter"), QStringLiteral("filter"), this);
    filter_->setMinimumWidth(theme().px(110));
    connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) { items_->setFilter(text); });
  }
  if (spec_.whole_run && !whole_) {
    whole_ = new SwitchBar(this);
    connect(whole_, &SwitchBar::chosen, this, [this] { sessionChanged(); });
    update_whole();
  }
  if (spec_.in_range && !when_) {
    when_ = new SwitchBar(this);
    when_->setChoices(kWhen);
    when_->setToolTip(QStringLiteral("Rows of what is at work in the time that is selected on the timeline"));
    connect(when_, &SwitchBar::chosen, this, [this] { fill(); });
    update_when();
  }
  if (spec_.split >= 0 && !split_) {
    split_ = new SwitchBar(this);
    connect(split_, &SwitchBar::chosen, this, [this](int index) {
      items_->setOnly(split_column_, index ? split_words_.value(index - 1) : QString());
    });
    update_split();
  }
  QList<QWidget*> out;
  for (QWidget* control : {static_cast<QWidget*>(whole_), static_cast<QWidget*>(split_),
                           static_cast<QWidget*>(when_), static_cast<QWidget*>(filter_)})
    if (control) out << control;
  return out;
}

// "All 13", "Fused 6", "Not fused 7": a word for each text of the column, with the number of its rows; of
// equal ones that stand as one row, each counts.
void TableView::update_split() {
  if (spec_.split < 0) return;
  std::map<QString, int> counts;
  int all = 0;
  const ItemModel& model = *items_->items();
  for (int row = 0; row < model.rowCount(); ++row) {
    const int rows = std::max(1, model.rowCount(model.index(row, 0)));
    counts[model.index(row, split_column_).data().toString()] += rows;
    all += rows;
  }
  split_words_.clear();
  QStringList choices{QStringLiteral("All %1").arg(all)};
  for (const auto& [word, count] : counts) {
    split_words_ << word;
    choices << QStringLiteral("%1%2 %3").arg(word.left(1).toUpper(), word.mid(1)).arg(count);
  }
  if (!split_) return;
  split_->setChoices(choices);
  items_->setOnly(split_column_, split_->current() ? split_words_.value(split_->current() - 1) : QString());
}

int TableView::find(const QString& text) {
  items_->setFilter(text);
  return static_cast<int>(items_->shown().size());
}

void TableView::findNext(bool forward) {
  items_->step(forward);
}

void TableView::sessionChanged() {
  filled_ = {};
  fill();
}

void TableView::fill() {
  update_whole();
  update_when();
  const Filled wanted = session() ? Filled{scope().run, whole() ? 0 : compilation(), range()} : Filled();
  if (session() && filled_ == wanted) return;
  filled_ = wanted;
  if (!session()) {
    jobs()->cancel(QStringLiteral("table"), this);
    return take({});
  }
  filling_ = true;
  using Content = std::shared_ptr<TableContent>;
  jobs()->run<Content>(
      this, QStringLiteral("table"),
      [&spec = spec_, data = session(), run = scope().run, one = compilation(), all = scope().all,
       range = range()](const Cancel&) {
        const TableScope of{*data, run, one, all};
        auto out = std::make_shared<TableContent>(
            spec.content ? spec.content(of) : TableContent{spec.columns(of), spec.rows(of)});
        if (selects(range)) keep_in_range(*out, rangeWork(*data, run, range.from_ns, range.to_ns));
        return out;
      },
      [this](const Content& content) { take(std::move(*content)); });
}

void TableView::take(TableContent content) {
  filling_ = false;
  any_ = !content.rows.empty();
  // The column of the selected time stands before those behind it, and orders what the largest comes first
  // of.
  const int added =
      selects(filled_.range) ? range_column(content.columns) : static_cast<int>(content.columns.size());
  const int sort = spec_.sort < added ? spec_.sort : spec_.sort + 1;
  split_column_ = spec_.split < added ? spec_.split : spec_.split + 1;
  if (session()) items_->setColumns(std::move(content.columns));
  items_->setItems(std::move(content.rows));
  if (session()) {
    update_split();
    items_->setSortingEnabled(spec_.sort >= 0);
    if (spec_.sort >= 0)
      items_->sortBy(selects(filled_.range) && spec_.order == Qt::DescendingOrder ? added : sort,
                     spec_.order);
    if (spec_.calls)  // why the compilation that is shown was made
      for (const auto& row : session()->recompilations.of(scope().compilation))
        items_->openDetail(row.id, true);
    items_->reveal(canShow(selection().active));
    items_->openDetail(selection().active, true);
  }
  if (calls_)
    calls_->setScope(session().get(), session() ? scope().run : 0, session() ? scope().compilation : 0);
  place();
  items_->setVisible(any_);
  Q_EMIT headerChanged();
  update();
}

void TableView::selectionChanged(ChangeMask mask) {
  if (mask & (ChangeFilm | ChangeRange)) fill();
  if (mask & (ChangeActive | ChangeRelatives)) {
    items_->reveal(canShow(selection().active));
    items_->openDetail(selection().active, true);
  }
  items_->viewport()->update();
  if (calls_) calls_->update();
}

// The row of the thing itself, else of its nearest relative.
Id TableView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived,
                      [this](Id wanted) { return wanted && items_->items()->indexOf(wanted).isValid(); });
}

void TableView::place() {
  const int above = calls_ && calls_->calls() ? calls_->sizeHint().height() : 0;
  if (calls_) calls_->setGeometry(0, 0, width(), above);
  items_->setGeometry(rect().adjusted(0, above, 0, -below()));
}

void TableView::resizeEvent(QResizeEvent*) {
  place();
}

// A compilation of this run that has rows where the one that is shown has none; the one with most of them.
Id TableView::elsewhere() const {
  if (!session() || !spec_.count) return 0;
  Id out = 0;
  size_t most = 0;
  for (const auto& row : session()->compilations) {
    const size_t count = spec_.count(*session(), row.id);
    if (count > most && session()->runOf(row.id) == scope().run) out = row.id, most = count;
  }
  return out;
}

NextAct TableView::nextAct() const {
  if (!any_ && selects(range()))
    return {QStringLiteral("Show all of the time"), QString::fromLatin1(kAllTime)};
  const Id other = any_ ? 0 : elsewhere();
  if (!other) return View::nextAct();
  const auto* segment = session()->segments.find(session()->compilations.find(other)->segment);
  const QString function = segment ? session()->label(segment->frame) : QString();
  return {QStringLiteral("%1 %2 has %3: show %4")
              .arg(function, session()->label(other))
              .arg(spec_.count(*session(), other))
              .arg(spec_.count(*session(), other) == 1 ? "it" : "them")
              .trimmed(),
          QString::fromLatin1(kShowElsewhere)};
}

void TableView::follow(const QString& command) {
  if (command == QLatin1String(kAllTime)) {
    headerControls();  // the switch is there
    when_->setCurrent(1);
    return fill();
  }
  if (command != QLatin1String(kShowElsewhere)) return View::follow(command);
  showCompilation(elsewhere());
}

void TableView::showCompilation(Id id) {
  Film film = selection().film;
  film.compilation = id;
  film.graph = film.step = film.decision = film.launch = 0;
  Q_EMIT filmWanted(film);
}

// "No kernels. Gradients are needed and …": the sentence ends before its own reason when a recorded one is
// known.
QString TableView::why_empty() const {
  if (!session()) return QStringLiteral("Open a session to see this.");
  if (selects(range()))
    return QStringLiteral("Nothing here is at work in the selected time, %1.")
        .arg(rangeText(range().from_ns, range().to_ns));
  QString sentence = QString::fromUtf8(spec_.empty);
  // Where nothing was compiled, nothing was looked for; what a person wrote is no matter of that.
  if (session()->compilations.empty() && spec_.of_compilations)
    return (sentence.section(':', 0, 0) + ". " + whyMissing(*session(), 0, "")).trimmed();
  if (spec_.why) sentence = sentence.section(':', 0, 0) + ": " + spec_.why(scope()) + ".";
  const QString why = *spec_.stage ? whyMissing(*session(), compilation(), spec_.stage) : QString();
  return why.isEmpty() ? sentence : sentence.section(':', 0, 0) + ". " + why;
}

void TableView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.bg1);
  if (any_ || filling_) return;
  const int above = calls_ && calls_->calls() ? calls_->height() : 0;
  paintEmpty(painter, rect().adjusted(0, above, 0, 0), why_empty());
}

}  // namespace vitrine::views
