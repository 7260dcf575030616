// Every table of the application: one row each. The builders stand in <group>_tables.cpp.
#pragma once

#include "views/tables/table_view.h"

namespace vitrine::views {

extern const TableSpec kBreaksTable, kGuardsTable, kRecompilationsTable;  // capture_tables.cpp
extern const TableSpec kKernelsTable, kChoicesTable;                      // kernel_table.cpp
extern const TableSpec kDecisionsTable, kMissedTable;                     // decision_table.cpp
extern const TableSpec kLaunchesTable, kMemoryTable, kBecameTable;        // program_tables.cpp
extern const TableSpec kSavedTable;                                       // training_tables.cpp
extern const TableSpec kNotesTable;                                       // notes_table.cpp
extern const TableSpec kTotalsTable;                                      // totals_table.cpp
extern const TableSpec kSymbolsTable;                                     // symbol_table.cpp

// For the registry.
template <const TableSpec& spec>
kit::View* make_table(kit::Jobs* jobs, QWidget* parent) {
  return new TableView(spec, jobs, parent);
}

}  // namespace vitrine::views
