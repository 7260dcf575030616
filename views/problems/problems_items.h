// Problems as values: errors, outputs that differ, slower than eager, breaks, recompilations, skipped frames;
// what to fix first stands first.
#pragma once

#include <vector>

#include "views/kit/session/session_data.h"
#include "views/kit/tables/item_model.h"

namespace vitrine::views {

std::vector<kit::Item> problemItems(const kit::SessionData& session);
std::vector<kit::Column> problemColumns();

// What is said where there are none: what was looked at, and what was not.
QString noProblems(const kit::SessionData& session);

}  // namespace vitrine::views
