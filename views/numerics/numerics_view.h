// Numerics: each value of the compilation's graph against eager's and against float64; the first that differs
// and the source of a NaN are one click away.
#pragma once

#include <QPointer>
#include <QStackedWidget>

#include "views/kit/tables/item_view.h"
#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

class NumericsView : public kit::View {
  Q_OBJECT
 public:
  NumericsView(kit::Jobs* jobs, QWidget* parent);
  QString title() const override { return QStringLiteral("Numerics"); }
  QString subtitle() const override;
  QList<QWidget*> headerControls() override;
  QString searchPlaceholder() const override { return QStringLiteral("Filter values"); }
  int find(const QString& text) override;
  void findNext(bool forward) override { table_->step(forward); }
  QString copy(kit::CopyAs as) const override { return table_->text(as == kit::CopyAs::Csv); }
  QString copyPython() const override { return table_->python(); }
  Id canShow(Id id) const override;
  void reveal(Id id) override { table_->reveal(id); }
  std::vector<Id> shown() const override { return table_->shown(); }
  kit::ItemView* table() { return table_; }
  QString why_empty() const { return empty_->sentence(); }

 protected:
  void sessionChanged() override { fill(); }
  void forgetPlaces() override { table_->setItems({}); }
  void selectionChanged(kit::ChangeMask mask) override;

 private:
  void fill();
  void refreshButtons();
  void go(Id node);
  Id elsewhere() const;
  void showElsewhere();

  QStackedWidget* pages_;
  kit::ItemView* table_;
  kit::EmptyState* empty_;
  QPointer<QToolButton> first_, nan_;  // the header that shows them owns them
  Id filled_ = 0;                      // compilation that the rows are of
};

}  // namespace vitrine::views
