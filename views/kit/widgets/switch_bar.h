// A row of words of which one is on: "All 13 | Fused 6 | Not fused 7". 24 high, for headers.
#pragma once

#include <QStringList>
#include <QWidget>

namespace vitrine::kit {

class SwitchBar : public QWidget {
  Q_OBJECT
 public:
  explicit SwitchBar(QWidget* parent = nullptr);
  void setChoices(const QStringList& choices);  // keeps what is on when it is still there
  QStringList choices() const { return choices_; }
  int current() const { return current_; }
  void setCurrent(int index);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  void chosen(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QRect box(int index) const;
  void choose(int index);
  QStringList choices_;
  int current_ = 0;
};

}  // namespace vitrine::kit
