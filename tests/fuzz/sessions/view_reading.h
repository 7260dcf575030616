// All that is done with a session when somebody opens it in the window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vitrine::fuzz {

// Loads the session and paints every view in each of its stages, with nothing and with some things selected.
// Needs a QApplication. Returns how many views were painted; 0 when the file was refused.
size_t paint_everything(const std::string& path);

// As paint_everything, of one view in `parts`.
size_t paint_part(const std::string& path, uint64_t part, uint64_t parts);

}  // namespace vitrine::fuzz
