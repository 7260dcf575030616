// The chain of the active thing, one link a stage, from the Python expression to the timeline.
#pragma once

#include <QString>
#include <vector>

#include "views/kit/selection/selection.h"

namespace vitrine::kit {

struct ChainLink {
  QString stage;      // "source", "optimised", "kernel"
  QString text;       // "32:12 F.gelu(…)", "add_2, gelu", "K2 99–103"
  Id id = 0;          // becomes active on a click
  bool ring = false;  // the one that is active
  QString icon;
  std::vector<Id> ids;  // all that stand behind the link
};

// Empty when nothing is active. Uses selection.relatives; while they are not known, the active thing alone.
std::vector<ChainLink> chainOf(const SessionData& session, const Selection& selection);

}  // namespace vitrine::kit
