// A view that is one table: its rows come from a function of the session, declared in views/tables/tables.h.
#pragma once

#include <QPointer>

#include "views/kit/tables/item_view.h"
#include "views/kit/view.h"
#include "views/kit/widgets/switch_bar.h"
#include "views/tables/call_strip.h"

class QLineEdit;

namespace vitrine::views {

// What a table is made from: the session and what the film stands at.
struct TableScope {
  const kit::SessionData& data;
  Id run = 0, compilation = 0;
  // While the whole run is shown: all its compilations, whose rows stand in one table. Empty: of
  // `compilation` alone.
  std::vector<Id> all = {};
  std::vector<Id> shown() const { return all.empty() ? std::vector<Id>{compilation} : all; }
};

struct TableContent {
  std::vector<kit::Column> columns;
  std::vector<kit::Item> rows;
};

struct TableSpec {
  const char* id;
  const char* title;
  std::vector<kit::Column> (*columns)(const TableScope& scope);
  std::vector<kit::Item> (*rows)(const TableScope& scope);
  QString (*subtitle)(const TableScope& scope);
  const char* empty;  // the sentence when there are no rows, of a session in which something was compiled
  int sort = -1;      // column of the first order, -1 = as given
  Qt::SortOrder order = Qt::DescendingOrder;
  bool calls = false;      // the strip of calls stands above the rows
  const char* stage = "";  // what the rows are made by: why it is missing follows the sentence
  int split = -1;          // column by whose words a switch in the header divides the rows
  // Rows that a compilation has, of tables of one compilation: an empty one leads to where some are.
  size_t (*count)(const kit::SessionData& data, Id compilation) = nullptr;
  QString (*why)(const TableScope& scope) = nullptr;  // instead of what stands behind the colon of `empty`
  bool of_compilations = true;                        // false: rows are a person's
  bool whole_run = false;  // a switch in the header shows the rows of all compilations together
  bool in_range = false;   // while a piece of time is selected, only what is at work there is shown
  // Instead of columns and rows, where both are made of what takes long.
  TableContent (*content)(const TableScope& scope) = nullptr;
};

class TableView : public kit::View {
  Q_OBJECT
 public:
  TableView(const TableSpec& spec, kit::Jobs* jobs, QWidget* parent);

  QString title() const override { return QString::fromUtf8(spec_.title); }
  QString subtitle() const override;
  QList<QWidget*> headerControls() override;
  int find(const QString& text) override;
  void findNext(bool forward) override;
  QString searchPlaceholder() const override { return QStringLiteral("Filter"); }
  QString copy(kit::CopyAs as) const override { return items_->text(as == kit::CopyAs::Csv); }
  QString copyPython() const override { return items_->python(); }
  Id canShow(Id id) const override;
  void reveal(Id id) override { items_->reveal(id); }
  std::vector<Id> shown() const override { return items_->listed(); }
  kit::ItemView* items() { return items_; }
  QString why_empty() const;             // what stands there without rows
  CallStrip* calls() { return calls_; }  // nullptr when the table has none

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { items_->setItems({}); }
  void selectionChanged(kit::ChangeMask mask) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  kit::NextAct nextAct() const override;
  void follow(const QString& command) override;
  virtual void place();
  virtual int below() const { return 0; }  // pixels under the rows that a view of its own kind takes

 private:
  TableScope scope() const;
  Id elsewhere() const;
  void showCompilation(Id id);
  std::vector<Id> siblings() const;
  void update_whole();
  bool whole() const { return whole_ && whole_->current() == 1; }
  kit::TimeRange range() const;  // that the rows are kept to; empty: none
  void update_when();
  void fill();
  void take(TableContent content);
  const TableSpec& spec_;
  kit::ItemView* items_;
  CallStrip* calls_ = nullptr;
  void update_split();
  QPointer<QLineEdit> filter_;  // the header that shows them owns them
  QPointer<kit::SwitchBar> split_;
  QPointer<kit::SwitchBar> whole_;
  QPointer<kit::SwitchBar> when_;
  QStringList split_words_;
  int split_column_ = -1;
  bool any_ = false, filling_ = false;  // rows are there; a job makes them
  struct Filled {
    Id run = 0, compilation = 0;  // the latter 0: all of the run's
    kit::TimeRange range;
    bool operator==(const Filled&) const = default;
  };
  Filled filled_;  // what the rows are of
};

}  // namespace vitrine::views
