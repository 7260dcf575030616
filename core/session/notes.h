// Notes and bookmarks of the reader: in the session where it was recorded here, else in a file beside it.
// Nothing is ever written into a stranger's session.
#pragma once

#include <map>
#include <string>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace vitrine::session {

// A bookmark is a note without words. In `meta` a note stands as "note:<id>" = text, a bookmark as "".
std::map<Id, std::string> notes_of(const std::map<std::string, std::string>& meta);

// Puts what stands beside the session into its `meta`, as if it stood there.
void add_notes_beside(const std::string& path, std::map<std::string, std::string>& meta);

// Sets the note on a thing, replacing the one before. Errors: the file cannot be written, is no session, or
// an engine still records into it.
Status write_note(const std::string& path, Id id, const std::string& text);
Status remove_note(const std::string& path, Id id);

}  // namespace vitrine::session
