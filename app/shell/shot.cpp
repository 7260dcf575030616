#include "app/shell/shot.h"

#include <QApplication>
#include <QEventLoop>
#include <QFileInfo>
#include <QImageWriter>
#include <QPainter>
#include <memory>

#include "app/jobs/job_runner.h"
#include "app/shell/compare/compare_window.h"
#include "app/shell/document/find_entity.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/layouts.h"
#include "app/shell/run/run_dialog.h"
#include "core/session/stages.h"
#include "views/kit/painting/theme.h"
#include "views/registry.h"

namespace vitrine::app {

namespace {

const char* const kUsage =
    "vitrine shot SESSION VIEW OUT.png [--theme light|dark] [--size WxH] [--scale N] [--select NAME] "
    "[--hover NAME] [--layout NAME] [--compare OTHER]";

Status setOption(ShotOptions& o, const QString& name, const QString& value) {
  if (name == "--theme") {
    if (value != "light" && value != "dark")
      return Error{"There is no theme " + value.toStdString() + ".", "Themes: light, dark.", {}};
    o.dark = value == "dark";
  } else if (name == "--size") {
    o.size = QSize(value.section('x', 0, 0).toInt(), value.section('x', 1).toInt());
    if (o.size.width() < 16 || o.size.height() < 16 || o.size.width() > 16384 || o.size.height() > 16384)
      return Error{"The size " + value.toStdString() + " is not usable.", "For example --size 1440x900.", {}};
  } else if (name == "--scale") {
    o.scale = value.toDouble();
    if (!(o.scale >= 0.5 && o.scale <= 4))
      return Error{"The scale " + value.toStdString() + " is not usable.", "From 0.5 to 4.", {}};
  } else if (name == "--select") {
    o.select = value;
  } else if (name == "--hover") {
    o.hover = value;
  } else if (name == "--compare") {
    o.compare = value;
  } else if (name == "--layout") {
    o.layout = value;
  } else {
    return Error{"There is no option " + name.toStdString() + ".", kUsage, {}};
  }
  return std::nullopt;
}

bool isStage(const std::string& name) {
  for (const session::StageInfo& info : session::kStages)
    if (info.name == name) return true;
  return false;
}

std::string knownViews() {
  std::string out = "window (the whole, in a --layout), run-dialog (of a Python file)";
  for (const kit::ViewInfo& info : views::registry())
    if (std::string_view(info.id) != "skeleton") out += std::string(", ") + info.id;
  out += "; two panes: fusion, capture; or a stage:";
  for (const session::StageInfo& info : session::kStages) out += " " + std::string(info.name);
  return out;
}

std::string knownLayouts() {
  std::string out;
  for (const LayoutInfo& layout : layouts())
    out += (out.empty() ? "" : ", ") + layout.name.toLower().toStdString();
  return out;
}

Error nothingCalled(const QString& name) {
  return {"Nothing in the session is called " + name.toStdString() + ".",
          "The name of a node, kernel or module as the window writes it, such as gelu or K2.",
          {}};
}

Status save(QWidget& widget, const ShotOptions& o) {
  QImage image(widget.size() * o.scale, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(o.scale);
  image.fill(kit::theme().bg1);
  widget.render(&image);
  if (!QImageWriter::supportedImageFormats().contains(QFileInfo(o.out).suffix().toLower().toLatin1()))
    return Error{"The picture's name does not say what kind it is.", "Name a .png file.",
                 o.out.toStdString()};
  if (!image.save(o.out))
    return Error{"The picture cannot be written.", "Name a folder that exists and can be written.",
                 o.out.toStdString()};
  return std::nullopt;
}

Status shootView(const ShotOptions& o, const kit::ViewInfo& info, const std::string& stage) {
  auto loaded = kit::SessionData::load(o.session.toStdString());
  if (!loaded) return loaded.error();
  const kit::SessionPtr session = loaded.take();
  JobRunner jobs(nullptr, JobRunner::Mode::Inline);
  kit::SelectionModel model(&jobs);
  std::unique_ptr<kit::View> view(info.factory(&jobs, nullptr));
  QObject::connect(&model, &kit::SelectionModel::changed, view.get(), &kit::View::setSelection);
  QObject::connect(view.get(), &kit::View::filmWanted, &model, &kit::SelectionModel::setFilm);
  view->setAttribute(Qt::WA_DontShowOnScreen);
  view->resize(o.size.isEmpty() ? QSize(900, 600) : o.size);
  view->setStage(stage);
  model.setSession(session);
  view->setSession(session);
  view->show();
  const Id select = o.select.isEmpty() ? 0 : findEntity(*session, o.select, stage);
  if (!o.select.isEmpty() && !select) return nothingCalled(o.select);
  if (select) {
    kit::Film film;
    film.compilation = session->compilationOf(select);
    model.setFilm(film);
    model.setActive(select);
  }
  if (!o.hover.isEmpty()) model.setHover(findEntity(*session, o.hover, stage));
  jobs.settle();
  if (select) view->reveal(select);
  model.flush();
  jobs.settle();
  return save(*view, o);
}

Status shootWindow(const ShotOptions& o) {
  MainWindow window(nullptr, JobRunner::Mode::Inline);
  window.setAttribute(Qt::WA_DontShowOnScreen);
  window.resize(o.size.isEmpty() ? QSize(1440, 900) : o.size);
  window.show();
  if (!o.session.isEmpty() && o.session != "-") {
    if (Status bad = window.openSync(o.session)) return bad;
    if (!o.layout.isEmpty() && !window.chooseLayout(o.layout))
      return Error{"There is no layout called " + o.layout.toStdString() + ".",
                   "Layouts: " + knownLayouts() + ".",
                   {}};
    if (!o.select.isEmpty() && !window.activateText(o.select)) return nothingCalled(o.select);
    if (!o.hover.isEmpty()) window.hoverText(o.hover);
  }
  window.settle();
  return save(window, o);
}

// The session is a Python file; --select names the entry.
Status shootRunDialog(const ShotOptions& o) {
  RunDialog dialog(
      RunRequest::of(o.session, o.select.isEmpty() ? QStringList() : QStringList{"--entry=" + o.select}), {},
      nullptr);
  dialog.setAttribute(Qt::WA_DontShowOnScreen);
  QEventLoop wait;
  QObject::connect(&dialog, &RunDialog::contentsRead, &wait, &QEventLoop::quit);
  if (dialog.contents().entries.isEmpty()) wait.exec();
  dialog.QDialog::show();
  if (!o.size.isEmpty()) dialog.resize(o.size);
  return save(dialog, o);
}

// --layout names the page: graphs, kernels, timelines.
Status shootComparison(const ShotOptions& o) {
  CompareWindow window(nullptr, JobRunner::Mode::Inline);
  window.setAttribute(Qt::WA_DontShowOnScreen);
  window.resize(o.size.isEmpty() ? QSize(1440, 900) : o.size);
  window.QWidget::show();
  window.open(o.session, o.compare);
  window.settle();
  if (!window.comparison()) return Error{window.banner()->text().toStdString(), "", o.compare.toStdString()};
  if (!o.layout.isEmpty() && !window.showPage(o.layout))
    return Error{
        "There is no page called " + o.layout.toStdString() + ".", "Pages: graphs, kernels, timelines.", {}};
  window.settle();
  return save(window, o);
}

}  // namespace

Result<ShotOptions> parseShot(const QStringList& arguments) {
  ShotOptions o;
  QStringList places;
  for (int i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].startsWith("--")) {
      places << arguments[i];
    } else if (i + 1 < arguments.size()) {
      if (Status bad = setOption(o, arguments[i], arguments[i + 1])) return *bad;
      ++i;
    } else {
      return Error{"A value is missing after " + arguments[i].toStdString() + ".", kUsage, {}};
    }
  }
  if (places.size() != 3) return Error{"A shot needs a session, a view and a file to write.", kUsage, {}};
  o.session = places[0];
  o.view = places[1];
  o.out = places[2];
  return o;
}

