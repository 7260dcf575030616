// Files of other tools, read whole and bounded.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::importing {

// The content; what is packed by gzip is unpacked. Errors: it cannot be read, or is more than `most` bytes.
Result<std::string> read_input(const std::string& path, size_t most = size_t{2} << 30);

// The first bytes, unpacked; "" where it cannot be read.
std::string first_bytes(const std::string& path, size_t count);

std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace vitrine::importing
