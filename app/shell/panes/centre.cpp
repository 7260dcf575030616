#include "app/shell/panes/centre.h"

#include <QVBoxLayout>
#include <algorithm>

namespace vitrine::app {

Centre::Centre(Document* document, QWidget* parent)
    : QWidget(parent), document_(document), tabs_(new LayoutSwitch({}, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(tabs_);
  tabs_->setVisible(false);
  tabs_->setToolTip({});
  tabs_->setAccessibleName("Panes");
  connect(tabs_, &LayoutSwitch::chosen, this, [this](const QString& name) {
    column_ = name.section(' ', 0, 0).toInt() - 1;
    refreshTabs();
  });
  connect(this, &Centre::shownChanged, this, &Centre::refreshTabs);
}

void Centre::setNarrow(bool narrow) {
  if (narrow == narrow_) return;
  narrow_ = narrow;
  refreshTabs();
}

void Centre::refreshTabs() {
  const int columns = row_ ? row_->count() : 0;
  column_ = std::clamp(column_, 0, std::max(0, columns - 1));
  QStringList names;
  for (int i = 0; i < columns; ++i) {
    row_->widget(i)->setVisible(!narrow_ || i == column_);
    QStringList titles;
    const auto* column = static_cast<QSplitter*>(row_->widget(i));
    for (int k = 0; k < column->count(); ++k)
      titles << static_cast<Pane*>(column->widget(k))->header()->accessibleName();
    names << QStringLiteral("%1 %2").arg(i + 1).arg(titles.join(QStringLiteral(", ")));
  }
  tabs_->setNames(names);
  tabs_->setCurrent(names.value(column_));
  tabs_->setVisible(narrow_ && columns > 1);
}

void Centre::arrange(const std::vector<ColumnSpec>& columns) {
  delete row_;
  panes_.clear();
  current_ = nullptr;
  row_ = new QSplitter(Qt::Horizontal, this);
  row_->setChildrenCollapsible(false);
  layout()->addWidget(row_);
  for (const ColumnSpec& spec : columns) {
    auto* column = new QSplitter(Qt::Vertical, row_);
    column->setChildrenCollapsible(false);
    for (const PaneSpec& pane : spec.panes) {
      add(column, pane);
      column->setStretchFactor(column->count() - 1, pane.share);
    }
    row_->setStretchFactor(row_->count() - 1, spec.share);
  }
  // Sizes in proportion: stretch factors alone would start from the size hints.
  QList<int> widths;
  for (const ColumnSpec& spec : columns) widths << spec.share * 1000;
  row_->setSizes(widths);
  for (size_t i = 0; i < columns.size(); ++i) {
    QList<int> heights;
    for (const PaneSpec& pane : columns[i].panes) heights << pane.share * 1000;
    static_cast<QSplitter*>(row_->widget(static_cast<int>(i)))->setSizes(heights);
  }
  row_->show();
  Q_EMIT shownChanged();
}

Pane* Centre::add(QSplitter* column, const PaneSpec& spec) {
  auto* pane = new Pane(document_, spec, column);
  column->addWidget(pane);
  panes_.push_back(pane);
  connect(pane, &Pane::openIn, this, &Centre::openIn);
  connect(pane, &Pane::commandRequested, this, &Centre::commandRequested);
  connect(pane, &Pane::shown, this, &Centre::shownChanged);
  connect(pane, &Pane::titled, this, [this] {
    if (narrow_) refreshTabs();
  });
  connect(pane, &Pane::looksAt, this, [this, pane](double top, double zoom) { together(pane, top, zoom); });
  connect(pane, &Pane::focused, this, [this](Pane* focused) { current_ = focused; });
  return pane;
}

// The rows before fusion and after it are the same.
void Centre::together(const Pane* moved, double top, double zoom) {
  auto rows = [](const Pane* pane) { return pane->stage() == "loops" || pane->stage() == "fused"; };
  if (!rows(moved)) return;
  for (Pane* pane : panes_)
    if (pane != moved && rows(pane) && pane->stage() != moved->stage() && pane->host())
      pane->host()->view()->lookAt(top, zoom);
}

Pane* Centre::pane(char letter) const {
  for (Pane* pane : panes_)
    if (pane->letter() == letter) return pane;
  return nullptr;
}

Pane* Centre::current() const {
  return current_ ? current_ : pane('A') ? pane('A') : panes_.empty() ? nullptr : panes_.front();
}

std::vector<ColumnSpec> Centre::columns() const {
  std::vector<ColumnSpec> out;
  const QList<int> widths = row_ ? row_->sizes() : QList<int>();
  for (int i = 0; i < widths.size(); ++i) {
    const auto* column = static_cast<QSplitter*>(row_->widget(i));
    const QList<int> heights = column->sizes();
    ColumnSpec spec{std::max(1, widths[i]), {}};
    for (int k = 0; k < column->count(); ++k) {
      const auto* pane = static_cast<Pane*>(column->widget(k));
      spec.panes.push_back({pane->what(), pane->letter(), std::max(1, heights[k])});
    }
    out.push_back(std::move(spec));
  }
  return out;
}

void Centre::split() {
  Pane* pane = current();
  if (!pane) return;
  auto* column = qobject_cast<QSplitter*>(pane->parentWidget());
  if (column->count() > 1) {
    Pane* last = static_cast<Pane*>(column->widget(column->count() - 1));
    if (last->letter()) return;
    std::erase(panes_, last);
    if (current_ == last) current_ = nullptr;
    delete last;
  } else {
    const std::string what = pane->stage() == "kernels"  ? "assembly"
                             : pane->stage() == "source" ? "kernels"
                                                         : "source";
    add(column, {what, 0, 1})->setVisible(true);
  }
  Q_EMIT shownChanged();
}

void Centre::swap() {
  Pane *a = pane('A'), *b = pane('B');
  if (!a || !b) return;
  const std::string what = a->what();
  a->show(b->what());
  b->show(what);
}

void Centre::raise(Pane* pane) {
  for (int i = 0; narrow_ && i < row_->count(); ++i)
    if (row_->widget(i)->isAncestorOf(pane)) column_ = i;
  refreshTabs();
}

void Centre::showStage(const std::string& stage, bool other) {
  if (Pane* pane = this->pane(other ? 'B' : 'A')) {
    raise(pane);
    pane->show(stage);
  } else if (!panes_.empty()) {
    panes_.front()->show(stage);
  }
}

}  // namespace vitrine::app
