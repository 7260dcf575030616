// A session as a file, for readers that take no bytes.
#pragma once

#include <string>
#include <string_view>

namespace vitrine::fuzz {

// A file that is there for as long as this object: where no disk is written, if the system allows it.
class SessionFile {
 public:
  SessionFile();
  ~SessionFile();
  void write(std::string_view bytes) const;
  const std::string& path() const { return path_; }

 private:
  std::string folder_, path_;
};

std::string read_file(const std::string& path);
// False when not all was written.
bool write_file(const std::string& path, std::string_view bytes);

}  // namespace vitrine::fuzz
