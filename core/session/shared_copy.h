// A copy of a session that can be given away: what a reader needs to understand the compilation, and nothing
// that the run met besides. It is written anew from a list of what may stay, never by taking things out.
#pragma once

#include <string>

#include "core/base/result.h"

namespace vitrine::session {

// `to` is replaced once the copy is whole; only this user can read it. Errors: `from` as open_session, `to`
// cannot be written, is `from`, or exists and is no session.
Status write_shared_copy(const std::string& from, const std::string& to);

// The copy takes the place of the session.
Status keep_shared_copy_only(const std::string& path);

// The parts of it. Of an absolute path only the last name stays: "…/model.py".
std::string without_folders(const std::string& text);
// What stands in quotes, and in a text of several lines each line's: "has '…'".
std::string without_strings(const std::string& text);

}  // namespace vitrine::session
