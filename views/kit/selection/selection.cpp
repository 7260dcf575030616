#include "views/kit/selection/selection.h"

#include <algorithm>

namespace vitrine::kit {

namespace {
constexpr int kFrameMs = 16;
}

bool Selection::isSelected(Id id) const {
  return std::find(selected.begin(), selected.end(), id) != selected.end();
}

Emphasis Selection::mark(Id id) const {
  if (!id) return Emphasis::None;
  if (id == active || (relatives && relatives->only.contains(id))) return Emphasis::Ring;
  if (isSelected(id) || (relatives && relatives->shared.contains(id))) return Emphasis::Outline;
  return Emphasis::None;
}

SelectionModel::SelectionModel(Jobs* jobs, QObject* parent) : QObject(parent), jobs_(jobs) {
  for (QTimer* timer : {&turn_, &frame_}) {
    timer->setSingleShot(true);
    connect(timer, &QTimer::timeout, this, &SelectionModel::flush);
  }
  turn_.setInterval(0);
  frame_.setInterval(kFrameMs);
}

void SelectionModel::setSession(SessionPtr session) {
  const bool same = session && session_ && session->path == session_->path;
  session_ = std::move(session);
  if (!same) {
    const bool colours = now_.linkColours;  // how the user likes to read, not of the session
    now_ = Selection{};
    now_.linkColours = colours;
    mark(ChangeAll);
    return;
  }
  // The run went on: what is active may have more relatives now.
  findRelatives(now_.active, "relatives", &Selection::relatives, ChangeRelatives);
}

void SelectionModel::mark(ChangeMask mask) {
  pending_ |= mask;
  if (pending_ & ~ChangeHover) {
    if (!turn_.isActive()) turn_.start();
  } else if (pending_ && !frame_.isActive()) {
    frame_.start();
  }
}

void SelectionModel::flush() {
  turn_.stop();
  frame_.stop();
  if (ChangeMask mask = std::exchange(pending_, 0)) Q_EMIT changed(now_, mask);
}

void SelectionModel::findRelatives(Id id, const char* tag, RelativesPtr Selection::* field, ChangeMask mask) {
  if (!id || !session_) {
    jobs_->cancel(tag);
    return;
  }
  jobs_->run<RelativesPtr>(
      this, tag,
      [session = session_, id](const Cancel&) {
        return std::make_shared<const Relatives>(relativesOf(*session, id));
      },
      [this, field, mask](RelativesPtr found) {
        now_.*field = std::move(found);
        this->mark(mask);
      });
}

void SelectionModel::setActive(Id id) {
  std::vector<Id> selected = id ? std::vector<Id>{id} : std::vector<Id>{};
  if (id == now_.active && selected == now_.selected) return;
  const bool moved = id != now_.active;
  now_.active = id;
  now_.selected = std::move(selected);
  mark(ChangeActive | ChangeSelected);
  if (!moved) return;
  now_.relatives.reset();
  mark(ChangeRelatives);
  findRelatives(id, "relatives", &Selection::relatives, ChangeRelatives);
}

void SelectionModel::toggle(Id id) {
  if (!id) return;
  auto it = std::find(now_.selected.begin(), now_.selected.end(), id);
  if (it == now_.selected.end())
    now_.selected.push_back(id);
  else
    now_.selected.erase(it);
  mark(ChangeSelected);
}

void SelectionModel::setSelected(std::vector<Id> ids) {
  if (ids == now_.selected) return;
  now_.selected = std::move(ids);
  mark(ChangeSelected);
}

void SelectionModel::setHover(Id id) {
  if (id == now_.hover) return;
  now_.hover = id;
  now_.hoverRelatives.reset();
  mark(ChangeHover);
  findRelatives(id, "hover relatives", &Selection::hoverRelatives, ChangeHover);
}

void SelectionModel::setFilm(const Film& film) {
  Film next = film;
  if (session_ && next.compilation) next.run = session_->runOf(next.compilation);  // the two never disagree
  if (next == now_.film) return;
  now_.film = next;
  mark(ChangeFilm);
}

void SelectionModel::setRange(TimeRange range) {
  if (range == now_.range) return;
  now_.range = range;
  mark(ChangeRange);
}

void SelectionModel::setOnlyRelatives(bool on) {
  if (on == now_.onlyRelatives) return;
  now_.onlyRelatives = on;
  mark(ChangeOnly);
}

void SelectionModel::setLinkColours(bool on) {
  if (on == now_.linkColours) return;
  now_.linkColours = on;
  mark(ChangeOnly);
}

}  // namespace vitrine::kit
