// Log: everything the engine told of a run, in time.
#pragma once

#include "views/kit/tables/item_view.h"
#include "views/kit/view.h"

namespace vitrine::views {

std::vector<kit::Item> logItems(const kit::SessionData& session);

class LogView : public kit::View {
  Q_OBJECT
 public:
  LogView(kit::Jobs* jobs, QWidget* parent);
  QString title() const override { return QStringLiteral("Log"); }
  QString searchPlaceholder() const override { return QStringLiteral("Filter the log"); }
  int find(const QString& text) override;
  void findNext(bool forward) override { table_->step(forward); }
  QString copy(kit::CopyAs as) const override { return table_->text(as == kit::CopyAs::Csv); }

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { table_->setItems({}); }
  void selectionChanged(kit::ChangeMask mask) override { table_->viewport()->update(); }

 private:
  kit::ItemView* table_;
};

}  // namespace vitrine::views
