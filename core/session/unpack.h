// Compressed texts of a session: what a frame claims is checked before memory is taken for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine::session {

// The unpacked text, which must have that many bytes; nothing where it has not, or the frame is damaged.
// Memory grows with what comes out, never with what is claimed.
std::optional<std::string> unpack(std::string_view packed, int64_t bytes);

}  // namespace vitrine::session
