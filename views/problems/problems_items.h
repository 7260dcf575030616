// Problems as values: errors, outputs that differ, slower than eager, breaks, recompilations, skipped frames;
// what to fix first stands first.
#pragma once

#include <vector>

#include "views/kit/item_model.h"
#include "views/kit/session_data.h"

namespace vitrine::views {

std::vector<kit::Item> problemItems(const kit::SessionData& session);
std::vector<kit::Column> problemColumns();

}  // namespace vitrine::views
