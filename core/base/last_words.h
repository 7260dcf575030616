// What a process that did not end by itself wrote last, shortened for people.
#pragma once

#include <string>
#include <string_view>

namespace vitrine {

// written: the end of its outputs. Of a crash what Python says of it and of the thread it was in, else the
// last lines.
std::string last_words(std::string_view written);

}  // namespace vitrine
