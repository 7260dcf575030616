// The user's Python, to the expression: links to what each became, marks where the graph broke.
#pragma once

#include "views/kit/code/code_pane.h"
#include "views/kit/view.h"

namespace vitrine::views {

class SourceView : public kit::View {
  Q_OBJECT
 public:
  explicit SourceView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override;
  QString subtitle() const override;
  QString searchPlaceholder() const override { return QStringLiteral("Find in source"); }
  int find(const QString& text) override { return pane_->find(text); }
  void findNext(bool forward) override { pane_->findNext(forward); }
  void zoom(kit::Zoom how) override;
  QString copy(kit::CopyAs) const override { return pane_->selectedText(); }
  QString copyPython() const override { return pane_->selectedText(); }
  Id canShow(Id id) const override;
  void reveal(Id id) override;
  std::vector<kit::Thing> things() const override { return pane_->things(); }
  std::vector<Id> shown() const override { return pane_->shown(); }
  kit::CodePane* pane() { return pane_; }

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { file_ = 0; }
  void selectionChanged(kit::ChangeMask mask) override;
  void themeChanged() override { pane_->zoom(1); }
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  Id wantedFile() const;
  Id callingFile() const;
  QString whyEmpty() const;
  Id shownCode() const;  // the function whose source stands there without an active thing
  void showFile(Id file, kit::Text text);
  void revealLetters();
  void markRunning();
  const session::SpanRow* running() const;
  std::vector<kit::CodeSpan> spans(const QStringList& lines) const;
  std::vector<kit::CodeMark> breakMarks() const;
  std::vector<kit::CodeMark> errorMarks() const;
  const session::SpanRow* raised() const;

  kit::CodePane* pane_;
  Id file_ = 0;
  Id without_text_ = 0;  // the file that would be shown
  // shownCode() of that session and compilation.
  mutable const void* shown_of_ = nullptr;
  mutable Id shown_compilation_ = 0, shown_code_ = 0;
  QStringList lines_;
};

}  // namespace vitrine::views
