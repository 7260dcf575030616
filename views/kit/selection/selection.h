// The one selection: active, selected and hovered things in stable ids, the film's position and the
// relatives. The model merges all changes of one event-loop turn into one `changed`; hover at most once a
// frame.
#pragma once

#include <QObject>
#include <QRect>
#include <QString>
#include <QTimer>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "views/kit/selection/jobs.h"
#include "views/kit/selection/relatives.h"

namespace vitrine::kit {

// Where stepping stands. `compilation` says what all views show; the rest is 0 until stepped to.
struct Film {
  Id run = 0, compilation = 0;
  Id graph = 0;     // snapshot after a pass, of its own stage; other stages show their last snapshot
  Id step = 0;      // capture step (instruction); 0 = the end of the capture
  Id decision = 0;  // fusion decision
  Id launch = 0;    // entry of the launch plan
  Id rewrite = 0;   // single rewrite of the pass that led to `graph`, by the node that it was applied to

  bool operator==(const Film&) const = default;
};

struct TimeRange {
  int64_t from_ns = 0, to_ns = 0;  // empty when equal
  bool operator==(const TimeRange&) const = default;
};

struct Selection {
  Id active = 0;  // 0 = none
  std::vector<Id> selected;
  Id hover = 0;
  Film film;
  TimeRange range;
  RelativesPtr relatives;       // of active; null until the job has found them
  RelativesPtr hoverRelatives;  // of hover
  bool onlyRelatives = false;   // the user asked to dim the rest (F)
  bool linkColours = true;      // of Python and its kernel (L)

  bool isSelected(Id id) const;
  // How `id` is drawn: ring for the active thing and what stems from it alone, outline for selected or
  // shared.
  Emphasis mark(Id id) const;
  bool isHovered(Id id) const {
    return id && (id == hover || (hoverRelatives && hoverRelatives->contains(id)));
  }
  bool isRelative(Id id) const { return id == active || (relatives && relatives->contains(id)); }
};

// The thing that a view which `has` some ids shows for `id`: itself, else its nearest relative there; 0 =
// none. What became of it comes first, or what it came from. Only of the active thing are the relatives
// known.
enum class Toward { Derived, Origins };
template <class Has>
Id nearestShown(const Selection& selection, Id id, Toward first, Has has) {
  if (!id || has(id)) return id;
  if (!selection.relatives || selection.active != id) return 0;
  const auto &derived = selection.relatives->derived, &origins = selection.relatives->origins;
  for (const auto* list :
       first == Toward::Derived ? std::array{&derived, &origins} : std::array{&origins, &derived})
    for (Id near : *list)
      if (has(near)) return near;
  return 0;
}

// A thing in sight, for screen readers; box in the view's coordinates.
struct Thing {
  Id id = 0;
  QRect box;
};

enum Change : unsigned {
  ChangeActive = 1,
  ChangeSelected = 2,
  ChangeHover = 4,  // hover or its relatives
  ChangeFilm = 8,
  ChangeRelatives = 16,
  ChangeRange = 32,
  ChangeOnly = 64,
  ChangeAll = 127,
};
using ChangeMask = unsigned;

class SelectionModel : public QObject {
  Q_OBJECT
 public:
  explicit SelectionModel(Jobs* jobs, QObject* parent = nullptr);

  const Selection& selection() const { return now_; }
  void setSession(SessionPtr session);  // ids that are gone are dropped

  void setActive(Id id);  // replaces the selected set by {id}; 0 = none active
  void toggle(Id id);     // adds to or removes from the selected set; the active thing stays
  void setSelected(std::vector<Id> ids);
  void setHover(Id id);
  void setFilm(const Film& film);
  void setRange(TimeRange range);
  void setOnlyRelatives(bool on);
  void setLinkColours(bool on);
  void flush();  // delivers pending changes now (tests, shots)

 Q_SIGNALS:
  void changed(const vitrine::kit::Selection& selection, unsigned mask);

 private:
  void mark(ChangeMask mask);
  void findRelatives(Id id, const char* tag, RelativesPtr Selection::* field, ChangeMask mask);

  Jobs* jobs_;
  SessionPtr session_;
  Selection now_;
  ChangeMask pending_ = 0;
  QTimer turn_, frame_;
};

}  // namespace vitrine::kit
