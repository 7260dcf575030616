// What another tool's record has something to show of: its window opens on that, and on nothing empty.
#pragma once

#include "app/shell/panes/centre.h"

namespace vitrine::app {

// what: a stage, or "view:<id>" as panes have it; a view's id as docks have it.
bool holds(const kit::SessionData& data, const std::string& what);

// The columns without the panes for which there is nothing; all of them, where that would leave none. One of
// those that are left has the letter A.
std::vector<ColumnSpec> heldColumns(const kit::SessionData& data, std::vector<ColumnSpec> columns);

}  // namespace vitrine::app
