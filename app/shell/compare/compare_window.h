// Two sessions side by side: the verdict, what differs, and graphs, kernels and timelines of both. What is
// made active on one side has its counterpart active on the other.
#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QStackedWidget>

#include "app/jobs/job_runner.h"
#include "app/shell/compare/comparison.h"
#include "app/shell/document/document.h"
#include "app/shell/panes/pane.h"
#include "views/kit/tables/item_view.h"
#include "views/kit/widgets/switch_bar.h"

namespace vitrine::app {

class CompareWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit CompareWindow(QWidget* parent = nullptr, JobRunner::Mode jobs = JobRunner::Mode::Threads);

  void open(const QString& before, const QString& after);
  bool showPage(const QString& name);  // graphs, kernels, timelines; false: there is no such page
  void settle();                       // for shots and tests

  const TwoSessionsPtr& comparison() const { return comparison_; }
  Document* before() { return before_; }
  Document* after() { return after_; }
  kit::ItemView* differences() { return differences_; }
  kit::ItemView* kernels() { return kernels_; }
  kit::Banner* banner() { return banner_; }
  const QList<Pane*>& panes() const { return panes_; }

 private:
  void build();
  QWidget* pair(const std::string& what, Qt::Orientation side_by_side);
  void follow(Document* from, Document* to, bool forward);
  void show(const TwoSessionsPtr& comparison);
  void tell(const Error& error);
  void choose(kit::ItemView* table, Id row);
  void oneAxis();
  void addKeys();
  ViewHost* host() const;  // of the view that has the focus; null: none has

  JobRunner *jobs_, *before_jobs_, *after_jobs_;
  Document *before_, *after_;
  TwoSessionsPtr comparison_;
  kit::Banner* banner_;
  kit::SwitchBar* switch_;
  QStackedWidget* pages_;
  kit::ItemView *differences_, *kernels_;
  QLabel* no_pairs_;       // in the place of the kernels, where none of both sides belong together
  kit::Selection marked_;  // the row that was clicked, in either table
  QList<Pane*> panes_;
  const void* axis_of_[2] = {};  // the timelines whose axis is one
};

}  // namespace vitrine::app
