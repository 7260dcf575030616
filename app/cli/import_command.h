// `vitrine import PATH`: what another tool recorded, as a session.
#pragma once

#include <string>

namespace vitrine::cli {

// output "": NAME.vitrine here. Exit status: 0; 1 it cannot be imported.
int import_command(const std::string& path, const std::string& output);

// The session that a command is to read: the path itself, or, where it is another tool's, a session in the
// cache folder that it is imported into. On failure it says why and gives "".
std::string session_for(const std::string& path);

}  // namespace vitrine::cli
