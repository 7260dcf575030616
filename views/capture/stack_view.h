// The symbolic stack at the film's step: what the instruction put and took, what lies below, locals and
// frames.
#pragma once

#include "views/capture/replay.h"
#include "views/capture/row_pane.h"
#include "views/kit/view.h"

namespace vitrine::views {

// What a value's type takes of a row's width beside its name: all that the name leaves free, and where both
// find no room, half.
int factWidth(const QString& name, const QString& fact, int room);

class StackView : public kit::View {
  Q_OBJECT
 public:
  explicit StackView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Symbolic stack"); }
  QString subtitle() const override;
  QString copy(kit::CopyAs as) const override { return lines().join('\n'); }
  Id canShow(Id id) const override;
  void reveal(Id id) override { pane_->revealRow(pane_->rowOf(canShow(id))); }
  std::vector<Id> shown() const override;
  std::vector<kit::Thing> things() const override { return pane_->things(); }

  RowPane* pane() { return pane_; }
  const StackState& state() const { return state_; }
  QStringList lines() const;  // for tests and copying: "+ 0 gelu f32[8,128,3072]"

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void themeChanged() override { fill(); }
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Line {
    enum class What { Caption, Put, Taken, Kept, Local, Frame, Prose, Gap };
    What what = What::Gap;
    Id id = 0;
    QString lead, text, right;  // lead: the place on the stack or the local's name
    kit::NodeFamily family = kit::NodeFamily::None;
    QString kind;
  };
  void fill();
  void addValues(Line::What what, const std::vector<StackValue>& values, int top);
  void addLocals();
  void addFrames();
  void addProse();
  void add(Line line) { lines_.push_back(std::move(line)); }
  int heightOf(const Line& line) const;
  int leadWidth(int room) const;
  void paintLine(QPainter& painter, int index, const QRect& box) const;
  void paintValue(QPainter& painter, const Line& line, int index, const QRect& box) const;
  int paintGlyph(QPainter& painter, const Line& line, const QRect& box, const QColor& colour) const;
  QString whyEmpty() const;
  int at() const;

  RowPane* pane_;
  std::vector<Line> lines_;
  StackState state_;
  std::pair<Id, Id> filled_;  // compilation and step
};

}  // namespace vitrine::views
