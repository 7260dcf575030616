// Words of messages.
#pragma once

#include <string>

namespace vitrine {

// "a list of 4", "an Encoder", "an f32[8]", "a Unit": the article goes by the sound of the first syllable.
std::string with_article(const std::string& noun);

// "net.py" of "models/net.py".
std::string file_name(const std::string& path);

}  // namespace vitrine
