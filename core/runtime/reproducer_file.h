// Where reproducers go, and what is told once a process.
#pragma once

#include <string>

namespace vitrine::runtime {

// Whether this process has not asked it of that text before: of the machine's state is told once.
bool first_time(const std::string& text);

// Writes a text into the folder of reproducers, named by its content: the same problem again writes the same
// file. Path, or "" where there is no place that is this user's alone.
std::string write_reproducer(const std::string& dir, const std::string& name, const std::string& content);

}  // namespace vitrine::runtime
