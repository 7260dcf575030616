// Which session files this user recorded on this machine, or said to trust. Notes of it stand in the user's
// state folder (XDG_STATE_HOME/vitrine/recorded, mode 0700), never in the session: whatever stands in a
// session can be copied out of one that was shared, so that a secret or a number in it proves nothing of the
// rest.
//
// While a file is written it is known by its inode and the time of its birth. When it is closed, the digest
// of its content is kept: it stays ours when it is moved or copied, and is a stranger's as soon as one byte
// is another. Beside the digest stand the times of the file, which nobody can set back, so that an opening
// reads it once only. Where there is no folder to write to, nothing is known and every session is a
// stranger's.
#pragma once

#include <string>

namespace vitrine::session {

// A writer has just made the file, and goes on with it until mark_recorded.
void mark_being_recorded(const std::string& path);
bool being_recorded(const std::string& path);
void forget_being_recorded(const std::string& path);

// The file is closed and as it is now it is ours.
void mark_recorded(const std::string& path);
// By a descriptor that was opened for reading. It is moved to the end of the file.
bool is_recorded(int descriptor);

}  // namespace vitrine::session
