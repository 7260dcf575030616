#include "core/kernel_compiler/protocol/protocol.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace vitrine::kernel_compiler {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Request, id, label, source, output, cpu, texts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Diagnostic, severity, line, col, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Remark, line, col, pass, kind, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LineMap, line, end_line, source_line)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Texts, ir, assembly, ir_lines, assembly_lines, remarks, spills)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Response, id, ok, error, of_machine, diagnostics, texts, cpu, front_ns,
                                   codegen_ns, link_ns)

namespace {

constexpr uint32_t kMaxFrame = 512u << 20;

template <class T>
std::string dump(const T& value) {
  return json(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T>
Result<T> parse(std::string_view text) {
  try {
    return json::parse(text).get<T>();
  } catch (const json::exception& e) {
    return Error{std::string("a frame of the kernel compiler is damaged: ") + e.what()};
  }
}

bool write_all(int fd, const char* p, size_t n) {
  while (n > 0) {
    // A dead reader is an answer, not a signal: the engine's process must not die of it.
    ssize_t done = ::send(fd, p, n, MSG_NOSIGNAL);
    if (done < 0 && errno == ENOTSOCK) done = ::write(fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= static_cast<size_t>(done);
  }
  return true;
}

bool read_all(int fd, char* p, size_t n) {
  while (n > 0) {
    ssize_t done = ::read(fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= static_cast<size_t>(done);
  }
  return true;
}

}  // namespace

std::string_view llvm_version_built_for() {
  return VITRINE_LLVM_VERSION;
}

std::string encode(const Request& request) {
  return dump(request);
}
std::string encode(const Response& response) {
  std::string out = dump(response);
  return out + '\0' + response.object;
}
std::string encode(const Texts& texts) {
  return dump(texts);
}
Result<Request> decode_request(std::string_view frame) {
  return parse<Request>(frame);
}
Result<Response> decode_response(std::string_view frame) {
  const size_t end = std::min(frame.find('\0'), frame.size());
  auto response = parse<Response>(frame.substr(0, end));
  if (response && end < frame.size()) response.value().object = frame.substr(end + 1);
  return response;
}
Result<Texts> decode_texts(std::string_view text) {
  return parse<Texts>(text);
}

bool write_frame(int fd, std::string_view body) {
  auto size = static_cast<uint32_t>(body.size());
  if (body.size() > kMaxFrame) return false;
  char head[4];
  std::memcpy(head, &size, 4);
  return write_all(fd, head, 4) && write_all(fd, body.data(), body.size());
}

std::optional<std::string> read_frame(int fd) {
  char head[4];
  if (!read_all(fd, head, 4)) return {};
  uint32_t size = 0;
  std::memcpy(&size, head, 4);
  if (size > kMaxFrame) return {};
  std::string body(size, '\0');
  if (!read_all(fd, body.data(), size)) return {};
  return body;
}

}  // namespace vitrine::kernel_compiler
