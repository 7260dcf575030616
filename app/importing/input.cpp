#include "app/importing/input.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#ifdef VITRINE_ZLIB
#include <zlib.h>
#endif

namespace vitrine::importing {

namespace {

struct Closes {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closes>;

File open_plain(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return nullptr;  // a pipe would be waited for
  return File(std::fopen(path.c_str(), "rbe"));
}

Error refused(const std::string& path, const std::string& why, const std::string& hint) {
  return Error{"It cannot be imported: " + why + ".", hint, path};
}

std::string read_some(std::FILE* file, size_t most) {
  std::string out;
  char part[1 << 16];
  for (size_t n;
       out.size() < most && (n = std::fread(part, 1, std::min(sizeof part, most - out.size()), file)) > 0;)
    out.append(part, n);
  return out;
}

bool is_gzip(std::string_view text) {
  return text.starts_with("\x1f\x8b");
}

#ifdef VITRINE_ZLIB
// A truncated stream gives what came before; *more: there was more than `most`.
std::string unpacked(const std::string& packed, size_t most, bool* more) {
  std::string out;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return out;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  size_t left = packed.size();
  char part[1 << 16];
  int rc = Z_OK;
  while (rc == Z_OK && !*more) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min<size_t>(left, 1 << 30));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(part);
    stream.avail_out = sizeof part;
    rc = inflate(&stream, Z_NO_FLUSH);
    out.append(part, sizeof part - stream.avail_out);
    *more = out.size() > most;
    if (stream.avail_out == sizeof part && stream.avail_in == 0 && left == 0) break;
  }
  inflateEnd(&stream);
  out.resize(std::min(out.size(), most));
  return out;
}
#else
std::string unpacked(const std::string&, size_t, bool*) {
  return {};
}
#endif

}  // namespace

Result<std::string> read_input(const std::string& path, size_t most) {
  const File file = open_plain(path);
  if (!file) return refused(path, "it cannot be read", "Check the path and its permissions.");
  std::string out = read_some(file.get(), most + 1);
  bool more = out.size() > most;
  if (!more && is_gzip(out)) {
    out = unpacked(out, most, &more);
    if (out.empty()) return refused(path, "it cannot be unpacked", "gunzip it first.");
  }
  if (more)
    return refused(path, "it has more than " + std::to_string(most >> 20) + " MB",
                   "Record less: fewer steps, without stacks.");
  return out;
}

std::string first_bytes(const std::string& path, size_t count) {
  const File file = open_plain(path);
  if (!file) return {};
  const std::string out = read_some(file.get(), count);
  bool more = false;
  return is_gzip(out) ? unpacked(out, count, &more) : out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace vitrine::importing
