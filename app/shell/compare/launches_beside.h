// What each launch of a session takes beside its counterpart in another: for the two timelines of a
// comparison.
#pragma once

#include "app/shell/compare/comparison.h"
#include "views/timeline/timeline_painter.h"

namespace vitrine::app {

// Of the launches of the session that is the earlier one, or the later. Only of compilations that have a
// counterpart: what is of others is not known to be missing there.
views::LaunchesBeside launchesBefore(const TwoSessions& comparison);
views::LaunchesBeside launchesAfter(const TwoSessions& comparison);

}  // namespace vitrine::app
