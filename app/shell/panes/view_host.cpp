#include "app/shell/panes/view_host.h"

#include <QContextMenuEvent>
#include <QEvent>
#include <QFocusEvent>
#include <QHBoxLayout>
#include <QKeyEvent>

namespace vitrine::app {

using kit::theme;
using kit::View;

ViewHost::ViewHost(Document* document, const kit::ViewInfo& info, QWidget* parent)
    : QWidget(parent),
      document_(document),
      info_(info),
      view_(info.factory(document->jobs(), this)),
      find_row_(new QWidget(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* row = new QHBoxLayout(find_row_);
  row->setContentsMargins(theme().px(6), theme().px(4), theme().px(6), theme().px(4));
  find_field_ = kit::searchField("Find", "search", find_row_);
  find_count_ = new QLabel(find_row_);
  find_count_->setFont(theme().mono(11));
  row->addWidget(find_field_, 1);
  row->addWidget(find_count_);
  find_row_->setVisible(false);
  column->addWidget(find_row_);
  column->addWidget(view_, 1);
  setFocusProxy(view_);
  wire();
}

void ViewHost::wire() {
  kit::SelectionModel* model = &document_->model();
  connect(view_, &View::activate, document_, &Document::activate);
  connect(view_, &View::toggle, model, &kit::SelectionModel::toggle);
  connect(view_, &View::selectAll, model, &kit::SelectionModel::setSelected);
  connect(view_, &View::hover, model, &kit::SelectionModel::setHover);
  connect(view_, &View::filmWanted, model, &kit::SelectionModel::setFilm);
  connect(view_, &View::rangeWanted, model, &kit::SelectionModel::setRange);
  connect(view_, &View::onlyRelativesWanted, model, &kit::SelectionModel::setOnlyRelatives);
  connect(view_, &View::openIn, this, &ViewHost::openIn);
  connect(view_, &View::commandRequested, this, &ViewHost::commandRequested);
  connect(view_, &View::headerChanged, this, &ViewHost::headerChanged);
  connect(model, &kit::SelectionModel::changed, view_, &View::setSelection);
  connect(document_, &Document::sessionChanged, view_, &View::setSession);
  view_->setEdits(&document_->edits());
  view_->setSelection(document_->selection(), kit::ChangeAll);
  view_->setSession(document_->session());
  view_->installEventFilter(this);
  for (QWidget* part : view_->findChildren<QWidget*>()) part->installEventFilter(this);
  find_field_->installEventFilter(this);
  connect(find_field_, &QLineEdit::textChanged, this, [this](const QString& text) {
    const int found = view_->find(text);
    find_count_->setText(text.isEmpty() ? QString()
                         : found        ? QString::number(found)
                                        : QStringLiteral("none"));
  });
}

void ViewHost::openFind(const QString& text) {
  if (view_->searchPlaceholder().isEmpty()) return;
  find_field_->setPlaceholderText(view_->searchPlaceholder());
  find_row_->setVisible(true);
  if (!text.isNull()) find_field_->setText(text);
  find_field_->setFocus();
  find_field_->selectAll();
}

bool ViewHost::closeFind() {
  if (!find_row_->isVisible()) return false;
  find_row_->setVisible(false);
  find_field_->clear();
  view_->setFocus();
  return true;
}

void ViewHost::findNext(bool forward) {
  view_->findNext(forward);
}

QPoint ViewHost::takeMenuPlace() {
  if (const auto place = std::exchange(menu_place_, std::nullopt)) return *place;
  for (const kit::Thing& thing : view_->things())
    if (view_->isActive(thing.id)) return view_->mapToGlobal(thing.box.intersected(view_->rect()).center());
  return view_->mapToGlobal(view_->rect().center());
}

bool ViewHost::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::ContextMenu && watched != find_field_) {
    const auto* menu = static_cast<QContextMenuEvent*>(event);
    if (menu->reason() == QContextMenuEvent::Mouse) menu_place_ = menu->globalPos();
    Q_EMIT commandRequested(QStringLiteral("view.menu"));
    return true;
  }
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) {
    const Qt::FocusReason why = static_cast<QFocusEvent*>(event)->reason();
    const bool key =
        why == Qt::TabFocusReason || why == Qt::BacktabFocusReason || why == Qt::ShortcutFocusReason;
    if (why != Qt::PopupFocusReason && why != Qt::ActiveWindowFocusReason)
      Q_EMIT focusedByKey(key && event->type() == QEvent::FocusIn);
  }
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::MouseButtonPress) Q_EMIT focused();
  if (watched == find_field_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Escape) return closeFind();
    if (key->key() == Qt::Key_Return) {
      findNext(!(key->modifiers() & Qt::ShiftModifier));
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace vitrine::app
