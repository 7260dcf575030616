// The frame's bytecode as capture interpreted it: line, pc, name, argument, and what each instruction caused.
// Inlined frames unfold under their call; what comes after the film's step is quiet.
#pragma once

#include <set>

#include "views/capture/row_pane.h"
#include "views/capture/trace_rows.h"
#include "views/kit/view.h"

namespace vitrine::views {

class BytecodeView : public kit::View {
  Q_OBJECT
 public:
  explicit BytecodeView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Bytecode"); }
  QString subtitle() const override;
  QList<QWidget*> headerControls() override;
  QString searchPlaceholder() const override { return QStringLiteral("Find an instruction"); }
  int find(const QString& text) override { return pane_->find(text); }
  void findNext(bool forward) override { pane_->findNext(forward); }
  QString copy(kit::CopyAs as) const override;
  Id canShow(Id id) const override;
  void reveal(Id id) override;
  std::vector<Id> shown() const override;
  std::vector<kit::Thing> things() const override { return pane_->things(); }

  RowPane* pane() { return pane_; }
  // For tests and copying: "32 | 168 | CALL | 2 | gelu"; a row that is still to come ends with " (later)".
  QStringList lines() const;
  int nameWidth() const;  // pixels of the column of instructions

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { shown_ = 0; }
  void selectionChanged(kit::ChangeMask mask) override;
  void themeChanged() override { layoutRows(); }
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Line {
    const TraceRow* row = nullptr;
    QString line, pc, op, arg, caused;
    bool open = false;
  };
  void layoutRows();
  void addLine(const TraceRow& row);
  void paintLine(QPainter& painter, int index, const QRect& box) const;
  int paintCaused(QPainter& painter, const Line& line, const QRect& box, const QColor& colour) const;
  void click(int index, int x);
  bool later(size_t index) const;
  bool current(const TraceRow& row) const;
  void follow();

  RowPane* pane_;
  std::vector<TraceRow> trace_;
  std::vector<Line> lines_;
  int widest_name_ = 0;  // of an instruction
  std::set<int> open_;   // by first step
  Id shown_ = 0;         // compilation
  int at_ = -1;          // the film's step
};

}  // namespace vitrine::views
