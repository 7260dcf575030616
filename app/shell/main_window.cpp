#include "app/shell/main_window.h"

#include <QCloseEvent>
#include <QFileInfo>
#include <QStatusBar>
#include <QVBoxLayout>

#include "app/shell/bars/run_status.h"
#include "app/shell/document/settings.h"
#include "app/shell/panes/layouts.h"
#include "app/shell/run/reproducers.h"
#include "core/base/runnable.h"
#include "views/kit/session/missing.h"
#include "views/registry.h"

namespace vitrine::app {

using kit::theme;

MainWindow::MainWindow(QWidget* parent, JobRunner::Mode jobs)
    : QMainWindow(parent),
      jobs_(new JobRunner(this, jobs)),
      document_(new Document(jobs_, this)),
      actions_(new Actions(this)) {
  setWindowTitle("Vitrine");
  setAcceptDrops(true);
  setMinimumSize(1024, 640);
  resize(theme().px(1440), theme().px(900));
  build();
  connectParts();
  connectCommands();
  connectRun();
  addCommands();
  addMenus();
  sessionChanged();
}

MainWindow::~MainWindow() = default;

void MainWindow::build() {
  auto* top = new QWidget(this);
  auto* rows = new QVBoxLayout(top);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  rows->addWidget(row_ = new MenuRow(layoutNames(), top));
  strip_ = new StageStrip(top);
  strip_->setFixedHeight(theme().px(36));
  rows->addWidget(strip_);
  rows->addWidget(film_ = new FilmBar(document_, top));
  auto* gap = new QWidget(top);
  gap->setFixedHeight(theme().px(4));
  gap->setAutoFillBackground(true);
  gap->setBackgroundRole(QPalette::Shadow);
  rows->addWidget(gap);
  setMenuWidget(top);

  auto* middle = new QWidget(this);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(banner_ = new kit::Banner(middle));
  column->addWidget(pages_ = new QStackedWidget(middle), 1);
  pages_->addWidget(welcome_ = new WelcomePage(pages_));
  pages_->addWidget(centre_ = new Centre(document_, pages_));
  setCentralWidget(middle);
  docks_ = new DockSet(document_, this);

  chain_ = new ChainBar(this);
  auto* status = new QStatusBar(this);
  status->setSizeGripEnabled(false);
  status->setContentsMargins(0, 0, 0, 0);
  status->layout()->setContentsMargins(0, 0, 0, 0);
  status->addWidget(chain_, 1);
  setStatusBar(status);
  palette_ = new Palette(document_, actions_, this);
  run_ = new RunController(document_, this);
  run_->setAsk([this](const WouldRun& run) { return askToRun(run, this); });
  rebuild_ = new KernelRebuild(document_, run_, this);
  check_ = new PartitionCheck(document_, run_, this);
  bisection_ = new Bisection(run_, this);
  note_ = new NoteField(this);
}

void MainWindow::connectParts() {
  connect(document_, &Document::opened, this, &MainWindow::sessionChanged);
  connect(document_, &Document::openFailed, this, [this](const Error& error) {
    banner_->show(kit::Tone::Err, QString::fromStdString(error.what),
                  QString::fromStdString(error.where + "\n" + error.hint).trimmed());
  });
  connect(document_, &Document::opening, this, [this](const QString& text) {
    if (run_->running()) return;  // its progress stands there
    film_->setBusy(text);
    film_->setVisible(document_->session() || !text.isEmpty());
  });
  connect(document_, &Document::sessionChanged, this, [this] { refreshStatus(); });
  connect(document_, &Document::filmChanged, this, [this] { refreshStatus(); });
  connect(document_, &Document::historyChanged, this, &MainWindow::refreshEnabled);
  connect(document_, &Document::stageWanted, this, [this](const std::string& stage) {
    if (Pane* pane = centre_->pane('A');
        pane && views::viewForStage(pane->stage()) == views::viewForStage(stage))
      pane->show(stage);
  });
  connect(
      &document_->model(), &kit::SelectionModel::changed, this,
      [this](const kit::Selection& selection, unsigned) { chain_->set(document_->session(), selection); });
  connect(chain_, &ChainBar::activate, document_, &Document::activate);
  connect(chain_, &ChainBar::hover, &document_->model(), &kit::SelectionModel::setHover);
  connect(strip_, &StageStrip::chosen, this, &MainWindow::showStage);
  connect(centre_, &Centre::openIn, this, &MainWindow::openIn);
  connect(docks_, &DockSet::openIn, this, &MainWindow::openIn);
  connect(docks_, &DockSet::grabbed, this, &MainWindow::dockGrabbed);
  connect(&grab_, &QTimer::timeout, this, &MainWindow::dockLeft);
  connect(centre_, &Centre::shownChanged, this, [this] {
    const Pane *a = centre_->pane('A'), *b = centre_->pane('B');
    strip_->setShown(a ? a->stage() : "", b ? b->stage() : "");
  });
  connect(palette_, &Palette::openIn, this, &MainWindow::openIn);
  connect(palette_, &Palette::namedWanted, this, &MainWindow::showNamed);
  connect(palette_, &Palette::findWanted, this, [this](const QString& text) {
    if (host()) host()->openFind(text);
  });
}

// What triggers a command.
void MainWindow::connectCommands() {
  auto command = [this](const QString& id) {
    if (QAction* action = (*actions_)[id]) action->trigger();
  };
  connect(centre_, &Centre::commandRequested, this, command);
  connect(docks_, &DockSet::commandRequested, this, command);
  connect(banner_, &kit::Banner::commandRequested, this, command);
  connect(row_->layouts, &LayoutSwitch::chosen, this, &MainWindow::chooseLayout);
  connect(row_->palette, &PaletteField::clicked, this, [command] { command("go.palette"); });
  connect(row_->run, &RunButton::clicked, this,
          [this, command] { command(run_->running() ? "run.cancel" : "run.start"); });
  connect(welcome_, &WelcomePage::openWanted, this, &MainWindow::chooseFile);
  connect(welcome_, &WelcomePage::fileChosen, this, &MainWindow::openFile);
  connect(welcome_, &WelcomePage::pythonWanted, this, [command] { command("run.python"); });
}

void MainWindow::connectRun() {
  connect(run_, &RunController::stateChanged, this, &MainWindow::refreshEnabled);
  connect(rebuild_, &KernelRebuild::stateChanged, this, &MainWindow::refreshEnabled);
  connect(&document_->edits(), &kit::KernelEdits::changed, this, &MainWindow::refreshEnabled);
  connect(run_, &RunController::busy, this, [this](const QString& text, const QString& stage, double part) {
    film_->setBusy(text);
    film_->setVisible(document_->session() || !text.isEmpty());
    strip_->setProgress(stage.toStdString(), part);
  });
  connect(run_, &RunController::refused, this, [this](const QString& text, const QString& detail) {
    banner_->show(kit::Tone::Warn, refused_ = text, detail,
                  {{"Cancel it", "run.cancel"}, {"Dismiss", "edit.clear"}});
  });
  connect(run_, &RunController::stateChanged, this, [this] {
    if (!run_->running() && !refused_.isEmpty() && banner_->text() == refused_) banner_->clear();
  });
  connect(run_, &RunController::message, this,
          [this](kit::Tone tone, const QString& text, const QString& detail) {
            banner_->show(tone, text, detail, {{"Run again", "run.start"}, {"Dismiss", "edit.clear"}});
          });
  connect(jobs_, &JobRunner::failed, this, [this](const QString& tag, const QString& what) {
    banner_->show(kit::Tone::Warn, "Vitrine failed in " + tag + ".", what, {{"Dismiss", "edit.clear"}});
  });
}

void MainWindow::sessionChanged() {
  const bool open = document_->session() != nullptr;
  pages_->setCurrentWidget(open ? static_cast<QWidget*>(centre_) : welcome_);
  film_->setVisible(open || run_->running());
  row_->layouts->setVisible(open);
  if (!open) {
    docks_->hideAll();
    layout_.clear();
    welcome_->refresh();
    setWindowTitle("Vitrine");
  } else {
    setWindowTitle(QFileInfo(QString::fromStdString(document_->session()->path)).fileName() + " – Vitrine");
    // Of another tool's record there may be nothing but its times.
    const bool times_only =
        document_->session()->compilations.empty() && !document_->session()->lanes.empty();
    if (layout_.isEmpty())
      chooseLayout(times_only ? "Timeline" : "Explore");
    else
      adaptLayout();
  }
  chain_->set(document_->session(), document_->selection());
  for (auto* list : {&undo_, &redo_})  // notes of another session
    list->removeIf([](const Undo& each) { return each.note != 0; });
  refreshStatus();
  refreshEnabled();
}

void MainWindow::refreshStatus() {
  const kit::SessionPtr& session = document_->session();
  strip_->setSession(session, document_->compilation());
  if (!session) return film_->setStatus(kit::Tone::None, {}, {});
  const RunStatus status = runStatus(*session, document_->compilation());
  film_->setStatus(status.tone, status.text, status.numbers);
  row_->run->setWhere(status.where);
  tellFailure(*session);
  if (!session->damage.empty() && banner_->text().isEmpty())
    banner_->show(kit::Tone::Err, "A part of this session could not be read.",
                  QString::fromStdString(session->damage) + "\nWhat could be read is shown.",
                  {{"Dismiss", "edit.clear"}});
}

// Once for each session: what ended its first failed run, and where in the user's own files; or that its
// engine did not live to tell.
void MainWindow::tellFailure(const kit::SessionData& session) {
  if (told_ == session.path || !banner_->text().isEmpty()) return;
  QList<QPair<QString, QString>> again{{"Dismiss", "edit.clear"}};
  if (run_->canRun()) again.prepend({"Run again", "run.start"});
  for (const session::RunRow& run : session.runs) {
    const session::MessageRow* error = kit::errorOf(session, run);
    if (run.status == "died" && !error) {
      told_ = session.path;
      return banner_->show(kit::Tone::Err, "The engine stopped before the run ended.",
                           "Everything until then is shown.", again);
    }
    if (!error) continue;
    told_ = session.path;
    QStringList detail;
    if (!error->detail.empty()) detail << kit::ownFrames(error->detail);
    if (!error->hint.empty()) detail << QString::fromStdString(error->hint);
    banner_->show(kit::Tone::Err, QString::fromStdString(error->text), detail.join('\n'), again);
    return;
  }
}

void MainWindow::refreshEnabled() {
  auto enable = [this](const char* id, bool on) { (*actions_)[id]->setEnabled(on); };
  const bool open = document_->session() != nullptr;
  enable("go.back", document_->canGoBack());
  enable("go.forward", document_->canGoForward());
  enable("file.close", open);
  enable("file.compare", open);
  of_session_->setEnabled(open);
  for (const char* id : {"export.html", "export.perfetto", "export.fx", "export.kernels", "export.dot",
                         "export.svg", "export.pdf", "export.png", "export.csv"})
    enable(id, open);
  enable("file.share", open);
  enable("fusion.why", open);
  enable("run.start", run_->canRun() && !run_->running());
  for (const char* id : {"run.numerics", "run.bisect", "run.reduce"})
    enable(id, run_->canRun() && !run_->running() && !bisection_->running());
  enable("run.repeat", run_->canRepeat() && !run_->running());
  enable("run.watch", run_->canRepeat());
  (*actions_)["run.watch"]->setChecked(run_->watching());
  row_->run->setWatching(run_->watching());
  enable("run.cancel", run_->running() || rebuild_->running() || check_->running() || bisection_->running());
  const bool edited = document_->edits().last() != 0;
  enable("kernel.rebuild", edited && !rebuild_->running());
  enable("kernel.discard", edited && !rebuild_->running());
  enable("kernel.keep", !rebuild_->recording().isEmpty());
  enable("run.reproducer", !reproducers(document_->session().get()).isEmpty());
  enable("edit.undo", !undo_.isEmpty());
  enable("edit.redo", !redo_.isEmpty());
  enable("window.keep", open);
  enable("window.drop", open && isOwnLayout(layout_));
  row_->run->setState(run_->running()  ? RunButton::Running
                      : run_->canRun() ? RunButton::Ready
                                       : RunButton::Disabled);
}

void MainWindow::openFile(const QString& path) {
  banner_->clear();
  if (!QFileInfo::exists(path)) {
    banner_->show(kit::Tone::Err, "There is no file " + path + ".");
    return;
  }
  AppSettings::addRecent(path);
  if (is_runnable(path.toStdString()))
    run_->start(path);
  else if (path.endsWith(".vitrine"))
    document_->open(path);
  else
    openOrImport(path);
}

Status MainWindow::openSync(const QString& path) {
  if (Status bad = document_->openNow(path)) return bad;
  settle();
  return std::nullopt;
}

bool MainWindow::activateText(const QString& text) {
  Pane* pane = centre_->pane('A');
  const Id id = document_->session() ? findEntity(*document_->session(), text, pane ? pane->stage() : "") : 0;
  if (!id) return false;
  document_->activate(id);
  settle();
  for (Pane* each : centre_->panes())
    if (each->host()) each->host()->view()->reveal(id);
  return true;
}

void MainWindow::hoverText(const QString& text) {
  Pane* pane = centre_->pane('A');
  document_->model().setHover(findEntity(*document_->session(), text, pane ? pane->stage() : ""));
}

void MainWindow::settle() {
  jobs_->settle();
  document_->model().flush();
  jobs_->settle();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  row_->layouts->setNarrow(width() < theme().px(1280));
  docks_->setNarrow(width() < theme().px(1280));
  centre_->setNarrow(width() < theme().px(1120));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!layout_.isEmpty()) AppSettings::setState(layout_, saveState());
  event->accept();
}

}  // namespace vitrine::app
