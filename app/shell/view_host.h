// Holds one view in a pane or dock: wires it to the document, carries the find row.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>
#include <QWidget>

#include "app/shell/document.h"
#include "views/kit/view.h"
#include "views/kit/widgets.h"

namespace vitrine::app {

class ViewHost : public QWidget {
  Q_OBJECT
 public:
  ViewHost(Document* document, const kit::ViewInfo& info, QWidget* parent = nullptr);
  kit::View* view() const { return view_; }
  const kit::ViewInfo& info() const { return info_; }
  void openFind();
  bool closeFind();  // false when it was not open
  void findNext(bool forward);

 Q_SIGNALS:
  void openIn(vitrine::Id id, const QString& view, bool other);
  void commandRequested(const QString& id);
  void headerChanged();
  void focused();

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
};

}  // namespace vitrine::app
