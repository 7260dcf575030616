// How SQLite reaches the files of a session: through a layer that keeps it away from everything but the
// session and its log. A rollback journal beside a session is never looked at: Vitrine writes none, and one
// of a stranger's may name any file for SQLite to delete.
#pragma once

#include <string>

namespace vitrine::session {

// The name under which SQLite knows the layer, for sqlite3_open_v2; nullptr: it could not be registered.
const char* guarded_files();

// What sqlite3_open_v2 takes for a file that is open for reading already: that one is read, whatever its name
// leads to by now, and nothing beside it. It is taken as it is: no log, no lock, no change. The descriptor
// may be closed once SQLite has it.
std::string name_of_descriptor(int descriptor);

}  // namespace vitrine::session
