// vitrine-cc: the kernel compiler. The engine starts one a core and talks to it over standard input and
// output; by hand it compiles a kernel from a file (a reproducer) or tests itself.
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/base/clock.h"
#include "core/kernel_compiler/compiler.h"
#include "core/kernel_compiler/linker.h"

using namespace vitrine;
using namespace vitrine::kernel_compiler;

namespace {

const char* kSelfTest = R"(
typedef float VF __attribute__((ext_vector_type(8)));
typedef VF VFU __attribute__((aligned(4)));
extern "C" void vitrine_kernel(void* const* args, long begin, long end) {
  const float* x = (const float*)args[0];
  float* y = (float*)args[1];
  for (long i = begin; i < end; ++i) *(VFU*)(y + 8 * i) = *(const VFU*)(x + 8 * i) * 2.0f + 1.0f;
}
)";

// "" or why not; then nothing is left there.
std::string write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const bool opened = out.is_open();
  out << content;
  out.close();
  if (out.good()) return "";
  const int number = errno;
  std::error_code ignored;
  if (opened && std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  return path + " could not be written: " + std::strerror(number);
}

Response compile(const Request& request, bool& can_run_again) {
  Response response;
  response.id = request.id;
  std::string object;
  if (!compile_object(request, response, object)) return response;
  int64_t start = monotonic_ns();
  LinkOutcome linked = link_shared(object);
  response.link_ns = monotonic_ns() - start;
  can_run_again = linked.can_run_again;
  response.of_machine = linked.of_machine;
  if (linked.failed)
    response.error = linked.failed->what;
  else if (request.output.empty())
    response.object = std::move(linked.shared);
  else
    response.error = write_file(request.output, linked.shared);
  response.ok = response.error.empty();
  return response;
}

// Pays Clang's and LLVM's first use before the first request comes.
void warm_up() {
  Request request{0, "warm", kSelfTest, "", "native", false};
  Response response;
  std::string object;
  compile_object(request, response, object);
}

int serve(bool warm) {
  // Frames alone go to standard output, whatever a library prints.
  int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (warm) warm_up();
  while (auto frame = read_frame(STDIN_FILENO)) {
    auto request = decode_request(*frame);
    if (!request) return 3;
    bool can_run_again = true;
    Response response = compile(request.value(), can_run_again);
    if (!write_frame(out, encode(response))) return 0;
    if (!can_run_again) return 4;
  }
  return 0;
}

void print_texts(const Texts& texts) {
  for (const Remark& r : texts.remarks)
    std::cout << "// " << r.line << ":" << r.col << ": " << r.kind << " [" << r.pass << "] " << r.text
              << "\n";
  std::cout << texts.ir << "\n" << texts.assembly;
}

int compile_file(const std::string& file, const std::string& output, const std::string& cpu, bool texts) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::cerr << "vitrine-cc: " << file << " cannot be read\n";
    return 2;
  }
  std::ostringstream text;
  text << in.rdbuf();
  bool again = true;
  Response response = compile({1, file, text.str(), output, cpu, texts}, again);
  for (const Diagnostic& d : response.diagnostics)
    std::cerr << file << ":" << d.line << ":" << d.col << ": " << d.severity << ": " << d.text << "\n";
  if (!response.ok) {
    std::cerr << "vitrine-cc: " << response.error << "\n";
    return 1;
  }
  if (texts) print_texts(response.texts);
  if (std::cout.flush()) return 0;
  std::cerr << "vitrine-cc: standard output could not be written: " << std::strerror(errno) << "\n";
  return 1;
}

int self_test() {
  auto path = std::filesystem::temp_directory_path() / ("vitrine-cc-" + std::to_string(getpid()) + ".so");
  bool again = true;
  Response response = compile({1, "self-test", kSelfTest, path.string(), "native", false}, again);
  std::string failed = response.error;
  if (response.ok) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    using Kernel = void (*)(void* const*, long, long);
    auto kernel = library ? reinterpret_cast<Kernel>(dlsym(library, "vitrine_kernel")) : nullptr;
    float x[16], y[16] = {};
    for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
    void* args[] = {x, y};
    if (kernel) kernel(args, 0, 2);
    for (int i = 0; kernel && i < 16; ++i)
      if (y[i] != static_cast<float>(2 * i + 1)) failed = "a compiled kernel computed a wrong value";
    if (!kernel) failed = std::string("the kernel could not be loaded: ") + dlerror();
  }
  std::filesystem::remove(path);
  double ms = static_cast<double>(response.front_ns + response.codegen_ns + response.link_ns) / 1e6;
  if (failed.empty())
    std::printf("ok: LLVM %s, %s, first kernel in %.1f ms\n", llvm_version().c_str(), response.cpu.c_str(),
                ms);
  else
    std::printf("failed: %s\n", failed.c_str());
  return failed.empty() ? 0 : 1;
}

int usage() {
  std::cerr << "usage: vitrine-cc --serve [--warm] | --version | --self-test |\n"
               "       vitrine-cc FILE.cpp -o FILE.so [--cpu NAME] [--texts]\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of a write, which says so
  std::string file, output, cpu = "native";
  bool texts = false, server = false, warm = false;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    bool more = i + 1 < argc;
    if (a == "--version") {
      std::printf("vitrine-cc protocol %d, LLVM %s, %s\n", kProtocolVersion, llvm_version().c_str(),
                  host_cpu().c_str());
      return 0;
    }
    if (a == "--self-test") return self_test();
    if (a == "--serve")
      server = true;
    else if (a == "--warm")
      warm = true;
    else if (a == "--texts")
      texts = true;
    else if (a == "-o" && more)
      output = argv[++i];
    else if (a == "--cpu" && more)
      cpu = argv[++i];
    else if (!a.empty() && a[0] != '-')
      file = a;
    else
      return usage();
  }
  if (server) return serve(warm);
  if (file.empty() || output.empty()) return usage();
  return compile_file(file, output, cpu, texts);
}
