// What a pair that stays apart costs, by the machine's copy and its least launch; what would change the
// verdict.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "profiler/analysis/fusion_price.h"

#include <doctest/doctest.h>

using namespace vitrine::session;
using namespace vitrine::profiler;

namespace {

DecisionRow apart(const char* reason, int64_t bytes, int64_t launches) {
  DecisionRow row;
  row.verdict = "rejected", row.reason = reason;
  row.bytes_saved = bytes, row.launches_saved = launches;
  return row;
}

}  // namespace

TEST_CASE("rates are the fastest copy and the shortest launch that was timed") {
  CeilingRow slow, fast, product;
  slow.kind = fast.kind = "copy", product.kind = "product";
  slow.rate = 1e9, fast.rate = 2e9, product.rate = 9e12;
  LaunchRow none, least, long_one;
  least.median_ns = 1500, long_one.median_ns = 80'000;
  const FusionRates rates = fusion_rates({slow, fast, product}, {none, long_one, least});
  CHECK(rates.copy == 2e9);
  CHECK(rates.launch_ns == 1500);
}

TEST_CASE("bytes and launches become time, negative where it is saved") {
  const FusionRates rates{2e9, 1500};
  CHECK(estimated_ns(apart("", 4'000'000, 1), rates) == doctest::Approx(-2'001'500));
  CHECK(estimated_ns(apart("", 0, 0), rates) == 0);
  CHECK(estimated_ns(apart("", 4'000'000, 1), {}) == 0);  // nothing was measured
  DecisionRow recorded = apart("", 4'000'000, 1);
  recorded.est_ns = -7;
  CHECK(estimated_ns(recorded, rates) == -7);
}

TEST_CASE("what would change it follows the reason") {
  CHECK(what_would_change(apart("a library call takes no epilogue", 8, 1)).find("generated") !=
        std::string::npos);
  CHECK(what_would_change(apart("it runs through PyTorch: it writes to its argument", 8, 1)) ==
        "use the operator that returns a new tensor");
  CHECK(what_would_change(apart("nobody knows", 8, 1)).empty());
  DecisionRow fused = apart("a library call takes no epilogue", 8, 1);
  fused.verdict = "fused";
  CHECK(what_would_change(fused).empty());
}
