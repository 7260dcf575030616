#include "app/shell/welcome/welcome_page.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMouseEvent>
#include <QPainter>
#include <QRegularExpression>

#include "app/jobs/job_runner.h"
#include "app/shell/document/settings.h"
#include "app/shell/welcome/welcome_story.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"

namespace vitrine::app {

using kit::theme;

namespace {

QDir samplesFolder() {
  QDir at(QCoreApplication::applicationDirPath());
  for (int up = 0; up < 4; ++up, at.cdUp())
    if (at.exists("samples")) return QDir(at.filePath("samples"));
  return QDir(QString());
}

// What a beginner sees of the product, one thing each.
constexpr struct {
  const char *file, *about, *icon;
} kFirstSamples[] = {
    {"sin_cos.py", "the smallest run, one kernel", "kernel"},
    {"breaks/print_in_middle.py", "a graph break and what it costs", "scissors"},
    {"sizes/multiplier.py", "a guard fails, a recompilation", "refresh"},
    {"training/focal_loss.py", "gradients, forward and backward", "graph"},
    {"transformer_block.py", "fusion, library kernels, memory", "layers"},
    {"training/whole_step.py", "a whole step with the optimizer", "segment"},
};

constexpr int kKeysRoom = 66;  // of the caps of keys
constexpr int kNameFrom = 26;  // a sample's name, right of its icon
constexpr int kStory = 270;    // the height of what stands below the columns

void heading(QPainter& painter, const QRect& box, const QString& text) {
  kit::drawText(painter, QRect(box.x(), box.y(), box.width(), theme().px(20)), text, theme().ui(13, 600),
                theme().text1);
}

}  // namespace

QList<SampleProgram> samples() {
  QList<SampleProgram> out;
  const QDir folder = samplesFolder();
  if (folder.path().isEmpty()) return out;
  for (const auto& each : kFirstSamples)
    if (const QFileInfo file(folder.filePath(each.file)); file.exists())
      out << SampleProgram{file.absoluteFilePath(), file.fileName(), each.about, each.icon};
  return out;
}

QList<QStringList> welcomeKeys() {
  return {{"Ctrl K", "go to anything, run any command"},
          {", .", "previous and next step"},
          {"[ ]", "along the chain of the active thing"},
          {"F", "show only what belongs to it"},
          {"F1", "all keys"}};
}

WelcomeColumns welcomeColumns(const QList<SampleProgram>& samples, int width) {
  int name = 0, about = 0, keys = 0;
  for (const SampleProgram& each : samples) {
    name = std::max(name, kit::textWidth(theme().mono(12), each.name));
    about = std::max(about, kit::textWidth(theme().ui(12), each.about));
  }
  for (const QStringList& each : welcomeKeys())
    keys = std::max(keys, kit::textWidth(theme().ui(12), each[1]));
  WelcomeColumns out;
  out.gap = theme().px(width < theme().px(1100) ? 28 : 48);
  out.third = std::max(width * 27 / 100, theme().px(kKeysRoom) + keys + 2);
  out.first = width * 31 / 100;
  const int least = theme().px(kNameFrom + 12) + name;  // the samples' names, and beside them what they are
  const int lacking = least + about + 2 - (width - out.first - out.third - 2 * out.gap);
  out.first = std::max(theme().px(210), out.first - std::max(0, lacking));
  out.second = width - out.first - out.third - 2 * out.gap;
  out.about = std::clamp(out.second - about - 2, least, std::max(least, theme().px(210)));
  return out;
}

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent), samples_(samples()) {
  setMouseTracking(true);
  setAccessibleName("Welcome");
  refresh();
}

void WelcomePage::refresh() {
  recent_ = AppSettings::recent();
  update();
}

QSize WelcomePage::minimumSizeHint() const {
  return {theme().px(600), theme().px(400)};
}

void WelcomePage::row(QPainter& painter, const QRect& box, const QString& icon, const QString& name,
                      const QString& about, int about_x, const QString& path) {
  const bool over = hovered_ >= 0 && hovered_ < hits_.size() && hits_[hovered_].path == path;
  if (over) painter.fillRect(box.adjusted(-theme().px(9), 0, theme().px(9), 0), theme().hov);
  kit::drawIcon(painter, icon, QRect(box.x(), box.y() + theme().px(8), theme().px(16), theme().px(16)),
                theme().text2);
  const QRect text(box.x() + theme().px(kNameFrom), box.y(), about_x - theme().px(kNameFrom + 8),
                   box.height());
  kit::drawText(painter, text, name, theme().mono(12), theme().text1, Qt::AlignLeft, kit::Elide::Middle);
  kit::drawText(painter, QRect(box.x() + about_x, box.y(), box.width() - about_x, box.height()), about,
                theme().ui(12), theme().text2);
  hits_ << Hit{box, path};
}

