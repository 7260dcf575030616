// Words: articles, what terminals show, texts that many rows have, last words of what died.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/base/closest.h"
#include "core/base/last_words.h"
#include "core/base/ordered_texts.h"
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

using vitrine::OrderedTexts;
using vitrine::SharedText;

TEST_CASE("a shared text reads and compares as a string does") {
  const SharedText text("aten.mm"), none;
  const std::string copy = text;
  CHECK(copy == "aten.mm");
  CHECK(text == "aten.mm");
  CHECK("aten.mm" == text);
  CHECK(text == copy);
  CHECK(text == std::string_view("aten.mm"));
  CHECK(text != none);
  CHECK(none == "");
  CHECK(none.empty());
  CHECK(text + "(" + copy == "aten.mm(aten.mm");
  CHECK(std::map<std::string, int>{{"aten.mm", 3}}.at(text) == 3);
  CHECK(SharedText("a") < SharedText("b"));
  CHECK(text.starts_with("aten."));
}

TEST_CASE("texts of the same characters are one") {
  OrderedTexts texts;
  vitrine::TextOrder order;
  bool added = false;
  const SharedText first = texts.of("f32[8,128,768], one that is too long for its place", added, order);
  CHECK(added);
  const SharedText second = texts.of(std::string(first), added, order);
  CHECK(!added);
  CHECK(first.data() == second.data());
}

TEST_CASE("texts are found in any order, by several columns at once") {
  OrderedTexts texts;
  vitrine::TextOrder one, other;
  std::map<std::string, const char*> places;
  bool added = false;
  for (int turn = 0; turn < 3; ++turn)
    for (int i = 0; i < 5000; ++i) {  // the second turn as the first, the third another way round
      const std::string text = "text " + std::to_string(turn == 2 ? 4999 - i : i);
      const SharedText got = texts.of(text, added, one);
      CHECK(added == (turn == 0));
      CHECK(got == text);
      const char*& place = places[text];
      CHECK((!place || place == got.data()));
      place = got.data();
      CHECK(texts.of("text " + std::to_string(i / 2), added, other) == "text " + std::to_string(i / 2));
      CHECK_FALSE(added);
    }
}

TEST_CASE("a shared text outlives the one that made it, on any thread") {
  auto* made = new SharedText("a text that is too long for its place");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([copy = *made] {
      for (int j = 0; j < 1000; ++j) {
        const SharedText own = copy;
        CHECK(own.size() == 37);
      }
    });
  delete made;
  for (std::thread& thread : threads) thread.join();
}

using vitrine::last_words;

TEST_CASE("the last words are the last lines, or what Python says of a crash") {
  std::string many;
  for (int i = 0; i < 40; ++i) many += "step " + std::to_string(i) + "\n";
  CHECK(last_words(many).starts_with("step 28\n"));
  CHECK(last_words(many).ends_with("step 39"));
  CHECK(last_words("") == "");
  CHECK(last_words("\x1b[2mvitrine: run m.py\x1b[0m\n\x1b[31mno\x1b[0m memory\n") == "no memory");
  CHECK(last_words("10 %\r20 %\r30 %\n") == "30 %");
  CHECK(last_words(
            "started\nterminate called after throwing an instance of 'std::bad_alloc'\nFatal Python error: "
            "Aborted\n\n"
            "Thread 0x1:\n  File \"q.py\", line 1\n\nCurrent thread 0x2:\n  File \"m.py\", line 3 in f\n\n"
            "Extension modules: torch._C (total: 21)\n") ==
        "started\nterminate called after throwing an instance of 'std::bad_alloc'\nFatal Python error: "
        "Aborted\n"
        "  File \"m.py\", line 3 in f");
}
