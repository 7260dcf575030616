// Articles go by the sound of the first syllable.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include "core/base/closest.h"
#include "core/base/visible.h"
#include "core/base/whole.h"
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

using vitrine::Keep;
using vitrine::visible;

TEST_CASE("what steers a terminal or turns text round is written out") {
  CHECK(visible("a\x1b[2J\x07") == "a\\x1b[2J\\x07");
  CHECK(visible("\u202eevil\u2066\u200b\ufeff") == "\\u202eevil\\u2066\\u200b\\ufeff");
  CHECK(visible("a\nb\tc", Keep::Lines) == "a\nb\tc");
  CHECK(visible("a\nb\r") == "a\\x0ab\\x0d");
  CHECK(visible("\xff\xc0\x80\xed\xa0\x80 gr\u00fc\u00df \U0001F600") ==
        "\\xff\\xc0\\x80\\xed\\xa0\\x80 gr\u00fc\u00df \U0001F600");
  CHECK(visible("\u009b31m") == "\\x9b31m");  // an escape sequence in one character
}

TEST_CASE("a number beyond the whole ones is the last of them") {
  using Limits = std::numeric_limits<int64_t>;
  CHECK(vitrine::whole(41.9) == 41);
  CHECK(vitrine::whole(-41.9) == -41);
  CHECK(vitrine::whole(1e300) == Limits::max());
  CHECK(vitrine::whole(-1e300) == Limits::min());
  CHECK(vitrine::whole(9223372036854775808.0) == Limits::max());
  CHECK(vitrine::whole(-9223372036854775808.0) == Limits::min());
  CHECK(vitrine::whole(std::numeric_limits<double>::infinity()) == Limits::max());
  CHECK(vitrine::whole(std::numeric_limits<double>::quiet_NaN()) == 0);
}

TEST_CASE("what was meant is the nearest name, if one is near") {
  const std::vector<std::string> known = {"kernels", "breaks", "guards", "recompilations"};
  CHECK(vitrine::closest("kernals", known) == "kernels");
  CHECK(vitrine::closest("KERNELS", known) == "kernels");
  CHECK(vitrine::closest("braeks", known) == "breaks");
  CHECK(vitrine::closest("recomp", known) == "recompilations");
  CHECK(vitrine::closest("zzz", known).empty());
  CHECK(vitrine::closest("", known).empty());
  CHECK(vitrine::edit_distance("abcd", "abdc") == 1);
  CHECK(vitrine::did_you_mean("guard", known) == " Did you mean \"guards\"?");
}
