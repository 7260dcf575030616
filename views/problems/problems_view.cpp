#include "views/problems/problems_view.h"

#include <QVBoxLayout>

#include "views/problems/problems_items.h"

namespace vitrine::views {

ProblemsView::ProblemsView(kit::Jobs* jobs, QWidget* parent)
    : View(jobs, parent),
      pages_(new QStackedWidget(this)),
      table_(new kit::ItemView),
      empty_(new kit::EmptyState) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(pages_);
  pages_->addWidget(table_);
  pages_->addWidget(empty_);
  table_->setColumns(problemColumns());
  table_->setMarks(&selection());
  setFocusProxy(table_);
  connect(table_, &kit::ItemView::activate, this, &View::activate);
  connect(table_, &kit::ItemView::toggle, this, &View::toggle);
  connect(table_, &kit::ItemView::hover, this, &View::hover);
  connect(table_, &kit::ItemView::open, this, [this](Id id, bool other) { Q_EMIT openIn(id, {}, other); });
}

// Counted from the session, not from the table: a hidden view has no rows yet.
QString ProblemsView::subtitle() const {
  return session() ? QString::number(problemItems(*session()).size()) : QString();
}

int ProblemsView::find(const QString& text) {
  table_->setFilter(text);
  return static_cast<int>(table_->shown().size());
}

void ProblemsView::sessionChanged() {
  auto items = session() ? problemItems(*session()) : std::vector<kit::Item>();
  empty_->set(session() ? noProblems(*session()) : QStringLiteral("Problems of a run stand here."));
  pages_->setCurrentWidget(items.empty() ? static_cast<QWidget*>(empty_) : table_);
  table_->setItems(std::move(items));
}

}  // namespace vitrine::views
