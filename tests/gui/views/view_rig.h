// One view on the fixture session, wired to a selection as the window wires it, and shown offscreen.
#pragma once

#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include "app/jobs/job_runner.h"
#include "tests/gui/fixture/fixture_session.h"
#include "views/kit/selection/selection.h"
#include "views/kit/view.h"

namespace vitrine::fixture {

// The fixture, written once a program.
struct Loaded {
  explicit Loaded(int copies = 1) {
    const std::string path = folder.filePath("a.vitrine").toStdString();
    ids = writeSession(path, copies);
    auto loaded = kit::SessionData::load(path);
    if (!loaded) qFatal("%s", loaded.error().what.c_str());
    session = loaded.value();
  }
  QTemporaryDir folder;
  Ids ids;
  kit::SessionPtr session;
};

template <class V>
class Rig {
 public:
  template <class... Args>
  Rig(const kit::SessionPtr& session, const char* stage, QSize size, Args&&... args)
      : model(&jobs), view(std::forward<Args>(args)..., &jobs, nullptr) {
    model.setSession(session);
    QObject::connect(&model, &kit::SelectionModel::changed, &view,
                     [this](const kit::Selection& s, unsigned mask) { view.setSelection(s, mask); });
    QObject::connect(&view, &kit::View::activate, &model, [this](Id id) { model.setActive(id); });
    QObject::connect(&view, &kit::View::hover, &model, [this](Id id) { model.setHover(id); });
    QObject::connect(&view, &kit::View::toggle, &model, [this](Id id) { model.toggle(id); });
    QObject::connect(&view, &kit::View::selectAll, &model,
                     [this](const std::vector<Id>& ids) { model.setSelected(ids); });
    QObject::connect(&view, &kit::View::filmWanted, &model, [this](const kit::Film& f) { model.setFilm(f); });
    QObject::connect(&view, &kit::View::rangeWanted, &model,
                     [this](const kit::TimeRange& r) { model.setRange(r); });
    view.resize(size);
    view.setStage(stage);
    view.setSession(session);
    view.show();
    settle();
  }
  // Everything pending is done and painted on return.
  void settle() {
    for (int i = 0; i < 3; ++i) {
      model.flush();
      QCoreApplication::processEvents();
      jobs.settle();
    }
    view.grab();
  }
  void activate(Id id) {
    model.setActive(id);
    settle();
  }
  void film(const kit::Film& film) {
    model.setFilm(film);
    settle();
  }

  app::JobRunner jobs;
  kit::SelectionModel model;
  V view;
};

}  // namespace vitrine::fixture
