// Limits to what is applied: the first so many of a kind happen, and a question asked again has the same
// answer.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "core/base/opt_bisect.h"

#include <doctest/doctest.h>

using vitrine::OptBisect;
using Of = vitrine::OptBisect::Of;

TEST_CASE("only so many of a kind happen, and all are noted") {
  OptBisect bisect({-1, 2, 0});
  bisect.begin();
  for (int i = 0; i < 4; ++i) {
    CHECK(bisect.allows(Of::rewrite, std::to_string(i)));
    CHECK(bisect.allows(Of::fusion, std::to_string(i)) == (i < 2));
    CHECK_FALSE(bisect.allows(Of::kernel, std::to_string(i)));
  }
  const auto& fusions = bisect.applications(Of::fusion);
  REQUIRE(fusions.size() == 4);
  CHECK(fusions[1].allowed);
  CHECK(fusions[3].text == "3");
  CHECK_FALSE(fusions[3].allowed);
}

TEST_CASE("what is asked again in one compilation has its answer, and is not counted again") {
  OptBisect bisect({-1, 1, -1});
  bisect.begin();
  CHECK(bisect.allows(Of::fusion, "a"));
  CHECK_FALSE(bisect.allows(Of::fusion, "b"));
  CHECK(bisect.allows(Of::fusion, "a"));
  CHECK(bisect.applications(Of::fusion).size() == 2);
}

TEST_CASE("the same in the next compilation is another one") {
  OptBisect bisect({-1, 1, -1});
  bisect.begin();
  CHECK(bisect.allows(Of::fusion, "a"));
  bisect.begin();
  CHECK_FALSE(bisect.allows(Of::fusion, "a"));
}
