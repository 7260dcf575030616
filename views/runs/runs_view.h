// Runs: which run, frame, segment, compilation and kernel is shown.
#pragma once

#include "views/kit/tables/item_view.h"
#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

class RunsView : public kit::View {
  Q_OBJECT
 public:
  RunsView(kit::Jobs* jobs, QWidget* parent);
  QString title() const override { return QStringLiteral("Runs"); }
  QString searchPlaceholder() const override { return QStringLiteral("Find a frame, compilation or kernel"); }
  int find(const QString& text) override;
  void findNext(bool forward) override { tree_->step(forward); }
  QString copy(kit::CopyAs as) const override { return tree_->text(as == kit::CopyAs::Csv); }
  void reveal(Id id) override { tree_->reveal(id); }
  std::vector<Id> shown() const override { return tree_->shown(); }
  Id canShow(Id id) const override;

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { tree_->setItems({}); }
  void selectionChanged(kit::ChangeMask mask) override;

 private:
  kit::ItemView* tree_;
};

}  // namespace vitrine::views
