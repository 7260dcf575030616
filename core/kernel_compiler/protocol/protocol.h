// What the engine and `vitrine-cc` say to each other over two pipes: frames of 4 bytes length (little-endian)
// and JSON. One request at a time; the answer carries the request's id. No LLVM here: the engine links it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace vitrine::kernel_compiler {

// Changes when frames, flags or what a kernel may assume change: part of the object cache's key.
constexpr int kProtocolVersion = 5;

std::string_view llvm_version_built_for();  // "19.1.7"

// Clang's own (cc1) arguments for every kernel; triple and CPU are added. Kernels include no header.
inline constexpr auto kClangArguments = std::to_array<std::string_view>({
    "-emit-llvm-only",
    "-O3",
    "-vectorize-loops",
    "-vectorize-slp",
    "-std=c++20",
    "-fgnuc-version=4.2.1",
    "-nostdsysteminc",
    "-nobuiltininc",
    "-ffp-contract=on",
    "-mframe-pointer=none",
    "-mrelocation-model",
    "pic",
    "-pic-level",
    "2",
    "-mprefer-vector-width=512",
#if defined(__x86_64__)
    // Kernels compute f16 as f32. With these instructions LLVM compares f16, and below a mask it swaps the
    // operands of a comparison and leaves its condition (its report 159723; LLVM 22 does not).
    "-target-feature",
    "-avx512fp16",
#endif
});

struct Request {
  int64_t id = 0;
  std::string label;           // for diagnostics: "K2"
  std::string source;          // C++ text
  std::string output;          // path of the shared object to write; "": it comes with the answer
  std::string cpu = "native";  // an LLVM CPU name
  bool texts = false;          // IR, assembly, remarks and spills too
};

struct Diagnostic {
  std::string severity;  // error | warning | note | fatal
  int32_t line = 0, col = 0;
  std::string text;
};

struct Remark {
  int32_t line = 0, col = 0;
  std::string pass, kind, text;  // "loop-vectorize", passed | missed | analysis
};

// Lines [line, end_line] of a text come from source line `source_line`.
struct LineMap {
  int32_t line = 0, end_line = 0, source_line = 0;
  bool operator==(const LineMap&) const = default;
};

// A text that a compiler made, as people read it.
struct Listing {
  std::string text;
  std::vector<LineMap> lines;  // in order, without overlap
};

struct Texts {
  std::string ir, assembly;
  std::vector<LineMap> ir_lines, assembly_lines;
  std::vector<Remark> remarks;
  int64_t spills = 0;  // registers written to the stack, as instructions
};

struct Response {
  int64_t id = 0;
  bool ok = false;
  std::string error;        // not ok: one sentence
  bool of_machine = false;  // not ok, and any other kernel would fare the same here
  std::vector<Diagnostic> diagnostics;
  Texts texts;
  std::string cpu;  // what "native" was
  int64_t front_ns = 0, codegen_ns = 0, link_ns = 0;
  std::string object;  // the shared object, unless the request names a path; behind the JSON and a zero byte
};

std::string encode(const Request& request);
std::string encode(const Response& response);
std::string encode(const Texts& texts);
Result<Request> decode_request(std::string_view frame);
Result<Response> decode_response(std::string_view frame);
Result<Texts> decode_texts(std::string_view text);

// Whole frames over a blocking descriptor. false / nullopt: the other side is gone, or what came is no frame.
bool write_frame(int fd, std::string_view body);
std::optional<std::string> read_frame(int fd);

}  // namespace vitrine::kernel_compiler
