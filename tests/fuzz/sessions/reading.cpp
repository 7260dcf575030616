#include "tests/fuzz/sessions/reading.h"

#include "app/cli/show.h"
#include "core/session/abandoned.h"
#include "core/session/compare/difference.h"
#include "core/session/reader.h"
#include "core/session/shared_copy.h"

namespace vitrine::fuzz {

namespace {

// Compared with itself and with an empty session.
size_t difference_from_nothing(const session::Reader& reader) {
  const session::ComparedSession read = session::compared_session(reader), none;
  return session::compare_sessions(read, none).verdict.size() +
         session::compare_sessions(none, read).changes.size() +
         session::compare_sessions(read, read).verdict.size();
}

}  // namespace

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
  using Read = const session::Reader&;
  static constexpr size_t (*kWhole[])(Read) = {
      [](Read r) { return cli::stage_summary(r).size(); },
      [](Read r) { return cli::run_summary(r).size(); },
      [](Read r) { return cli::problem_summary(r).size(); },
      [](Read r) { return cli::explain(r).size(); },
      [](Read r) { return cli::show_summary(r, {.width = 40}).size(); },
      [](Read r) { return cli::show_summary(r, {.json = true}).size(); },
      [](Read r) { return difference_from_nothing(r); },
  };
  for (const auto& whole : kWhole)
    if (wanted()) printed += whole(reader);
  return printed;
}

bool copy_to_share(const std::string& path) {
  return !session::write_shared_copy(path, path + ".shared");
}

size_t print_everything(const std::string& path) {
  return print_part(path, 0, 1);
}

}  // namespace vitrine::fuzz
