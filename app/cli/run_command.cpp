#include "app/cli/run_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "app/cli/python_process.h"
#include "app/cli/show.h"
#include "core/base/visible.h"
#include "core/session/abandoned.h"
#include "core/session/shared_copy.h"

namespace vitrine::cli {

namespace fs = std::filesystem;

namespace {

struct EngineOption {
  const char *name, *value, *about;  // value: "" for a flag
};

constexpr std::array<EngineOption, 13> kEngineOptions = {{
    {"--entry", "NAME", "function, class or Class.method to call; a module runs in eval mode"},
    {"--input", "SPEC", "one argument: \"f32[8,128]\", \"i64[2,16]<1000\" or a Python literal; repeatable"},
    {"--take-over", "", "compile what the script gives to torch.compile"},
    {"--repeats", "N", "measured calls on each side (default 20; 0: do not measure)"},
    {"--counters", "N",
     "on a GPU: kernels of a call whose hardware counters are read and which are sampled (default 128; 0: "
     "none)"},
    {"--mode", "MODE", "torch.compile's modes; on a CPU all mean default"},
    {"--target", "ARCH", "compile for that GPU (\"sm_90\"), which need not be here: nothing is run on it"},
    {"--freezing", "", "weights are constant: products keep what they pack of them between calls"},
    {"--fullgraph", "", "an error instead of a graph break"},
    {"--grad", "", "keep grad mode on for a module in eval mode"},
    {"--check", "", "compare every compiled graph with eager, not the outputs only"},
    {"--edited", "GENERATED=EDITED",
     "two files: a kernel's text, and what is compiled in its place; repeatable"},
    {"--events", "", "progress as JSON lines on stdout, each after a record separator"},
}};

// transformer_block.py -> transformer_block.vitrine in the working folder.
std::string default_session(const std::string& file) {
  return fs::path(file).stem().string() + ".vitrine";
}

std::string quoted(const std::string& path) {
  return path.find(' ') == std::string::npos ? path : "\"" + path + "\"";
}

// Says what became of an engine that did not end by itself.
int report_death(const Ended& ended, const std::string& session, bool kept) {
  std::string what = ended.signal ? "The engine was ended by signal " + std::to_string(ended.signal) + " (" +
                                        strsignal(ended.signal) + ")."
                                  : "The engine ended without closing the session (exit status " +
                                        std::to_string(ended.status) + ").";
  std::string hint = ended.signal ? "A crash in native code, or the system ran out of memory."
                                  : "Did the code call os._exit()?";
  if (kept) hint += " What was recorded until then is in " + quoted(session) + ".";
  return fail(Error{what, hint, ""}, ended.signal ? 128 + ended.signal : 1);
}

void print_summary(const session::Reader& s) {
  std::string text = "\n" + stage_summary(s) + "\n" + run_summary(s) + "\n" + verdict_summary(s);
  if (std::string problems = problem_summary(s); !problems.empty()) text += "\n" + problems;
  print_text(text);
}

constexpr int kNotClosed = 74;  // vitrine.run could not write the session to its end, and has said so

// Runs the engine; its exit status, or that of its death.
int record(const EngineArguments& engine, const std::string& file, const std::string& session,
           std::vector<std::string> more = {}) {
  std::vector<std::string> words = engine.words(file);
  more.insert(more.begin(), {"-o", session});
  words.insert(words.begin() + 1, more.begin(), more.end());
  auto ended = run_module(places(), "vitrine.run", words);
  if (!ended) return fail(ended.error());
  std::fflush(stdout);
  std::error_code ignored;
  bool died = ended.value().signal != 0;
  bool kept = false;
  if (fs::exists(session, ignored) && ended.value().status != 2) {
    auto abandoned = session::close_abandoned(session, session::Whose::Mine);
    kept = abandoned.ok();
    died = died || (abandoned && abandoned.value());
  }
  if (ended.value().status == kNotClosed && !ended.value().signal) return 1;
  return died ? report_death(ended.value(), session, kept) : ended.value().status;
}

}  // namespace

int fail(const Error& error, int status) {
  const std::string where = error.where.empty() ? "" : error.where + ": ";
  std::fprintf(stderr, "vitrine: %s\n", visible(where + error.what, Keep::Lines).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", visible(error.hint, Keep::Lines).c_str());
  return status;
}

void print_text(const std::string& text) {
  const std::string shown = visible(text, Keep::Lines);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void EngineArguments::declare(CLI::App& command) {
  values_.resize(kEngineOptions.size());
  flags_.resize(kEngineOptions.size());
  for (size_t i = 0; i < kEngineOptions.size(); ++i) {
    const EngineOption& row = kEngineOptions[i];
    if (!*row.value) {
      command.add_flag_callback(row.name, [this, i] { flags_[i] = 1; }, row.about);
      continue;
    }
    command.add_option(row.name, values_[i], row.about)
        ->type_name(row.value)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

std::vector<std::string> EngineArguments::words(const std::string& file) const {
  std::vector<std::string> out{file};
  for (size_t i = 0; i < kEngineOptions.size(); ++i) {
    if (flags_[i]) out.emplace_back(kEngineOptions[i].name);
    for (const std::string& value : values_[i])
      out.push_back(std::string(kEngineOptions[i].name) + "=" + value);
  }
  if (!script.empty()) out.emplace_back("--");
  out.insert(out.end(), script.begin(), script.end());
  return out;
}

namespace {

// Differs once something was recorded there: a run that failed may have left the earlier session.
std::string stamp_of(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0) return "";
  return std::to_string(st.st_ino) + " " + std::to_string(st.st_size) + " " +
         std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec);
}

}  // namespace

int run_command(const RunArguments& a) {
  const std::string session = a.session.empty() ? default_session(a.file) : a.session;
  const std::string before = stamp_of(session);
  const int status = record(a.engine, a.file, session);
  if (const std::string now = stamp_of(session); a.redact && now != before && !now.empty())
    if (Status bad = session::keep_shared_copy_only(session)) {
      std::error_code ignored;
      fs::remove(session, ignored);  // rather none than one that says what it should not
      return fail(*bad);
    }
  if (status != 0 && status != 3) return status;
  auto opened = session::Reader::open(session, session::Whose::Mine);
  if (!opened) return fail(opened.error());
  print_summary(*opened.value());
  if (a.open && has_display()) return fail(exec_program(places().bin + "/vitrine-app", {session}));
  std::printf("\nrecorded %s; open it with: vitrine open %s\n", session.c_str(), quoted(session).c_str());
  return status;
}

int share_command(const std::string& session, const std::string& copy) {
  const fs::path from(session);
  const std::string to =
      copy.empty() ? (from.parent_path() / (from.stem().string() + ".shared.vitrine")).string() : copy;
  if (Status bad = session::write_shared_copy(session, to)) return fail(*bad);
  print_text("written " + to +
             ": without arguments of the script, strings of guards and steps, folders and\n"
             "texts of exceptions. The source of the program is in it.\n");
  return 0;
}

int trust_command(const std::string& session) {
  if (Status bad = session::trust_session(session)) return fail(*bad);
  print_text(session + " is trusted from now on: what it names may be run again without asking.\n");
  return 0;
}

int explain_command(const RunArguments& a) {
  std::string session = a.file;
  const bool python = a.file.ends_with(".py");
  if (python) {
    session =
        (fs::temp_directory_path() / ("vitrine-explain-" + std::to_string(getpid()) + ".vitrine")).string();
    if (int status = record(a.engine, a.file, session, {"--repeats=0"}); status != 0 && status != 3) {
      std::error_code ignored;
      fs::remove(session, ignored);
      return status;
    }
  }
  int status = 0;
  if (auto opened = session::Reader::open(session))
    print_text(explain(*opened.value()));
  else
    status = fail(opened.error());
  std::error_code ignored;
  if (python) fs::remove(session, ignored);
  return status;
}

}  // namespace vitrine::cli