void WelcomePage::paintOpen(QPainter& painter, QRect box) {
  box.setHeight(theme().px(176));
  kit::dashedBox(painter, box, theme().ctl, theme().px(7));
  kit::drawIcon(
      painter, "folder",
      QRect(box.center().x() - theme().px(10), box.y() + theme().px(32), theme().px(20), theme().px(20)),
      theme().text2);
  auto line = [&](int y, const QString& text, const QFont& font, const QColor& colour) {
    kit::drawText(painter, QRect(box.x(), box.y() + theme().px(y), box.width(), theme().px(20)), text, font,
                  colour, Qt::AlignHCenter);
  };
  line(66, "Drop a .py or .vitrine file here", theme().ui(13, 500), theme().text1);
  line(86, "Opening a session never runs code", theme().ui(12), theme().text2);
  const QRect button(box.center().x() - theme().px(56), box.y() + theme().px(116), theme().px(112),
                     theme().px(28));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme().accent);
  painter.drawRoundedRect(button, theme().radius(), theme().radius());
  kit::drawText(painter, button.adjusted(theme().px(12), 0, 0, 0), "Open…", theme().ui(13, 500),
                theme().onAccent);
  kit::drawText(painter, button.adjusted(0, 0, -theme().px(10), 0), "Ctrl O", theme().mono(11),
                theme().onAccent, Qt::AlignRight);
  hits_ << Hit{button, "open"};
}

void WelcomePage::paintComputer(QPainter& painter, QRect box) {
  heading(painter, box, "This computer");
  const QString python = AppSettings::python();
  const QRect link(box.right() - theme().px(130), box.y(), theme().px(130), theme().px(20));
  kit::drawText(painter, link, "Change interpreter…", theme().ui(12), theme().accent, Qt::AlignRight);
  hits_ << Hit{link, "python"};
  const bool found = QFileInfo(python).isExecutable();
  const QList<QStringList> rows = {
      {found ? "check" : "info", "Python", python},
      {"check", "CPU", QStringLiteral("%1 threads").arg(processorCount())},
  };
  int y = box.y() + theme().px(28);
  for (const QStringList& r : rows) {
    kit::drawIcon(painter, r[0], QRect(box.x(), y + theme().px(5), theme().px(14), theme().px(14)),
                  r[0] == "check" ? theme().ok : theme().info);
    kit::drawText(painter, QRect(box.x() + theme().px(22), y, theme().px(80), theme().px(24)), r[1],
                  theme().ui(12), theme().text1);
    kit::drawText(painter, QRect(box.x() + theme().px(106), y, box.width() - theme().px(106), theme().px(24)),
                  r[2], theme().mono(12), theme().text2, Qt::AlignLeft, kit::Elide::Middle);
    y += theme().px(24);
  }
}

void WelcomePage::paintSamples(QPainter& painter, QRect box, int about) {
  heading(painter, box, "Start with a sample");
  int y = box.y() + theme().px(24);
  if (samples_.isEmpty())
    kit::drawText(painter, QRect(box.x(), y, box.width(), theme().px(28)),
                  "No samples folder was found beside the app.", theme().ui(12), theme().text2);
  for (const SampleProgram& each : samples_) {
    row(painter, QRect(box.x(), y, box.width(), theme().px(32)), each.icon, each.name, each.about, about,
        each.path);
    y += theme().px(32);
  }
  if (samples_.isEmpty()) return;
  const QRect all(box.x() + theme().px(26), y, theme().px(120), theme().px(32));
  kit::drawText(painter, all, "All samples…", theme().ui(12), theme().accent);
  hits_ << Hit{all, "samples"};
}

