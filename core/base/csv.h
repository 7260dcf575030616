// Comma-separated values (RFC 4180).
#pragma once

#include <string>

namespace vitrine {

// A cell's text, in quotes where it has to be.
std::string csv_cell(const std::string& text);

}  // namespace vitrine
