#include "app/shell/compare/compare_window.h"

#include <QAction>
#include <QCoreApplication>
#include <QFileInfo>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "app/shell/compare/launches_beside.h"
#include "views/kit/text/numbers.h"
#include "views/timeline/timeline_view.h"

namespace vitrine::app {

using kit::theme;

namespace {

const QStringList kPages{QStringLiteral("Graphs"), QStringLiteral("Kernels"), QStringLiteral("Timelines")};
constexpr int kKernels = 1;

QString nameOf(const std::string& path) {
  return QFileInfo(QString::fromStdString(path)).fileName();
}

QSplitter* splitter(Qt::Orientation way, QWidget* parent) {
  auto* out = new QSplitter(way, parent);
  out->setHandleWidth(theme().px(4));
  out->setChildrenCollapsible(false);
  return out;
}

// The last stage of which both have a graph: what another tool recorded has no fusion.
std::string commonStage(const TwoSessions& both) {
  auto has = [](const kit::SessionData& data, const char* stage) {
    return std::ranges::any_of(data.compilations, [&](const session::CompilationRow& c) {
      return data.lastGraph(c.id, stage) != nullptr;
    });
  };
  for (const char* stage : {"fused", "loops", "optimised", "decomposed", "aten", "forward", "captured"})
    if (has(*both.before, stage) && has(*both.after, stage)) return stage;
  return "fused";
}

}  // namespace

CompareWindow::CompareWindow(QWidget* parent, JobRunner::Mode jobs)
    : QMainWindow(parent),
      jobs_(new JobRunner(this, jobs)),
      before_jobs_(new JobRunner(this, jobs)),
      after_jobs_(new JobRunner(this, jobs)),
      before_(new Document(before_jobs_, this)),
      after_(new Document(after_jobs_, this)) {
  setWindowTitle(QStringLiteral("Compare – Vitrine"));
  setMinimumSize(1024, 640);
  resize(theme().px(1440), theme().px(900));
  build();
  addKeys();
  follow(before_, after_, true);
  follow(after_, before_, false);
  for (JobRunner* runner : {jobs_, before_jobs_, after_jobs_})
    connect(runner, &JobRunner::failed, this, [this](const QString& tag, const QString& what) {
      banner_->show(kit::Tone::Warn, "Vitrine failed in " + tag + ".", what);
    });
}

// The same of both sides, which look together where the view can.
QWidget* CompareWindow::pair(const std::string& what, Qt::Orientation way) {
  auto* both = splitter(way, this);
  Pane* sides[] = {new Pane(before_, {what, 'A'}, both), new Pane(after_, {what, 'B'}, both)};
  for (Pane* side : sides) {
    both->addWidget(side);
    panes_ << side;
    Pane* other = side == sides[0] ? sides[1] : sides[0];
    connect(side, &Pane::looksAt, this, [other](double top, double zoom) {
      if (other->host()) other->host()->view()->lookAt(top, zoom);
    });
    if (side->host()) connect(side->host(), &ViewHost::headerChanged, this, &CompareWindow::oneAxis);
  }
  both->setSizes({1000, 1000});
  return both;
}

void CompareWindow::build() {
  auto* middle = new QWidget(this);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(banner_ = new kit::Banner(middle));
  auto* halves = splitter(Qt::Horizontal, middle);
  column->addWidget(halves, 1);
  setCentralWidget(middle);

  differences_ = new kit::ItemView(halves);
  differences_->setColumns(differenceColumns());
  differences_->setMinimumWidth(theme().px(280));
  halves->addWidget(differences_);
  auto* right = new QWidget(halves);
  auto* rows = new QVBoxLayout(right);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  auto* bar = new QWidget(right);
  auto* in_bar = new QHBoxLayout(bar);
  in_bar->setContentsMargins(theme().px(8), theme().px(4), theme().px(8), theme().px(4));
  in_bar->addWidget(switch_ = new kit::SwitchBar(bar));
  in_bar->addStretch(1);
  switch_->setChoices(kPages);
  rows->addWidget(bar);
  rows->addWidget(pages_ = new QStackedWidget(right), 1);
  halves->addWidget(right);
  halves->setSizes({theme().px(380), theme().px(1060)});

  pages_->addWidget(pair("fused", Qt::Horizontal));
  auto* kernels = splitter(Qt::Vertical, pages_);
  kernels->addWidget(no_pairs_ = new QLabel(kernels));
  no_pairs_->setText(QStringLiteral(
      "No kernel of one side does the work of one of the other. What differs is listed at the left."));
  no_pairs_->setWordWrap(true);
  no_pairs_->setMargin(theme().padding());
  no_pairs_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  no_pairs_->setMaximumHeight(theme().px(64));  // the texts have the rest
  no_pairs_->hide();
  kernels->addWidget(kernels_ = new kit::ItemView(kernels));
  kernels->addWidget(pair("kernels", Qt::Horizontal));
  kernels->setSizes({300, 500});
  pages_->addWidget(kernels);
  pages_->addWidget(pair("timeline", Qt::Vertical));
  connect(switch_, &kit::SwitchBar::chosen, pages_, &QStackedWidget::setCurrentIndex);
  for (kit::ItemView* table : {differences_, kernels_}) {
    table->setMarks(&marked_);
    connect(table, &kit::ItemView::activate, this, [this, table](Id row) { choose(table, row); });
  }
}

ViewHost* CompareWindow::host() const {
  for (Pane* pane : panes_)
    if (pane->host() && focusWidget() &&
        (pane->host() == focusWidget() || pane->host()->isAncestorOf(focusWidget())))
      return pane->host();
  return nullptr;
}

// The keys of the main window, as far as they are about a view.
void CompareWindow::addKeys() {
  using Act = void (*)(ViewHost&);
  static constexpr std::pair<const char*, Act> kKeys[] = {
      {"Ctrl+F", [](ViewHost& host) { host.openFind(); }},
      {"F3", [](ViewHost& host) { host.findNext(true); }},
      {"Shift+F3", [](ViewHost& host) { host.findNext(false); }},
      {"Esc", [](ViewHost& host) { host.closeFind(); }},
      {"Z", [](ViewHost& host) { host.view()->zoom(kit::Zoom::Fit); }},
      {"Ctrl+=", [](ViewHost& host) { host.view()->zoom(kit::Zoom::In); }},
      {"Ctrl+-", [](ViewHost& host) { host.view()->zoom(kit::Zoom::Out); }},
      {"O", [](ViewHost& host) { host.view()->act("graph.open"); }}};
  for (const auto& [keys, act] : kKeys) {
    auto* action = new QAction(this);
    action->setShortcut(QKeySequence(QString::fromLatin1(keys)));
    connect(action, &QAction::triggered, this, [this, act = act] {
      if (host()) act(*host());
    });
    addAction(action);
  }
  auto* close = new QAction(this);
  close->setShortcut(QKeySequence(QStringLiteral("Ctrl+W")));
  connect(close, &QAction::triggered, this, &QWidget::close);
  addAction(close);
}

void CompareWindow::open(const QString& before, const QString& after) {
  using Loaded = std::shared_ptr<Result<TwoSessionsPtr>>;
  banner_->show(
      kit::Tone::Info,
      QStringLiteral("Comparing %1 with %2").arg(QFileInfo(before).fileName(), QFileInfo(after).fileName()));
  jobs_->run<Loaded>(
      this, "compare",
      [from = before.toStdString(), to = after.toStdString()](const kit::Cancel&) {
        return std::make_shared<Result<TwoSessionsPtr>>(compareFiles(from, to));
      },
      [this](const Loaded& loaded) {
        if (loaded->ok())
          show(loaded->value());
        else
          tell(loaded->error());
      });
}

void CompareWindow::tell(const Error& error) {
  banner_->show(kit::Tone::Err, QString::fromStdString(error.what),
                QString::fromStdString(error.where + "\n" + error.hint).trimmed());
}

void CompareWindow::show(const TwoSessionsPtr& comparison) {
  comparison_ = comparison;
  const session::SessionDifference& d = comparison->difference;
  const QString files =
      nameOf(comparison->before->path) + QStringLiteral(" → ") + nameOf(comparison->after->path);
  setWindowTitle(files + QStringLiteral(" – Vitrine"));
  QString detail = QStringLiteral("A is %1, B is %2.")
                       .arg(nameOf(comparison->before->path), nameOf(comparison->after->path));
  if (d.compile_before_ns && d.compile_after_ns)
    detail += QStringLiteral(" Compiling took %1 and %2.")
                  .arg(kit::timeText(static_cast<double>(d.compile_before_ns)),
                       kit::timeText(static_cast<double>(d.compile_after_ns)));
  const std::string stage = commonStage(*comparison);
  for (Pane* pane : panes_.mid(0, 2)) pane->show(stage);
  before_->show(comparison->before);
  after_->show(comparison->after);
  // Both begin at the same program.
  if (const auto at = comparison->to_after.find(before_->compilation()); at != comparison->to_after.end()) {
    kit::Film film;
    film.compilation = at->second;
    after_->model().setFilm(film);
  }
  const auto before = aloneBefore(*comparison, before_->compilation(), stage),
             after = aloneAfter(*comparison, after_->compilation(), stage);
  before_->model().setSelected(before);
  after_->model().setSelected(after);
  if (!before.empty() || !after.empty()) detail += QStringLiteral(" Outlined nodes stand on one side alone.");
  const kit::Tone tone = !d.call.differs      ? kit::Tone::Info
                         : d.call.ratio() > 1 ? kit::Tone::Warn
                                              : kit::Tone::Ok;
  banner_->show(tone, QString::fromStdString(d.verdict), detail);
  differences_->setItems(differenceItems(*comparison));
  kernels_->setColumns(kernelPairColumns(*comparison));
  std::vector<kit::Item> pairs = kernelPairItems(*comparison);
  no_pairs_->setVisible(pairs.empty());
  kernels_->setVisible(!pairs.empty());
  kernels_->setItems(std::move(pairs));
}

// A counterpart follows; what has none leaves the other side as it is.
void CompareWindow::follow(Document* from, Document* to, bool forward) {
  connect(&from->model(), &kit::SelectionModel::changed, this,
          [this, to, forward](const kit::Selection& selection, unsigned mask) {
            if (!comparison_ || !(mask & (kit::ChangeActive | kit::ChangeFilm))) return;
            const auto& map = forward ? comparison_->to_after : comparison_->to_before;
            const auto other = [&](Id id) {
              const auto at = map.find(id);
              return at == map.end() ? Id(0) : at->second;
            };
            if (const Id film = other(selection.film.compilation); film && film != to->compilation()) {
              kit::Film moved;
              moved.compilation = film;
              to->model().setFilm(moved);
            }
            if (const Id id = other(selection.active); id && id != to->selection().active) to->activate(id);
          });
}

void CompareWindow::choose(kit::ItemView* table, Id row) {
  if (!comparison_) return;
  marked_.active = row;
  for (kit::ItemView* each : {differences_, kernels_}) each->viewport()->update();
  const auto [before, after] = thingsOf(*comparison_, row);
  if (before) before_->activate(before);
  if (after) after_->activate(after);
  if ((before || after) && table == differences_ && pages_->currentIndex() != kKernels)
    showPage(kPages[kKernels]);
}

// Both timelines begin at 0 and have the scale of the longer one.
void CompareWindow::oneAxis() {
  QList<views::TimelineView*> both;
  for (Pane* pane : panes_)
    if (auto* view = pane->host() ? qobject_cast<views::TimelineView*>(pane->host()->view()) : nullptr;
        view && view->timeline() && !view->timeline()->empty())
      both << view;
  if (both.size() != 2 || !comparison_) return;
  const void* of[] = {both[0]->timeline().get(), both[1]->timeline().get()};
  if (std::equal(std::begin(of), std::end(of), std::begin(axis_of_))) return;
  std::copy(std::begin(of), std::end(of), std::begin(axis_of_));
  both[0]->setBeside(launchesBefore(*comparison_));
  both[1]->setBeside(launchesAfter(*comparison_));
  const bool first = both[0]->timeline()->end_ns >= both[1]->timeline()->end_ns;
  views::TimelineView* longer = both[first ? 0 : 1];
  longer->zoom(kit::Zoom::Fit);
  for (views::TimelineView* view : both) view->lookAt(0, longer->window_of_time().scale);
}

bool CompareWindow::showPage(const QString& name) {
  for (int i = 0; i < kPages.size(); ++i)
    if (kPages[i].compare(name, Qt::CaseInsensitive) == 0) {
      switch_->setCurrent(i);
      pages_->setCurrentIndex(i);
      return true;
    }
  return false;
}

void CompareWindow::settle() {
  for (int i = 0; i < 4; ++i) {
    QCoreApplication::processEvents();
    for (JobRunner* runner : {jobs_, before_jobs_, after_jobs_}) runner->settle();
    before_->model().flush();
    after_->model().flush();
  }
}

}  // namespace vitrine::app