void WelcomePage::paintRecent(QPainter& painter, QRect box) {
  heading(painter, box, "Recent");
  int y = box.y() + theme().px(24);
  if (recent_.isEmpty())
    kit::drawText(painter, QRect(box.x(), y, box.width(), theme().px(28)), "Files you open stand here.",
                  theme().ui(12), theme().text2);
  for (int i = 0; i < recent_.size() && i < 4; ++i, y += theme().px(32))
    row(painter, QRect(box.x(), y, box.width(), theme().px(32)), "file", QFileInfo(recent_[i]).fileName(), "",
        box.width(), recent_[i]);
}

void WelcomePage::paintKeys(QPainter& painter, QRect box) {
  heading(painter, box, "Keys worth knowing");
  int y = box.y() + theme().px(26);
  for (const QStringList& key : welcomeKeys()) {
    const QString& name = key[0];
    const QRect cap(box.x(), y + theme().px(4), kit::textWidth(theme().mono(11), name) + theme().px(10),
                    theme().px(16));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme().nodeLine, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(cap).adjusted(0.5, 0.5, -0.5, -0.5), theme().px(3), theme().px(3));
    kit::drawText(painter, cap, name, theme().mono(11), theme().text2, Qt::AlignHCenter);
    kit::drawText(
        painter,
        QRect(box.x() + theme().px(kKeysRoom), y, box.width() - theme().px(kKeysRoom), theme().px(24)),
        key[1], theme().ui(12), theme().text2);
    y += theme().px(24);
  }
}

void WelcomePage::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg1);
  hits_.clear();
  const int width = std::min(this->width() - theme().px(80), theme().px(1296));
  const int x = (this->width() - width) / 2;
  const bool tall = height() >= theme().px(700);
  int y = theme().px(tall ? 56 : 24);
  kit::drawText(painter, QRect(x, y, width, theme().px(32)), "Watch a model being compiled",
                theme().ui(24, 600), theme().text1);
  kit::drawText(
      painter, QRect(x, y + theme().px(38), width, theme().px(22)),
      "Open a Python file with a PyTorch model and run it, or open a session that was recorded elsewhere.",
      theme().ui(14), theme().text2);
  y += theme().px(tall ? 92 : 76);
  const WelcomeColumns columns = welcomeColumns(samples_, width);
  const QRect first(x, y, columns.first, theme().px(340)),
      second(x + columns.first + columns.gap, y, columns.second, theme().px(340)),
      third(x + width - columns.third, y, columns.third, theme().px(340));
  paintOpen(painter, first);
  paintComputer(painter, first.translated(0, theme().px(196)));
  paintSamples(painter, second, columns.about);
  paintRecent(painter, third);
  paintKeys(painter, third.translated(0, theme().px(180)));
  y += theme().px(360);
  if (height() - y < theme().px(kStory)) return;
  kit::hairline(painter, QPointF(x, y), QPointF(x + width, y), theme().line);
  paintStory(painter, QRect(x, y + theme().px(24), width, height() - y - theme().px(24)));
}

void WelcomePage::paintStory(QPainter& painter, QRect box) {
  kit::drawText(painter, QRect(box.x(), box.y(), box.width(), theme().px(22)),
                "One expression, all the way down", theme().ui(16, 600), theme().text1);
  kit::drawText(
      painter, QRect(box.x(), box.y() + theme().px(25), box.width(), theme().px(20)),
      "Everything keeps its origin. Point at any of these and the others light up; click, and they stay lit.",
      theme().ui(13), theme().text2);
  drawStory(painter, QRect(box.x(), box.y() + theme().px(60), box.width(), theme().px(180)));
}

void WelcomePage::mousePressEvent(QMouseEvent* event) {
  for (const Hit& hit : hits_) {
    if (!hit.box.contains(event->position().toPoint())) continue;
    const QString path = hit.path;
    if (path == "open")
      Q_EMIT openWanted();
    else if (path == "python")
      Q_EMIT pythonWanted();
    else if (path == "samples")
      chooseSample();
    else
      Q_EMIT fileChosen(path);
    return;
  }
}

void WelcomePage::chooseSample() {
  const QString path =
      QFileDialog::getOpenFileName(this, "Open a sample", samplesFolder().path(), "Python (*.py)");
  if (!path.isEmpty()) Q_EMIT fileChosen(path);
}

void WelcomePage::mouseMoveEvent(QMouseEvent* event) {
  hovered_ = -1;
  for (int i = 0; i < hits_.size(); ++i)
    if (hits_[i].box.contains(event->position().toPoint())) hovered_ = i;
  setCursor(hovered_ >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void WelcomePage::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

}  // namespace vitrine::app
