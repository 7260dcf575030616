// The object cache: what is inserted is found, what is damaged is not, what is old goes first.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/sha256.h"
#include "core/runtime/kernels/object_cache.h"

using namespace vitrine;
using namespace vitrine::runtime;
namespace fs = std::filesystem;

namespace {

struct TempDir {
  std::string path =
      (fs::temp_directory_path() / ("vitrine_cache_test_" + std::to_string(getpid()))).string();
  ~TempDir() { fs::remove_all(path); }
};

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string insert(ObjectCache& cache, const std::string& key, const std::string& content) {
  std::string fresh = cache.fresh_path(key);
  write(fresh, content);
  return cache.insert(key, fresh).take();
}

}  // namespace

TEST_CASE("SHA-256 of the standard's examples") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("an entry is found under its key, and by another process too") {
  TempDir dir;
  auto cache = ObjectCache::open(dir.path).take();
  std::string key = ObjectCache::key("int x;");
  CHECK(key != ObjectCache::key("int y;"));
  CHECK(!cache->find(key));
  std::string path = insert(*cache, key, "an object");
  CHECK(cache->find(key) == path);
  CHECK(ObjectCache::open(dir.path).take()->find(key) == path);
  // nothing unfinished stays behind
  CHECK(std::distance(fs::directory_iterator(cache->dir()), fs::directory_iterator()) == 1);
}

TEST_CASE("truncated, changed and foreign entries count as missing and go") {
  TempDir dir;
  auto cache = ObjectCache::open(dir.path).take();
  std::string key = ObjectCache::key("k"), path = insert(*cache, key, std::string(5000, 'o'));
  SUBCASE("truncated") {
    fs::resize_file(path, 3000);
  }
  SUBCASE("empty") {
    fs::resize_file(path, 0);
  }
  SUBCASE("one byte changed") {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1234);
    file.put('x');
  }
  SUBCASE("foreign") {
    write(path, "something else, without a seal");
  }
  CHECK(!cache->find(key));
  CHECK(!fs::exists(path));
}

TEST_CASE("texts are kept beside the object, and damage to them is noticed") {
  TempDir dir;
  auto cache = ObjectCache::open(dir.path).take();
  kernel_compiler::Texts texts;
  texts.ir = "define void @vitrine_kernel";
  texts.assembly = "ret";
  texts.assembly_lines = {{1, 3, 7}};
  texts.remarks = {{4, 2, "loop-vectorize", "passed", "vectorized loop"}};
  texts.spills = 5;
  CHECK(!cache->texts("k"));
  cache->insert_texts("k", texts);
  auto back = cache->texts("k");
  REQUIRE(back);
  CHECK(back->ir == texts.ir);
  CHECK(back->assembly_lines == texts.assembly_lines);
  CHECK(back->remarks.at(0).text == "vectorized loop");
  CHECK(back->spills == 5);
  fs::resize_file(cache->dir() + "/k.json", 10);
  CHECK(!cache->texts("k"));
}

TEST_CASE("the entries used longest ago go first") {
  TempDir dir;
  auto cache = ObjectCache::open(dir.path, 11'000).take();
  std::string old_path = insert(*cache, "old", std::string(4000, 'a'));
  std::string used_path = insert(*cache, "used", std::string(4000, 'b'));
  fs::last_write_time(old_path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(used_path, fs::file_time_type::clock::now() - std::chrono::hours(3));
  CHECK(cache->find("used"));  // counts as a use
  cache->trim();
  CHECK(fs::exists(old_path));  // still below the limit
  insert(*cache, "new", std::string(4000, 'c'));
  cache->trim();
  CHECK(!fs::exists(old_path));
  CHECK(cache->find("used"));
  CHECK(cache->find("new"));
}

TEST_CASE("a folder that others may write to is refused") {
  TempDir dir;
  fs::create_directories(dir.path + "/kernels");
  chmod((dir.path + "/kernels").c_str(), 0777);
  auto cache = ObjectCache::open(dir.path);
  REQUIRE(!cache.ok());
  CHECK(cache.error().hint.find("VITRINE_CACHE_DIR") != std::string::npos);
}

TEST_CASE("without a folder, the cache lasts as long as it is used") {
  std::string dir;
  {
    auto cache = ObjectCache::open("").take();
    dir = cache->dir();
    insert(*cache, "k", "object");
    CHECK(cache->find("k"));
  }
  CHECK(!fs::exists(dir));
}

TEST_CASE("what is no shared object is refused by the loader, in words") {
  TempDir dir;
  auto cache = ObjectCache::open(dir.path).take();
  auto kernel = load_kernel(insert(*cache, "k", "not an ELF file"));
  REQUIRE(!kernel.ok());
  CHECK(kernel.error().what.find("cannot be loaded") != std::string::npos);
}
