// The tree of Runs as values: run, frame, segment, break, compilation, kernel.
#pragma once

#include <vector>

#include "views/kit/session/session_data.h"
#include "views/kit/tables/item_model.h"

namespace vitrine::views {

std::vector<kit::Item> runItems(const kit::SessionData& session);

}  // namespace vitrine::views
