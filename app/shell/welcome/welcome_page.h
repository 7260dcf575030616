// What stands in the window before anything is open: open or drop a file, samples, recent files, keys, and
// what the window will show.
#pragma once

#include <QWidget>

namespace vitrine::app {

struct SampleProgram {
  QString path, name, about, icon;
};
// Those of samples/, beside the app or in its source tree, that show one thing each.
QList<SampleProgram> samples();

// Where the columns of a page of a width begin and end. What is written in them has room from 1024 on.
struct WelcomeColumns {
  int first = 0, second = 0, third = 0;  // widths
  int gap = 0;
  int about = 0;  // where in the second what is said of a sample begins
};
WelcomeColumns welcomeColumns(const QList<SampleProgram>& samples, int width);

// Of keys worth knowing: the keys, what they do.
QList<QStringList> welcomeKeys();

class WelcomePage : public QWidget {
  Q_OBJECT
 public:
  explicit WelcomePage(QWidget* parent = nullptr);
  void refresh();  // recent files
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void openWanted();
  void fileChosen(const QString& path);
  void pythonWanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override { update(); }

 private:
  struct Hit {
    QRect box;
    QString path;  // a file, or "open", "python"
  };
  void chooseSample();
  void paintOpen(QPainter& painter, QRect box);
  void paintComputer(QPainter& painter, QRect box);
  void paintSamples(QPainter& painter, QRect box, int about);
  void paintRecent(QPainter& painter, QRect box);
  void paintKeys(QPainter& painter, QRect box);
  void paintStory(QPainter& painter, QRect box);
  void row(QPainter& painter, const QRect& box, const QString& icon, const QString& name,
           const QString& about, int about_x, const QString& path);

  QList<SampleProgram> samples_;
  QStringList recent_;
  QList<Hit> hits_;
  int hovered_ = -1;
};

}  // namespace vitrine::app
