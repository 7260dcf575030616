// Texts that many rows have.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/base/shared_text.h"

using vitrine::SharedText;
using vitrine::SharedTexts;

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
  SharedTexts texts;
  bool added = false;
  const SharedText first = texts.of("f32[8,128,768], one that is too long for its place", added);
  CHECK(added);
  const SharedText second = texts.of(std::string(first), added);
  CHECK(!added);
  CHECK(first.data() == second.data());
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
