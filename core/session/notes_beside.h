// The file of notes beside a session that is not ours, `x.vitrine-notes`, or in the state folder where the
// session's folder cannot be written. It may come from whoever sent the session: its size and its words are
// checked like those of the session.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace vitrine::session {

// By thing; nothing in place of a text: the session's own note is taken away.
using NotesBeside = std::map<Id, std::optional<std::string>>;

bool has_notes_beside(const std::string& path);

// What is damaged, too large or of another session (`created`: its time of recording) counts as none.
NotesBeside read_notes_beside(const std::string& path, const std::string& created);
Status write_notes_beside(const std::string& path, const std::string& created, const NotesBeside& notes);

}  // namespace vitrine::session
