// Layouts of the window, and where a thing is opened.
#include <QApplication>
#include <algorithm>
#include <utility>

#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/holdings.h"
#include "app/shell/panes/layouts.h"
#include "core/session/notes.h"
#include "views/kit/session/missing.h"
#include "views/registry.h"

namespace vitrine::app {

namespace {

constexpr qsizetype kMostUndo = 50;
constexpr int kGrabMs = 50;  // between looks whether the user still holds a dock
constexpr int kSaying = 3;   // times the height of a pane without content

// The natural next view of a thing: the stage, or "view:<id>".
std::string naturalView(const kit::SessionData& session, Id id) {
  switch (kind_of(id)) {
    case Kind::Node: {
      for (Id next : kit::relativesOf(session, id).derived)
        if (const auto* kernel = session.kernels.find(next); kernel && kernel->kind == "generated")
          return "kernels";
      return "fused";
    }
    case Kind::Kernel:
    case Kind::KernelRange:
    case Kind::Launch:
    case Kind::Slice:
      return "kernels";
    case Kind::Decision:
      return "fused";
    case Kind::Step:
    case Kind::Instruction:
      return "bytecode";
    case Kind::Compilation:
    case Kind::Segment:
      return "captured";
    default:
      return "source";
  }
}

// What a pane is told to show a view: the stage that was asked for, else the last of the stages it can show
// that every run has.
std::string placeOf(const kit::ViewInfo& view, const std::string& what) {
  if (views::viewForStage(what) == &view) return what;
  const std::string_view stages = view.stages;
  if (stages.find("optimised") != std::string_view::npos) return "optimised";
  if (!stages.empty()) return std::string(stages.substr(0, stages.find(' ')));
  return std::string("view:") + view.id;
}

}  // namespace

bool MainWindow::chooseLayout(const QString& name) {
  const std::optional<LayoutInfo> layout = layoutNamed(name);
  if (!layout) return false;
  if (layout_ == layout->name) return true;
  if (!layout_.isEmpty()) {
    AppSettings::setState(layout_, saveState());
    rememberLayout();
  }
  layout_ = layout->name;
  arrange(*layout);
  docks_->hold();
  docks_->arrange(*layout);
  if (const QByteArray state = AppSettings::state(layout_); !state.isEmpty()) restoreState(state);
  // What was only compiled for a device has no times to show.
  const kit::SessionPtr& session = document_->session();
  if (session && session->lanes.empty() && !session->runs.empty() &&
      session->runs[0].device.find("compiled only") != std::string::npos && layout->name == "Explore")
    docks_->raise("kernels");
  docks_->setNarrow(width() < kit::theme().px(1280));
  docks_->release();
  if (session && session->imported()) docks_->raiseHeld(*layout, *session);
  row_->layouts->setCurrent(layout_);
  document_->setUnit(layout->unit);
  if (!instead(*layout)) document_->wantStage(layout->stage);
  refreshEnabled();
  return true;
}

bool MainWindow::instead(const LayoutInfo& layout) const {
  const kit::SessionPtr& session = document_->session();
  if (!session || layout.whole_step.empty()) return false;
  const bool halves = std::any_of(session->compilations.begin(), session->compilations.end(),
                                  [&](const auto& row) { return session->lastGraph(row.id, "backward"); });
  return !halves || kit::isWholeStep(*session, session->main);
}

std::vector<ColumnSpec> MainWindow::columnsOf(const LayoutInfo& layout) const {
  const std::vector<ColumnSpec>& columns = instead(layout) ? layout.whole_step : layout.columns;
  const kit::SessionPtr& session = document_->session();
  return session && session->imported() ? heldColumns(*session, columns) : columns;
}

namespace {
std::vector<std::string> panesOf(const std::vector<ColumnSpec>& columns) {
  std::vector<std::string> out;
  for (const ColumnSpec& column : columns)
    for (const PaneSpec& pane : column.panes) out.push_back(pane.what);
  return out;
}
}  // namespace

void MainWindow::adaptLayout() {
  const std::optional<LayoutInfo> layout = layoutNamed(layout_);
  if (!layout) return;
  const kit::SessionPtr& session = document_->session();
  const bool other = panesOf(columnsOf(*layout)) != arranged_;
  if (other) arrange(*layout);
  if (other && session->imported()) docks_->raiseHeld(*layout, *session);
}

void MainWindow::arrange(const LayoutInfo& layout) {
  std::vector<ColumnSpec> columns = columnsOf(layout);
  arranged_ = panesOf(columns);
  // A table that has nothing to say takes no more than its sentence.
  const kit::SessionPtr& session = document_->session();
  auto nothing = [&](const std::string& what) {
    return session && ((what == "view:breaks" && session->breaks.empty()) ||
                       (what == "view:recompilations" && session->recompilations.empty()));
  };
  for (ColumnSpec& column : columns)
    for (PaneSpec& pane : column.panes) pane.share = nothing(pane.what) ? 1 : pane.share * kSaying;
  centre_->arrange(columns);
}

void MainWindow::keepLayout(const QString& name) {
  for (const LayoutInfo& row : layouts())
    if (row.name.compare(name, Qt::CaseInsensitive) == 0) {
      banner_->show(kit::Tone::Warn, row.name + " is the name of a layout that ships with Vitrine.",
                    "Choose another one.", {{"Dismiss", "edit.clear"}});
      return;
    }
  LayoutInfo own{name, {}, centre_->columns(), document_->unit(), {}};
  for (Dock* dock : docks_->shown()) own.docks << QString::fromLatin1(dock->host()->info().id);
  keepOwnLayout(own);
  AppSettings::setState(name, saveState());
  row_->layouts->setNames(layoutNames());
  layout_ = name;
  row_->layouts->setCurrent(name);
  refreshEnabled();
}

void MainWindow::dropLayout() {
  if (!isOwnLayout(layout_)) return;
  dropOwnLayout(layout_);
  AppSettings::setState(layout_, {});
  undo_.removeIf([this](const Undo& each) { return each.layout == layout_; });
  redo_.removeIf([this](const Undo& each) { return each.layout == layout_; });
  layout_.clear();
  row_->layouts->setNames(layoutNames());
  chooseLayout(layouts().front().name);
}

void MainWindow::rememberLayout() {
  remember({layout_, saveState()});
}

// A dock that the user moves is an act to be undone as a layout that they choose is. Where it lands is known
// when the button is up.
void MainWindow::dockGrabbed() {
  before_grab_ = saveState();
  grab_.start(kGrabMs);
}

void MainWindow::dockLeft() {
  if (QApplication::mouseButtons()) return;
  grab_.stop();
  if (const QByteArray before = std::exchange(before_grab_, {}); before != saveState())
    remember({layout_, before});
}

void MainWindow::remember(const Undo& before) {
  undo_.append(before);
  if (undo_.size() > kMostUndo) undo_.removeFirst();
  redo_.clear();
  refreshEnabled();
}

// What undoing such an act would have to bring back later.
MainWindow::Undo MainWindow::asItIs(const Undo& like) const {
  if (!like.note) return {layout_, saveState()};
  const auto notes =
      document_->session() ? session::notes_of(document_->session()->meta) : std::map<Id, std::string>();
  const auto it = notes.find(like.note);
  return {{}, {}, like.note, it == notes.end() ? QString() : QString::fromUtf8(it->second.c_str())};
}

void MainWindow::note(Id id, const QString& text) {
  remember(asItIs({{}, {}, id}));
  document_->note(id, text);
}

void MainWindow::undo(QList<Undo>& from, QList<Undo>& to) {
  if (from.isEmpty()) return;
  const Undo step = from.takeLast();
  to.append(asItIs(step));
  if (step.note)
    document_->note(step.note, step.text);
  else
    restoreLayout(step.state, step.layout);
  refreshEnabled();
}

void MainWindow::restoreLayout(const QByteArray& state, const QString& name) {
  if (name != layout_) {
    if (const auto layout = layoutNamed(name)) {
      arrange(*layout);
      layout_ = name;
      row_->layouts->setCurrent(name);
    }
  }
  docks_->hold();
  restoreState(state);
  docks_->release();
  refreshEnabled();
}

void MainWindow::showStage(const std::string& stage, bool other) {
  const kit::ViewInfo* info = views::viewForStage(stage);
  if (info && info->place != kit::ViewPlace::Pane && !centre_->pane('A'))
    return docks_->raise(QString::fromLatin1(info->id));
  centre_->showStage(stage, other);
}

// In a pane that shows such a view already, else in pane B (A for the other). view: "" = the natural next
// one; a stage; "view:<id>" where a stage has the same name.
void MainWindow::openIn(Id id, const QString& view, bool other) {
  if (!document_->session()) return;
  if (id) document_->activate(id);
  std::string what = view.isEmpty() ? naturalView(*document_->session(), id) : view.toStdString();
  const bool named = what.starts_with("view:");
  if (named) what = what.substr(5);
  const kit::ViewInfo* wanted = named ? nullptr : views::viewForStage(what);
  if (!wanted) wanted = views::viewInfo(what);
  if (!wanted) return;
  if (views::viewInfo(what) && wanted->place != kit::ViewPlace::Pane)
    return docks_->raise(QString::fromLatin1(wanted->id));
  Pane* target = nullptr;
  for (Pane* pane : centre_->panes())
    if (!other && pane->host() && &pane->host()->info() == wanted && (pane->stage() == what || !target))
      target = pane;
  if (!target) {
    target = centre_->pane(other ? 'A' : 'B');
    if (!target) target = centre_->current();
    if (target) target->show(placeOf(*wanted, what));
  }
  if (!target) return;
  centre_->raise(target);
  if (!target->host()) return;
  if (id) target->host()->view()->reveal(id);
  if (!id) target->host()->view()->setFocus(Qt::OtherFocusReason);
}

}  // namespace vitrine::app
