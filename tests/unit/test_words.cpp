// Articles go by the sound of the first syllable.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "core/base/words.h"

TEST_CASE("a noun has the article that is spoken before it") {
  for (const char* noun :
       {"an Encoder", "an f32[8,128]", "an i64[]", "an 8", "an 80", "an int", "an Unindexed", "an object"})
    CHECK(vitrine::with_article(std::string(noun).substr(3)) == noun);
  for (const char* noun : {"a list of 4", "a u8[3]", "a bf16[2]", "a Unit", "a UniformSampler", "a user",
                           "a 3", "a tensor", "a Tower"})
    CHECK(vitrine::with_article(std::string(noun).substr(2)) == noun);
  CHECK(vitrine::with_article("") == "a ");
}
