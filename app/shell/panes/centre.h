// The centre: columns of panes, two of which carry the letters A and B.
#pragma once

#include <QSplitter>
#include <vector>

#include "app/shell/bars/menu_row.h"
#include "app/shell/panes/pane.h"

namespace vitrine::app {

struct ColumnSpec {
  int share = 1;  // of the width
  std::vector<PaneSpec> panes;
};

class Centre : public QWidget {
  Q_OBJECT
 public:
  explicit Centre(Document* document, QWidget* parent = nullptr);
  void arrange(const std::vector<ColumnSpec>& columns);
  Pane* pane(char letter) const;  // nullptr: no such pane in this layout
  Pane* current() const;          // the one focused last, else A
  const std::vector<Pane*>& panes() const { return panes_; }
  std::vector<ColumnSpec> columns() const;  // as they are now
  void split();                             // the current pane, once downwards; again: undoes it
  void swap();                              // what A and B show
  void setNarrow(bool narrow);              // one column at a time, the others behind tabs
  void raise(Pane* pane);                   // its column, where one is shown at a time
  // Shows the stage where it can be seen: in the pane with the letter.
  void showStage(const std::string& stage, bool other);

 Q_SIGNALS:
  void openIn(vitrine::Id id, const QString& view, bool other);
  void commandRequested(const QString& id);
  void shownChanged();

 private:
  Pane* add(QSplitter* column, const PaneSpec& spec);
  void together(const Pane* moved, double top, double zoom);
  void refreshTabs();
  Document* document_;
  LayoutSwitch* tabs_;
  QSplitter* row_ = nullptr;
  bool narrow_ = false;
  int column_ = 0;  // the one shown when narrow
  std::vector<Pane*> panes_;
  Pane* current_ = nullptr;
};

}  // namespace vitrine::app
