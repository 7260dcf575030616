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
  TempDir() = default;
  explicit TempDir(std::string p) : path(std::move(p)) {}
  std::string path =
      (fs::temp_directory_path() / ("vitrine_cache_test_" + std::to_string(getpid()))).string();
  ~TempDir() { fs::remove_all(path); }
};

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Its path.
std::string insert(ObjectCache& cache, const std::string& key, const std::string& content) {
  REQUIRE(cache.insert(key, content).ok());
  return cache.path(key);
}

mode_t mode(const std::string& path) {
  struct stat s{};
  REQUIRE(stat(path.c_str(), &s) == 0);
  return s.st_mode & 07777;
}

}  // namespace

TEST_CASE("HMAC-SHA-256 of RFC 4231") {
  auto hex = [](const std::array<uint8_t, 32>& bytes) {
    std::string out;
    for (uint8_t byte : bytes) {
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
    return out;
  };
  CHECK(hex(hmac_sha256(std::string(20, '\x0b'), {"Hi ", "There"})) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_sha256(std::string(131, '\xaa'),
                        {"Test Using Larger Than Block-Size Key - Hash Key First"})) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

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
  CHECK(cache->find(key)->content == "an object");
  CHECK(ObjectCache::open(dir.path).take()->find(key)->content == "an object");
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
  for (const auto& file : fs::directory_iterator(cache->dir())) fs::resize_file(file, 10);
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

TEST_CASE("an entry under another's name, or of another's secret, is missing") {
  TempDir dir, other{dir.path + "_other"};
  auto cache = ObjectCache::open(dir.path).take();
  const std::string one = insert(*cache, "one", "the first"), two = insert(*cache, "two", "the second");
  SUBCASE("exchanged") {
    fs::rename(one, one + "x");
    fs::rename(two, one);
    fs::rename(one + "x", two);
  }
  SUBCASE("linked") {
    fs::remove(one);
    fs::create_symlink(two, one);
    fs::remove(two);
  }
  SUBCASE("a folder") {
    for (const std::string& path : {one, two}) {
      fs::remove(path);
      fs::create_directory(path);
    }
  }
  SUBCASE("a pipe") {
    for (const std::string& path : {one, two}) {
      fs::remove(path);
      REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    }
  }
  SUBCASE("that others may write to") {
    for (const std::string& path : {one, two}) chmod(path.c_str(), 0660);
  }
  SUBCASE("sealed by another") {
    setenv("XDG_STATE_HOME", other.path.c_str(), 1);
    auto theirs = ObjectCache::open(other.path).take();
    const std::string planted = insert(*theirs, "one", "planted");
    fs::copy_file(planted, one, fs::copy_options::overwrite_existing);
    fs::copy_file(planted, two, fs::copy_options::overwrite_existing);
    unsetenv("XDG_STATE_HOME");
  }
  CHECK(!cache->find("one"));
  CHECK(!cache->find("two"));
  insert(*cache, "one", "anew");
  CHECK(cache->find("one")->content == "anew");
}

TEST_CASE("folders and files are for their owner alone, whatever the umask and whatever they were") {
  TempDir dir;
  const mode_t before = umask(0);
  {
    auto cache = ObjectCache::open(dir.path + "/a/b").take();
    const std::string path = insert(*cache, "k", "object");
    for (const char* each : {"/a", "/a/b", "/a/b/kernels"}) CHECK(mode(dir.path + each) == 0700);
    CHECK(mode(path) == 0600);
  }
  chmod((dir.path + "/a/b").c_str(), 0777);
  chmod((dir.path + "/a/b/kernels").c_str(), 0777);
  auto cache = ObjectCache::open(dir.path + "/a/b");  // as an earlier Vitrine made them
  umask(before);
  REQUIRE(cache.ok());
  CHECK(mode(dir.path + "/a/b") == 0755);
  CHECK(mode(dir.path + "/a/b/kernels") == 0700);
  CHECK(cache.value()->find("k")->content == "object");
}

TEST_CASE("a folder on the way that others may write to is refused, and named") {
  TempDir dir;
  const std::string open = dir.path + "/open", cached = open + "/cache";
  fs::create_directories(cached);
  std::ofstream(open + "/somebody's file");
  SUBCASE("for all") {
    chmod(open.c_str(), 0777);
  }
  SUBCASE("for a group") {
    chmod(open.c_str(), 0775);
  }
  auto cache = ObjectCache::open(cached);
  REQUIRE(!cache.ok());
  CHECK(cache.error().where == open);
  CHECK(cache.error().hint.find("VITRINE_CACHE_DIR") != std::string::npos);
  CHECK(!fs::exists(cached + "/kernels"));
  chmod(open.c_str(), 01777);  // as /tmp: nobody can rename what is another's
  CHECK(ObjectCache::open(cached).ok());
}

TEST_CASE("links on the way are followed, and what they lead to is checked") {
  TempDir dir;
  fs::create_directories(dir.path + "/real/open");
  fs::create_directory_symlink("real", dir.path + "/link");
  CHECK(ObjectCache::open(dir.path + "/link/../link/./cache").ok());
  CHECK(fs::exists(dir.path + "/real/cache/kernels"));
  chmod((dir.path + "/real/open").c_str(), 0777);
  std::ofstream(dir.path + "/real/open/file");
  CHECK(!ObjectCache::open(dir.path + "/link/open/cache").ok());
  fs::create_symlink("loop", dir.path + "/loop");
  CHECK(!ObjectCache::open(dir.path + "/loop/cache").ok());
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
  auto kernel = load_kernel(cache->insert("k", "not an ELF file").value().fd);
  REQUIRE(!kernel.ok());
  CHECK(kernel.error().what.find("cannot be loaded") != std::string::npos);
}
