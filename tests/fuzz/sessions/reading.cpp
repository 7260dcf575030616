#include "tests/fuzz/sessions/reading.h"

#include "app/cli/show.h"
#include "core/session/abandoned.h"
#include "core/session/reader.h"
#include "core/session/shared_copy.h"

namespace vitrine::fuzz {

size_t print_part(const std::string& path, uint64_t part, uint64_t parts) {
  session::close_if_abandoned(path);
  auto opened = session::Reader::open(path);
  if (!opened) return 0;
  const session::Reader& reader = *opened.value();
  size_t printed = 1;
  uint64_t at = 0;
  auto wanted = [&] { return at++ % parts == part % parts; };
  for (const cli::ShowRow& row : cli::show_table()) {
    for (const bool json : {false, true}) {
      if (!wanted()) continue;
      const cli::ShowOptions options{.json = json, .passes = json, .compilation = ""};
      if (auto text = cli::show(reader, std::string(row.name), options); text) printed += text.value().size();
    }
  }
  for (auto* summary : {cli::stage_summary, cli::run_summary, cli::problem_summary, cli::explain})
    if (wanted()) printed += summary(reader).size();
  return printed;
}

bool copy_to_share(const std::string& path) {
  return !session::write_shared_copy(path, path + ".shared");
}

size_t print_everything(const std::string& path) {
  return print_part(path, 0, 1);
}

}  // namespace vitrine::fuzz
