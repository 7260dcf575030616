// The kernel service with the real vitrine-cc: good kernels, bad kernels, helpers that die or hang.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/runtime/kernels/kernel_service.h"
#include "core/runtime/kernels/object_cache.h"

using namespace vitrine;
using namespace vitrine::runtime;
namespace fs = std::filesystem;
using Kind = KernelAnswer::Kind;

namespace {

struct TempDir {
  std::string path =
      (fs::temp_directory_path() / ("vitrine_service_test_" + std::to_string(getpid()))).string();
  TempDir() { fs::create_directories(path); }
  ~TempDir() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
};

// y[i] = x[i] * factor + 1 in vectors of 8.
std::string source(int factor) {
  return "typedef float VF __attribute__((ext_vector_type(8)));\n"
         "typedef VF VFU __attribute__((aligned(4)));\n"
         "extern \"C\" void vitrine_kernel(void* const* args, long begin, long end) {\n"
         "  const float* x = (const float*)args[0];\n"
         "  float* y = (float*)args[1];\n"
         "  for (long i = begin; i < end; ++i) {\n"
         "    *(VFU*)(y + 8 * i) = *(const VFU*)(x + 8 * i) * " +
         std::to_string(factor) +
         ".0f + 1.0f;\n"
         "  }\n"
         "}\n";
}

kernel_compiler::Request request(const std::string& text, const std::string& output, bool texts = false) {
  return {0, "K0", text, output, "native", texts};
}

float result_of(const std::string& path) {
  auto kernel = load_kernel(path).take();
  float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[8] = {};
  void* args[] = {x, y};
  kernel.function(args, 0, 1);
  return y[3];
}

std::string program() {
  std::string path = find_kernel_compiler("");
  REQUIRE_MESSAGE(!path.empty(), "vitrine-cc is not beside this test: build it first");
  return path;
}

// A stand-in for vitrine-cc that misbehaves.
std::string script(const TempDir& dir, const std::string& body) {
  std::string path = dir.file("fake-cc");
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  chmod(path.c_str(), 0755);
  return path;
}

}  // namespace

TEST_CASE("many kernels at once are compiled and compute") {
  TempDir dir;
  KernelService service({program(), 2});
  std::vector<KernelService::Ticket> tickets;
  for (int k = 0; k < 6; ++k)
    tickets.push_back(service.submit(request(source(k), dir.file("k" + std::to_string(k) + ".so"))));
  for (int k = 0; k < 6; ++k) {
    KernelAnswer answer = tickets[static_cast<size_t>(k)].answer.get();
    REQUIRE_MESSAGE(answer.kind == Kind::compiled, answer.error);
    CHECK(result_of(dir.file("k" + std::to_string(k) + ".so")) == static_cast<float>(3 * k + 1));
    CHECK(answer.response.texts.ir.empty());  // nobody asked
    CHECK(answer.response.front_ns > 0);
  }
  CHECK(service.running().size() <= 2);
}

#if defined(__x86_64__)
// LLVM swaps the operands of such a comparison below a mask, and leaves its condition: isposinf became
// isneginf.
TEST_CASE("f16 is compared as f32, also where the processor compares f16") {
  TempDir dir;
  const std::string text =
      "typedef _Float16 H __attribute__((ext_vector_type(16)));\n"
      "typedef float F __attribute__((ext_vector_type(16)));\n"
      "extern \"C\" void vitrine_kernel(void* const* args, long begin, long end) {\n"
      "  for (long i = begin; i < end; ++i) {\n"
      "    F x = __builtin_convertvector(((const H*)args[0])[i], F);\n"
      "    auto positive = (__builtin_elementwise_abs(x) == __builtin_inff()) & (x > 0.0f);\n"
      "    ((H*)args[1])[i] = __builtin_convertvector(positive ? x : x / 3.0f, H);\n"
      "  }\n"
      "}\n";
  KernelService service({program(), 1});
  KernelAnswer answer =
      service.submit({0, "K0", text, dir.file("k.so"), "sapphirerapids", true}).answer.get();
  REQUIRE_MESSAGE(answer.kind == Kind::compiled, answer.error);
  const std::string& assembly = answer.response.texts.assembly;
  CHECK(assembly.find("vcvtph2ps") != std::string::npos);
  CHECK(assembly.find("zmm") != std::string::npos);
  for (const char* of_f16 : {"vcvtph2psx", "ltph", "gtph", "eqph", "vdivph", "vmovsh\t", "vmovsh "})
    CHECK_MESSAGE(assembly.find(of_f16) == std::string::npos, of_f16);
}
#endif

