#include "tests/fuzz/sessions/session_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace vitrine::fuzz {

namespace fs = std::filesystem;

SessionFile::SessionFile() {
  std::string name =
      (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) / "vitrine-fuzz-XXXXXX";
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder can be made");
  folder_ = name;
  path_ = folder_ + "/a.vitrine";
}

SessionFile::~SessionFile() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void SessionFile::write(std::string_view bytes) const {
  if (!write_file(path_, bytes)) throw std::runtime_error("a session cannot be written");
}

bool write_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return out.good();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace vitrine::fuzz
