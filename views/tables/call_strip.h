// The calls of one segment in a row, coloured by the compilation that served each: where a call compiled, how
// long that took, and which compilation the calls after it used.
#pragma once

#include <QWidget>
#include <vector>

#include "views/kit/selection/selection.h"
#include "views/kit/session/session_data.h"

namespace vitrine::views {

class CallStrip : public QWidget {
  Q_OBJECT
 public:
  explicit CallStrip(QWidget* parent = nullptr);

  // The segment of `compilation`; when it was not called, the run's first segment that was.
  void setScope(const kit::SessionData* data, Id run, Id compilation);
  void setMarks(const kit::Selection* selection) { marks_ = selection; }

  struct Block {  // calls [from, to) of one compilation
    Id compilation = 0;
    size_t from = 0, to = 0;
    QString label;    // "0/1"
    bool all = true;  // every call is kept, so that these are the numbers of calls
    QString words() const;
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  size_t calls() const { return calls_.size(); }
  size_t callAt(int x) const;  // calls() when there is none
  QRectF cellOf(size_t call) const;
  QSize sizeHint() const override;

 Q_SIGNALS:
  void activate(vitrine::Id id);
  void hover(vitrine::Id id);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QColor colourOf(const Block& block) const;
  void paintBlock(QPainter& painter, const Block& block) const;
  double cellWidth() const;

  const kit::SessionData* data_ = nullptr;
  const kit::Selection* marks_ = nullptr;
  Id shown_ = 0;
  std::vector<const session::CallRow*> calls_;
  std::vector<Block> blocks_;
};

}  // namespace vitrine::views
