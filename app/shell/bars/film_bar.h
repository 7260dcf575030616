// The film: step buttons, unit, slider with a tick a frame, position, name, one sentence, status at the
// right.
#pragma once

#include <QTimer>
#include <QToolButton>
#include <QWidget>

#include "app/shell/document/document.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::app {

// One dot a frame (hollow = changed nothing) or, when they are many, a line with ticks where something
// changed.
class FilmSlider : public QWidget {
  Q_OBJECT
 public:
  explicit FilmSlider(QWidget* parent = nullptr);
  void set(const std::vector<FilmFrame>& frames, int position);
  QSize sizeHint() const override;

 Q_SIGNALS:
  void moved(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  double xOf(size_t index) const;
  std::vector<char> changed_;
  int position_ = -1;
};

class FilmBar : public QWidget {
  Q_OBJECT
 public:
  explicit FilmBar(Document* document, QWidget* parent = nullptr);
  void setStatus(kit::Tone tone, const QString& text, const QString& numbers);  // at the right
  void setBusy(const QString& text);  // "Clang, kernel 3 of 6, 0.4 s"; "" = the film again
  void togglePlay();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  int nameWidth() const;  // of the position and the frame's name
  void refresh();
  Document* document_;
  QList<QToolButton*> buttons_;
  kit::MenuButton* unit_;
  FilmSlider* slider_;
  QTimer play_;
  kit::Tone tone_ = kit::Tone::None;
  QString status_, numbers_, busy_;
};

}  // namespace vitrine::app
