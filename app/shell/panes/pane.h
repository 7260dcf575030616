// A pane of the centre: header, banner and the view of the stage it shows. Views are made when first needed.
#pragma once

#include <QStackedWidget>
#include <map>

#include "app/shell/panes/view_host.h"

namespace vitrine::app {

// What a pane shows: a stage's name, or "view:<id>" for a view without a stage.
struct PaneSpec {
  std::string what;
  char letter = 0;  // 'A', 'B' or none
  int share = 1;    // of the column's height
};

class Pane : public QWidget {
  Q_OBJECT
 public:
  Pane(Document* document, const PaneSpec& spec, QWidget* parent = nullptr);
  void show(const std::string& what);
  const std::string& what() const { return what_; }
  std::string stage() const;  // "" for a view without a stage
  char letter() const { return letter_; }
  void setLetter(char letter);
  ViewHost* host() const;  // nullptr when nothing can show the stage
  kit::HeaderBar* header() const { return header_; }
  kit::Banner* banner() const { return banner_; }
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void looksAt(double top, double zoom);  // of the view that is shown
  void openIn(vitrine::Id id, const QString& view, bool other);
  void commandRequested(const QString& id);
  void focused(vitrine::app::Pane* pane);
  void titled();  // the view, as the header does
  void shown();

 private:
  void refreshHeader();
  void chooseStage();
  Document* document_;
  std::string what_;
  char letter_;
  kit::HeaderBar* header_;
  kit::Banner* banner_;
  QStackedWidget* stack_;
  kit::EmptyState* empty_;
  std::map<std::string, ViewHost*> hosts_;  // by view id
  ViewHost* controls_of_ = nullptr;
};

}  // namespace vitrine::app
