// SQL over the session: a question at the left, its rows at the right. A row with the id of a thing selects
// it in every view.
#pragma once

#include <QLabel>
#include <QPlainTextEdit>
#include <QPointer>
#include <QSplitter>

#include "core/session/query/query.h"
#include "views/kit/tables/item_view.h"
#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

// Which thing a row is about: the id in the first column that is called id, ..._id, or as a table of things;
// 0: none.
Id thing_of(const session::QueryResult& result, size_t row);

class QueryView : public kit::View {
  Q_OBJECT
 public:
  QueryView(kit::Jobs* jobs, QWidget* parent);

  QString title() const override { return QStringLiteral("Query"); }
  QString subtitle() const override { return told_; }
  QList<QWidget*> headerControls() override;
  int find(const QString& text) override;
  void findNext(bool forward) override { rows_->step(forward); }
  QString searchPlaceholder() const override { return QStringLiteral("Filter the rows"); }
  QString copy(kit::CopyAs as) const override;
  QString copyPython() const override { return rows_->python(); }
  Id canShow(Id id) const override;
  void reveal(Id id) override { rows_->reveal(id); }
  std::vector<Id> shown() const override { return rows_->shown(); }

  void ask(const QString& sql);  // puts it into the field, and asks
  QPlainTextEdit* field() { return field_; }
  kit::ItemView* rows() { return rows_; }
  QString problem() const { return problem_->text(); }
  bool asking() const { return asking_; }

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void forgetPlaces() override;
  void themeChanged() override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void run();
  void put(const QString& sql);  // the question, to the session
  void answered(const Result<session::QueryResult>& answer);
  void tell(const QString& told, const QString& problem = {});

  QSplitter* parts_;
  QPlainTextEdit* field_;
  QLabel* problem_;
  kit::ItemView* rows_;
  QPointer<kit::MenuButton> examples_;
  QPointer<QToolButton> run_;
  QString told_;
  QString asked_;  // what the rows answer; of another session it is asked again
  double took_ms_ = 0;
  std::string csv_;  // of the rows, as they came
  bool asking_ = false;
};

}  // namespace vitrine::views
