// Holds one view in a pane or dock: wires it to the document, carries the find row.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>
#include <QWidget>
#include <optional>

#include "app/shell/document/document.h"
#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::app {

class ViewHost : public QWidget {
  Q_OBJECT
 public:
  ViewHost(Document* document, const kit::ViewInfo& info, QWidget* parent = nullptr);
  kit::View* view() const { return view_; }
  const kit::ViewInfo& info() const { return info_; }
  void openFind(const QString& text = {});  // null: what stood there
  bool closeFind();                         // false when it was not open
  void findNext(bool forward);
  // Where a menu stands: at the right click that asked for it, else at what is active in sight.
  QPoint takeMenuPlace();

 Q_SIGNALS:
  void openIn(vitrine::Id id, const QString& view, bool other);
  void commandRequested(const QString& id);
  void headerChanged();
  void focused();
  void focusedByKey(bool on);  // the focus came by a key; false: it is gone

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void wire();
  Document* document_;
  const kit::ViewInfo& info_;
  kit::View* view_;
  QWidget* find_row_;
  QLineEdit* find_field_;
  QLabel* find_count_;
  std::optional<QPoint> menu_place_;
};

}  // namespace vitrine::app
