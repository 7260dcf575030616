// Memory over time: what an eager and a compiled call hold at each moment on one axis, and what the peak is
// made of by buffer, node and source line. A click in the chart looks at another moment.
#pragma once

#include <QStackedWidget>

#include "views/kit/tables/item_view.h"
#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"
#include "views/memory/memory_chart.h"

class QBoxLayout;

namespace vitrine::views {

class MemoryView : public kit::View {
  Q_OBJECT
 public:
  MemoryView(kit::Jobs* jobs, QWidget* parent);
  QString title() const override { return QStringLiteral("Memory over time"); }
  QString subtitle() const override;
  QString searchPlaceholder() const override { return QStringLiteral("Filter"); }
  int find(const QString& text) override;
  void findNext(bool forward) override { table_->step(forward); }
  QString copy(kit::CopyAs as) const override { return table_->text(as == kit::CopyAs::Csv); }
  QString copyPython() const override { return table_->python(); }
  Id canShow(Id id) const override;
  void reveal(Id id) override { table_->reveal(id); }
  std::vector<Id> shown() const override { return table_->shown(); }
  MemoryChart* chart() { return chart_; }
  kit::ItemView* table() { return table_; }
  QString why_empty() const { return empty_->sentence(); }

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { table_->setItems({}); }
  void selectionChanged(kit::ChangeMask mask) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  Id run() const;
  void take(MemoryUsePtr use);
  void lookAt(qint64 ns);
  void fill();

  QStackedWidget* pages_;
  QBoxLayout* halves_;
  MemoryChart* chart_;
  kit::ItemView* table_;
  kit::EmptyState* empty_;
  MemoryUsePtr use_;
  int64_t at_ = -1;
};

}  // namespace vitrine::views
