// The tree of Runs as values: run, frame, segment, break, compilation, kernel.
#pragma once

#include <vector>

#include "views/kit/item_model.h"
#include "views/kit/session_data.h"

namespace vitrine::views {

std::vector<kit::Item> runItems(const kit::SessionData& session);

}  // namespace vitrine::views