TEST_CASE("texts come with lines of the source") {
  TempDir dir;
  KernelService service({program(), 1});
  KernelAnswer answer = service.submit(request(source(3), dir.file("k.so"), true)).answer.get();
  REQUIRE(answer.kind == Kind::compiled);
  const auto& texts = answer.response.texts;
  CHECK(texts.ir.find("define") != std::string::npos);
  CHECK(texts.ir.find("DILocation") == std::string::npos);
  CHECK(texts.assembly.find("vitrine_kernel:") != std::string::npos);
  CHECK(texts.assembly.find(".loc") == std::string::npos);
  // The multiplication stands in line 7; what the assembly maps there must hold a vector multiplication.
  std::vector<std::string> lines;
  std::istringstream in(texts.assembly);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  bool found = false;
  for (const auto& map : texts.assembly_lines) {
    REQUIRE(map.line >= 1);
    REQUIRE(map.end_line <= static_cast<int>(lines.size()));
    for (int l = map.line; map.source_line == 7 && l <= map.end_line; ++l) {
      const std::string& line = lines[static_cast<size_t>(l - 1)];
      found = found || line.find("vfmadd") != std::string::npos || line.find("mulps") != std::string::npos;
    }
  }
  CHECK(found);
  CHECK(!texts.ir_lines.empty());
  CHECK(result_of(dir.file("k.so")) == 10.0f);
}

TEST_CASE("a remark says why a loop was not vectorised, at its line") {
  TempDir dir;
  KernelService service({program(), 1});
  std::string text =
      "extern \"C\" void vitrine_kernel(void* const* args, long begin, long end) {\n"
      "  float* y = (float*)args[0];\n"
      "  float sum = 0;\n"
      "  for (long i = begin; i < end; ++i) sum += y[i];\n"
      "  y[0] = sum;\n"
      "}\n";
  KernelAnswer answer = service.submit(request(text, dir.file("k.so"), true)).answer.get();
  REQUIRE(answer.kind == Kind::compiled);
  bool found = false;
  for (const auto& r : answer.response.texts.remarks)
    found = found || (r.line == 4 && r.pass == "loop-vectorize" && r.kind == "missed");
  CHECK(found);
}

TEST_CASE("a syntax error comes back with its line, and the helper lives on") {
  TempDir dir;
  KernelService service({program(), 1});
  std::string bad = source(2);
  bad.replace(bad.find("y + 8"), 5, "z + 8");
  KernelAnswer answer = service.submit(request(bad, dir.file("bad.so"))).answer.get();
  CHECK(answer.kind == Kind::rejected);
  REQUIRE(!answer.response.diagnostics.empty());
  CHECK(answer.response.diagnostics[0].line == 7);
  CHECK(answer.response.diagnostics[0].severity == "error");
  CHECK(answer.response.diagnostics[0].text.find("'z'") != std::string::npos);
  CHECK(!fs::exists(dir.file("bad.so")));
  auto before = service.running();
  CHECK(service.submit(request(source(2), dir.file("k.so"))).answer.get().kind == Kind::compiled);
  CHECK(service.running() == before);
}

