// What is held at the peaks, or at one moment, as rows of a table.
#pragma once

#include "views/kit/tables/item_model.h"
#include "views/memory/memory_use.h"

namespace vitrine::views {

std::vector<kit::Column> memory_columns(const kit::SessionData& data, const MemoryUse& use);
// at: the moment; -1: each side at its own peak.
std::vector<kit::Item> memory_items(const kit::SessionData& data, const MemoryUse& use, int64_t at);

// "compiled 18.9 MB, eager 28.3 MB at their peaks (0.67×)".
QString memory_summary(const MemoryUse& use);

}  // namespace vitrine::views
