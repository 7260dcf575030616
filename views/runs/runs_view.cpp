#include "views/runs/runs_view.h"

#include <QHeaderView>
#include <QVBoxLayout>

#include "views/runs/runs_items.h"

namespace vitrine::views {

RunsView::RunsView(kit::Jobs* jobs, QWidget* parent) : View(jobs, parent), tree_(new kit::ItemView(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(tree_);
  tree_->setHeaderHidden(true);
  tree_->setColumns({{"name", 120, false, false, true}, {"value", 84, true}});
  tree_->setMarks(&selection());
  setFocusProxy(tree_);
  connect(tree_, &kit::ItemView::activate, this, &View::activate);
  connect(tree_, &kit::ItemView::selectAll, this, &View::selectAll);
  connect(tree_, &kit::ItemView::toggle, this, &View::toggle);
  connect(tree_, &kit::ItemView::hover, this, &View::hover);
  connect(tree_, &kit::ItemView::open, this, [this](Id id, bool other) { Q_EMIT openIn(id, {}, other); });
}

int RunsView::find(const QString& text) {
  tree_->setFilter(text);
  if (!text.isEmpty()) tree_->expandAll();
  return static_cast<int>(tree_->shown().size());
}

Id RunsView::canShow(Id id) const {
  return tree_->items()->indexOf(id).isValid() ? id : 0;
}

// A long run has tens of thousands of kernels and guards: a job puts them into words.
void RunsView::sessionChanged() {
  using Items = std::vector<kit::Item>;
  if (!session()) return tree_->setItems({});
  jobs()->run<Items>(
      this, "runs", [data = session()](const kit::Cancel&) { return runItems(*data); },
      [this, data = session()](Items items) {
        if (data != session()) return;
        tree_->setItems(std::move(items));
        if (canShow(selection().active)) tree_->reveal(selection().active);
      });
}

void RunsView::selectionChanged(kit::ChangeMask mask) {
  if (mask & kit::ChangeActive && selection().active && canShow(selection().active))
    tree_->reveal(selection().active);
  tree_->viewport()->update();
}

}  // namespace vitrine::views
