// Problems: breaks, recompilations, skipped frames, slower than eager, errors; what to fix first.
#pragma once

#include <QStackedWidget>

#include "views/kit/tables/item_view.h"
#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

class ProblemsView : public kit::View {
  Q_OBJECT
 public:
  ProblemsView(kit::Jobs* jobs, QWidget* parent);
  QString title() const override { return QStringLiteral("Problems"); }
  QString subtitle() const override;
  QString searchPlaceholder() const override { return QStringLiteral("Filter problems"); }
  int find(const QString& text) override;
  void findNext(bool forward) override { table_->step(forward); }
  QString copy(kit::CopyAs as) const override { return table_->text(as == kit::CopyAs::Csv); }
  void reveal(Id id) override { table_->reveal(id); }
  std::vector<Id> shown() const override { return table_->shown(); }

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { table_->setItems({}); }
  void selectionChanged(kit::ChangeMask mask) override { table_->viewport()->update(); }

 private:
  QStackedWidget* pages_;
  kit::ItemView* table_;
  kit::EmptyState* empty_;
};

}  // namespace vitrine::views
