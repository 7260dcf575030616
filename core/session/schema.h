// The SQL of a session: what the writer creates, and what the reader finds before it asks anything else.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

struct sqlite3;

namespace vitrine::session {

inline constexpr std::array<const char*, 9> kIndexes = {
    "CREATE INDEX link_origin ON link(origin)",
    "CREATE INDEX link_derived ON link(derived)",
    "CREATE INDEX node_graph ON node(graph)",
    "CREATE INDEX edge_graph ON edge(graph)",
    "CREATE INDEX step_compilation ON step(compilation)",
    "CREATE INDEX instruction_code ON instruction(code)",
    "CREATE INDEX range_kernel ON kernel_range(kernel)",
    "CREATE UNIQUE INDEX meta_key ON meta(key)",
    "CREATE UNIQUE INDEX stage_key ON stage(compilation, name)",
};

// By table, the columns that the file has; a session of before a column lacks it.
using Columns = std::map<std::string, std::vector<std::string>, std::less<>>;

// The schema must be one that a Vitrine writes: tables of rows.h with plain columns, the indexes above, and
// nothing else. A trigger, a view, a default or a constraint would be SQL of the file's author, which SQLite
// runs while we read. Errors: what does not belong there, with its name.
Result<Columns> check_schema(sqlite3* db);

}  // namespace vitrine::session
