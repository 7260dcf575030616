// All that is done with a session when somebody looks at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vitrine::fuzz {

// Prints every stage and table of the session, as text and as JSON, and all summaries.
// Returns how many characters that were; 0 when the file was refused.
size_t print_everything(const std::string& path);

// As print_everything, of one part in `parts`: a fuzzer learns more from many files than from all of one.
size_t print_part(const std::string& path, uint64_t part, uint64_t parts);

// Writes the copy of it that can be given away. false: it is refused.
bool copy_to_share(const std::string& path);

}  // namespace vitrine::fuzz
