#include "app/shell/panes/pane.h"

#include <QMenu>

#include "core/session/stages.h"
#include "views/kit/text/qt_text.h"
#include "views/registry.h"

namespace vitrine::app {

using kit::theme;

namespace {

const session::StageInfo* stageInfo(std::string_view name) {
  for (const session::StageInfo& info : session::kStages)
    if (info.name == name) return &info;
  return nullptr;
}

}  // namespace

Pane::Pane(Document* document, const PaneSpec& spec, QWidget* parent)
    : QWidget(parent),
      document_(document),
      letter_(spec.letter),
      header_(new kit::HeaderBar(this)),
      banner_(new kit::Banner(this)),
      stack_(new QStackedWidget(this)),
      empty_(new kit::EmptyState(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(header_);
  column->addWidget(banner_);
  column->addWidget(stack_, 1);
  stack_->addWidget(empty_);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  connect(header_, &kit::HeaderBar::titleClicked, this, &Pane::chooseStage);
  connect(banner_, &kit::Banner::commandRequested, this, &Pane::commandRequested);
  connect(document_, &Document::sessionChanged, this, &Pane::refreshHeader);
  setLetter(spec.letter);
  show(spec.what);
}

void Pane::setLetter(char letter) {
  letter_ = letter;
  header_->setLetter(letter ? QChar(letter) : QChar());
}

QSize Pane::minimumSizeHint() const {
  return {theme().px(200), theme().px(90)};
}

std::string Pane::stage() const {
  return what_.starts_with("view:") ? std::string() : what_;
}

ViewHost* Pane::host() const {
  return qobject_cast<ViewHost*>(stack_->currentWidget());
}

void Pane::show(const std::string& what) {
  what_ = what;
  const kit::ViewInfo* info =
      what.starts_with("view:") ? views::viewInfo(what.substr(5)) : views::viewForStage(what);
  if (!info) {
    const session::StageInfo* stage = stageInfo(what);
    empty_->set(stage ? s(stage->title) +
                            " has no view in this version; the command line shows it: vitrine show SESSION " +
                            s(what)
                      : "Nothing to show here.");
    stack_->setCurrentWidget(empty_);
    refreshHeader();
    Q_EMIT shown();
    return;
  }
  ViewHost*& host = hosts_[info->id];
  if (!host) {
    host = new ViewHost(document_, *info, this);
    stack_->addWidget(host);
    connect(host, &ViewHost::openIn, this, &Pane::openIn);
    connect(host, &ViewHost::commandRequested, this, &Pane::commandRequested);
    connect(host->view(), &kit::View::looksAt, this, [this, host](double top, double zoom) {
      if (host == this->host()) Q_EMIT looksAt(top, zoom);
    });
    connect(host, &ViewHost::headerChanged, this, &Pane::refreshHeader);
    connect(host, &ViewHost::focused, this, [this] { Q_EMIT focused(this); });
    connect(host, &ViewHost::focusedByKey, header_, &kit::HeaderBar::setFocused);
  }
  if (!stage().empty()) host->view()->setStage(what);
  stack_->setCurrentWidget(host);
  refreshHeader();
  Q_EMIT shown();
}

void Pane::refreshHeader() {
  ViewHost* host = this->host();
  if (!host) {
    const session::StageInfo* stage = stageInfo(what_);
    header_->setTitle(stage ? s(stage->title) : QString(), "");
    if (controls_of_) header_->setControls({});
    controls_of_ = nullptr;
    return;
  }
  const QString before = header_->accessibleName();
  header_->setTitle(host->view()->title(), host->view()->subtitle());
  if (header_->accessibleName() != before) Q_EMIT titled();
  if (controls_of_ != host) header_->setControls(host->view()->headerControls());
  controls_of_ = host;
}

// The stage can be chosen in the header as in the strip.
void Pane::chooseStage() {
  Q_EMIT focused(this);
  if (stage().empty()) return;
  QMenu menu(this);
  int group = 0;
  const bool gpu = document_->session() && document_->session()->isGpu(document_->compilation());
  for (const session::StageInfo& info : session::kStages) {
    if (info.group != group) menu.addSeparator();
    group = info.group;
    QAction* action = menu.addAction(s(session::stage_title(info, gpu)));
    action->setCheckable(true);
    action->setChecked(info.name == what_);
    action->setEnabled(document_->session() &&
                       document_->session()->countOf(document_->compilation(), info.name) >= 0);
    connect(action, &QAction::triggered, this, [this, name = std::string(info.name)] { show(name); });
  }
  menu.exec(header_->mapToGlobal(QPoint(theme().px(4), header_->height())));
}

}  // namespace vitrine::app