TEST_CASE("a killed helper is replaced, and its kernel is compiled after all") {
  TempDir dir;
  KernelService service({program(), 1});
  REQUIRE(service.submit(request(source(1), dir.file("a.so"))).answer.get().kind == Kind::compiled);
  int pid = service.running().at(0);
  kill(pid, SIGSTOP);  // so that it is certainly killed in the middle of the next kernel
  auto ticket = service.submit(request(source(5), dir.file("b.so")));
  usleep(50'000);
  kill(pid, SIGKILL);
  KernelAnswer answer = ticket.answer.get();
  REQUIRE_MESSAGE(answer.kind == Kind::compiled, answer.error);
  CHECK(result_of(dir.file("b.so")) == 16.0f);
  CHECK(service.running().at(0) != pid);
}

TEST_CASE("a helper that always dies is reported with its signal, not tried for ever") {
  TempDir dir;
  KernelService service({script(dir, "head -c 4 >/dev/null; kill -SEGV $$"), 1});
  KernelAnswer answer = service.submit(request(source(1), dir.file("a.so"))).answer.get();
  CHECK(answer.kind == Kind::failed);
  CHECK_MESSAGE(answer.error.find("Segmentation fault") != std::string::npos, answer.error);
  CHECK(answer.error.find("K0") != std::string::npos);
}

TEST_CASE("a missing program is reported") {
  KernelService service({"/nowhere/vitrine-cc", 1});
  KernelAnswer answer = service.submit(request(source(1), "/nowhere/a.so")).answer.get();
  CHECK(answer.kind == Kind::failed);
  CHECK(answer.error.find("/nowhere/vitrine-cc") != std::string::npos);
}

TEST_CASE("a helper that hangs is ended in time") {
  TempDir dir;
  KernelService::Options options{script(dir, "exec sleep 1000"), 1};
  options.timeout = std::chrono::milliseconds(200);
  KernelService service(options);
  KernelAnswer answer = service.submit(request(source(1), dir.file("a.so"))).answer.get();
  CHECK(answer.kind == Kind::timed_out);
  CHECK(answer.wall_ns < 5'000'000'000);
  CHECK(service.running().empty());
}

TEST_CASE("a cancelled kernel ends soon, queued or running") {
  TempDir dir;
  KernelService service({script(dir, "exec sleep 1000"), 1});
  auto running = service.submit(request(source(1), dir.file("a.so")));
  auto queued = service.submit(request(source(2), dir.file("b.so")));
  usleep(30'000);
  *queued.cancelled = true;
  *running.cancelled = true;
  CHECK(running.answer.get().kind == Kind::cancelled);
  CHECK(queued.answer.get().kind == Kind::cancelled);
}

TEST_CASE("closing the service does not wait for a helper that hangs") {
  TempDir dir;
  auto service = std::make_unique<KernelService>(KernelService::Options{script(dir, "exec sleep 1000"), 2});
  auto a = service->submit(request(source(1), dir.file("a.so")));
  usleep(30'000);
  service.reset();
  CHECK(a.answer.get().kind == Kind::cancelled);
}

TEST_CASE("helpers start before they are needed, and end when they are not") {
  TempDir dir;
  KernelService::Options options{program(), 2};
  options.idle = std::chrono::milliseconds(300);
  KernelService service(options);
  CHECK(service.running().empty());
  service.warm_up();
  usleep(150'000);
  CHECK(service.running().size() == 2);
  for (int i = 0; i < 50 && !service.running().empty(); ++i) usleep(50'000);
  CHECK(service.running().empty());
  CHECK(service.submit(request(source(4), dir.file("k.so"))).answer.get().kind == Kind::compiled);
}

TEST_CASE("an output that cannot be written is an answer") {
  KernelService service({program(), 1});
  KernelAnswer answer = service.submit(request(source(1), "/nowhere/at/all/k.so")).answer.get();
  CHECK(answer.kind == Kind::rejected);
  CHECK_MESSAGE(answer.error.find("could not be written") != std::string::npos, answer.error);
}
