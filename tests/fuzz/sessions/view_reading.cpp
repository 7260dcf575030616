#include "tests/fuzz/sessions/view_reading.h"

#include <QApplication>
#include <QObject>
#include <memory>
#include <sstream>
#include <vector>

#include "app/jobs/job_runner.h"
#include "views/kit/selection/selection.h"
#include "views/registry.h"

namespace vitrine::fuzz {

namespace {

constexpr QSize kSize(700, 450);

std::vector<std::string> stages_of(const kit::ViewInfo& info) {
  std::istringstream words{std::string(info.stages)};
  std::vector<std::string> out;
  for (std::string word; words >> word;) out.push_back(word);
  if (out.empty()) out.emplace_back("");
  return out;
}

// The first and last thing of each kind that can be active.
std::vector<Id> some_things(const kit::SessionData& s) {
  std::vector<Id> out{0};
  auto both = [&out](const auto& table) {
    if (table.all().empty()) return;
    out.push_back(table.all().front().id);
    out.push_back(table.all().back().id);
  };
  both(s.nodes);
  both(s.kernels);
  both(s.compilations);
  both(s.breaks);
  both(s.launches);
  both(s.instructions);
  both(s.spans);
  return out;
}

void settle(app::JobRunner& jobs, kit::SelectionModel& model) {
  jobs.settle();
  model.flush();
  jobs.settle();
}

void paint(const kit::SessionPtr& session, const kit::ViewInfo& info, const std::string& stage,
           const std::vector<Id>& things) {
  app::JobRunner jobs(nullptr, app::JobRunner::Mode::Inline);
  kit::SelectionModel model(&jobs);
  std::unique_ptr<kit::View> view(info.factory(&jobs, nullptr));
  QObject::connect(&model, &kit::SelectionModel::changed, view.get(), &kit::View::setSelection);
  QObject::connect(view.get(), &kit::View::filmWanted, &model, &kit::SelectionModel::setFilm);
  view->setAttribute(Qt::WA_DontShowOnScreen);
  view->resize(kSize);
  view->setStage(stage);
  model.setSession(session);
  view->setSession(session);
  view->show();
  for (const Id id : things) {
    kit::Film film;
    film.compilation = session->compilationOf(id);
    model.setFilm(film);
    model.setActive(id);
    settle(jobs, model);
    view->reveal(id);
    view->spoken(id);
  }
  settle(jobs, model);
  QImage image(kSize, QImage::Format_ARGB32_Premultiplied);
  view->render(&image);
  view->copy(kit::CopyAs::Csv);
}

}  // namespace

size_t paint_part(const std::string& path, uint64_t part, uint64_t parts) {
  auto loaded = kit::SessionData::load(path);
  if (!loaded) return 0;
  const kit::SessionPtr session = loaded.take();
  const std::vector<Id> things = some_things(*session);
  size_t painted = 0;
  uint64_t at = 0;
  for (const kit::ViewInfo& info : views::registry()) {
    for (const std::string& stage : stages_of(info)) {
      if (at++ % parts != part % parts) continue;
      paint(session, info, stage, things);
      ++painted;
    }
  }
  return painted;
}

size_t paint_everything(const std::string& path) {
  return paint_part(path, 0, 1);
}

}  // namespace vitrine::fuzz
