// The totals of the selected time.
#pragma once

#include "views/kit/view.h"
#include "views/timeline/range.h"

namespace vitrine::views {

class RangeView : public kit::View {
  Q_OBJECT
 public:
  explicit RangeView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Range"); }
  QString subtitle() const override;
  QString copy(kit::CopyAs as) const override;
  struct Row {
    QString title, eager, compiled;
  };
  std::vector<Row> rows() const;  // with the units in their titles

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  bool whole() const { return selection().range.from_ns == selection().range.to_ns; }
  Id run() const;
  TimelinePtr timeline_;
};

}  // namespace vitrine::views
