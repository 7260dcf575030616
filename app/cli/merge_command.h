// `vitrine merge`: the sessions of a program's ranks as one.
#pragma once

#include <string>
#include <vector>

namespace vitrine::cli {

// output "": NAME.ranks.vitrine beside the first. Exit status: 0; 1 they cannot be merged.
int merge_command(const std::vector<std::string>& sessions, const std::string& output);

}  // namespace vitrine::cli
