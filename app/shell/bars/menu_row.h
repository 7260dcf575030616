// The top row: menu bar, layout switch, palette field, Run with device and mode (Cancel while running).
#pragma once

#include <QMenuBar>
#include <QPushButton>
#include <QWidget>

#include "views/kit/painting/theme.h"

namespace vitrine::app {

// A row of words, one chosen; a combo when the window is narrow.
class LayoutSwitch : public QWidget {
  Q_OBJECT
 public:
  LayoutSwitch(const QStringList& names, QWidget* parent = nullptr);
  void setNames(const QStringList& names);
  const QStringList& names() const { return names_; }
  void setCurrent(const QString& name);
  void setNarrow(bool narrow);
  QSize sizeHint() const override;

 Q_SIGNALS:
  void chosen(const QString& name);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  QRect box(int index) const;
  QStringList names_;
  QString current_;
  bool narrow_ = false;
};

// Looks like a field, opens the palette.
class PaletteField : public QWidget {
  Q_OBJECT
 public:
  explicit PaletteField(QWidget* parent = nullptr);
  QSize sizeHint() const override;

 Q_SIGNALS:
  void clicked();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
};

class RunButton : public QWidget {
  Q_OBJECT
 public:
  explicit RunButton(QWidget* parent = nullptr);
  enum State { Disabled, Ready, Running, Cancelling };
  void setState(State state);
  void setWhere(const QString& where);  // "cpu · default"
  void setWatching(bool on);            // the files are watched, and recorded again
  QSize sizeHint() const override;

 Q_SIGNALS:
  void clicked();
  void whereClicked();  // the chip beside it

 protected:
  bool event(QEvent* event) override;  // two tooltips
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void enterEvent(QEnterEvent*) override { update(); }
  void leaveEvent(QEvent*) override { update(); }

 private:
  bool onWhere(const QPoint& at) const;
  QString chip() const;
  State state_ = Disabled;
  bool watching_ = false;
  QString where_ = QStringLiteral("cpu · default");
};

class MenuRow : public QWidget {
  Q_OBJECT
 public:
  explicit MenuRow(const QStringList& layouts, QWidget* parent = nullptr);
  QMenuBar* menus;
  LayoutSwitch* layouts;
  PaletteField* palette;
  RunButton* run;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace vitrine::app
