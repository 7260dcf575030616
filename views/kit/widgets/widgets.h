// Small widgets that panes and docks are made of: header bar, banner, empty state, progress line, buttons.
#pragma once

#include <QAbstractButton>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QWidget>

#include "views/kit/painting/theme.h"

namespace vitrine::kit {

// 24 x 24, icon only; the tooltip says what it does and its key.
QToolButton* iconButton(const QString& icon, const QString& tooltip, QWidget* parent = nullptr);
// A flat combo of the header: "Colour: family ⌄".
class MenuButton : public QToolButton {
  Q_OBJECT
 public:
  MenuButton(const QString& prefix, const QStringList& choices, QWidget* parent = nullptr);
  int current() const { return current_; }
  void setCurrent(int index);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;  // without the prefix

 Q_SIGNALS:
  void chosen(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString label() const;
  QString prefix_;
  QStringList choices_;
  int current_ = 0;
};

// A field with a magnifier or funnel, 24 high.
QLineEdit* searchField(const QString& placeholder, const QString& icon = "search", QWidget* parent = nullptr);

// Title, sub-title, controls: 28 high. With a letter it is the header of pane A or B.
class HeaderBar : public QWidget {
  Q_OBJECT
 public:
  explicit HeaderBar(QWidget* parent = nullptr);
  void setTitle(const QString& title, const QString& subtitle);
  void setLetter(QChar letter);  // 'A', 'B' or null
  void setControls(const QList<QWidget*>& controls);
  void setFocused(bool focused);  // 2 px accent line above, after a key
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void titleClicked();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  int textLeft() const;
  QString title_, subtitle_;
  QChar letter_;
  bool focused_ = false;
  void makeRoom();
  QWidget* controls_ = nullptr;
};

// On top of a pane: the user's error (Tone::Err) or ours (Tone::Warn), with links as actions.
class Banner : public QWidget {
  Q_OBJECT
 public:
  explicit Banner(QWidget* parent = nullptr);
  // actions: "title" and the command each requests; "" hides the banner.
  void show(Tone tone, const QString& text, const QString& detail = {},
            const QList<QPair<QString, QString>>& actions = {});
  void clear();
  QString text() const { return text_; }

 Q_SIGNALS:
  void commandRequested(const QString& id);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QString text_;
  QList<QPair<QString, QString>> offered_;  // title and command, by link
  QList<QLabel*> links_;
  Tone tone_ = Tone::None;
  QLabel *title_, *detail_;
  QWidget* actions_;
};

// One sentence on what would stand here and why it does not, and one link to the next act.
class EmptyState : public QWidget {
  Q_OBJECT
 public:
  explicit EmptyState(QWidget* parent = nullptr);
  void set(const QString& sentence, const QString& link = {}, const QString& command = {});
  QString sentence() const { return sentence_; }

 Q_SIGNALS:
  void commandRequested(const QString& id);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  QString sentence_, link_, command_;
  QLabel* label_;
};

// 2 px under a header or a stage's cell; part < 0 hides it.
void drawProgress(QPainter& painter, const QRect& box, double part);

}  // namespace vitrine::kit