std::string shotUsage() {
  return std::string(kUsage) + "\n  Views: " + knownViews() + "\n  Layouts: " + knownLayouts();
}

Status takeShot(const ShotOptions& o) {
  AppSettings::ignoreStored();
  kit::Theme theme = kit::Theme::make(o.dark);
  theme.motion = false;
  kit::applyTheme(*qApp, theme);
  if (!o.compare.isEmpty()) return shootComparison(o);
  if (o.view == "window") return shootWindow(o);
  if (o.view == "run-dialog") return shootRunDialog(o);
  const std::string name = o.view.toStdString();
  const bool stage = isStage(name);
  const kit::ViewInfo* info = views::viewInfo(name);
  if (!info && stage) info = views::viewForStage(name);
  if (!info &&
      layoutNamed(o.view).has_value()) {  // fusion, capture: two panes side by side and what belongs to them
    ShotOptions window = o;
    window.layout = o.view;
    return shootWindow(window);
  }
  if (!info)
    return Error{"There is no view called " + o.view.toStdString() + ".", "Views: " + knownViews() + ".", {}};
  const std::string stages = info->stages;
  const std::string first = stages.substr(0, stages.find(' '));
  return shootView(o, *info, stage ? name : name == "graph" ? "optimised" : first);
}

}  // namespace vitrine::app
