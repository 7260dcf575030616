#include "app/cli/run_command.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "app/cli/python_process.h"
#include "app/cli/show.h"
#include "app/cli/text_table.h"
#include "core/base/last_words.h"
#include "core/base/runnable.h"
#include "core/base/visible.h"
#include "core/session/abandoned.h"
#include "core/session/recording_place.h"
#include "core/session/shared_copy.h"

namespace vitrine::cli {

namespace fs = std::filesystem;

namespace {

struct EngineOption {
  const char *name, *value, *about;  // value: "" for a flag
};

constexpr std::array<EngineOption, 19> kEngineOptions = {{
    {"--entry", "NAME", "function, class or Class.method to call; a module runs in eval mode"},
    {"--input", "SPEC", "one argument: \"f32[8,128]\", \"i64[2,16]<1000\" or a Python literal; repeatable"},
    {"--take-over", "", "compile what the script gives to torch.compile"},
    {"--eager-too", "",
     "run a script once more, eagerly, and compare its steps: what it writes or sends happens twice"},
    {"--repeats", "N", "measured calls on each side (default 20; 0: do not measure)"},
    {"--counters", "N",
     "on a GPU: kernels of a call whose hardware counters are read and which are sampled (default 128; 0: "
     "none)"},
    {"--mode", "MODE", "torch.compile's modes; on a CPU all mean default"},
    {"--dynamic", "WHEN", "sizes are symbols: auto (once one changes), yes (from the start) or no"},
    {"--device", "DEVICE", "put model and inputs there: cpu, cuda, cuda:1"},
    {"--target", "ARCH", "compile for that GPU (\"sm_90\"), which need not be here: nothing is run on it"},
    {"--freezing", "", "weights are constant: what is made of them alone is kept between calls"},
    {"--fullgraph", "", "an error instead of a graph break"},
    {"--grad", "", "keep grad mode on for a module in eval mode"},
    {"--train", "", "a step of training: forward, and the gradients of the sum of its results"},
    {"--pin", "NAME=WHAT",
     "what becomes of a value that backward needs: saved or recomputed, by its name among the saved tensors; "
     "repeatable"},
    {"--check", "", "compare every compiled graph with eager, not the outputs only"},
    {"--numerics", "", "compare each value of every compiled graph with eager's and with float64"},
    {"--edited", "GENERATED=EDITED",
     "two files: a kernel's text, and what is compiled in its place; repeatable"},
    {"--events", "", "progress as JSON lines on stdout, each after a record separator"},
}};

// transformer_block.py -> transformer_block.vitrine in the working folder.
std::string default_session(const std::string& file) {
  return fs::path(file).stem().string() + ".vitrine";
}

std::string in_quotes(const std::string& path) {
  return path.find(' ') == std::string::npos ? path : "\"" + path + "\"";
}

// What the engine told when it ended by itself, or what was found out about its recording.
struct Recorded {
  int status = 0;       // exit status, as the user gets it
  std::string session;  // where the recording is; "": there is none
  bool finished = false;
  std::vector<std::string> read;  // the user's own files that it read
};

// Where the recording of an engine that has died is; "" where nothing had been compiled.
std::string recording_of_the_dead(const std::string& session) {
  using What = session::Settled::What;
  auto settled = session::settle_recording(session);
  if (!settled) return settled.error().where;
  const session::Settled& s = settled.value();
  if (s.what == What::kept) return (fs::path(session).parent_path() / fs::path(s.path).filename()).string();
  return s.what == What::nothing || s.what == What::replaced ? session : "";
}

// Where it was recorded: at the place that was asked for, or beside it. "": nowhere.
std::string recorded_at(const nlohmann::json& told, const std::string& session) {
  if (!told.contains("recording")) return "";
  const std::string beside = session::unsettled_recording(session);
  return beside.empty() ? session : beside;
}

// Says what became of an engine that did not end by itself.
Recorded report_death(const Ended& ended, const EngineArguments& engine, const std::string& session,
                      const nlohmann::json& told) {
  std::string what = ended.signal ? "The engine was ended by signal " + std::to_string(ended.signal) + " (" +
                                        strsignal(ended.signal) + ")."
                                  : "The engine ended without closing the session (exit status " +
                                        std::to_string(ended.status) + ").";
  std::string hint = engine.has("--edited")
                         ? "The kernel whose text was edited may touch what is not its tensors'."
                     : ended.signal ? "A crash in native code, or the system ran out of memory."
                                    : "Did the code call os._exit()?";
  const session::Death death{what, hint, last_words(ended.written)};
  if (const std::string at = recorded_at(told, session); !at.empty())
    (void)session::close_abandoned(at, session::Whose::Mine, session::Abandonment::Died, death);
  const std::string kept = told.contains("recording") ? recording_of_the_dead(session) : "";
  std::error_code ignored;
  if (!kept.empty()) hint += " What was recorded until then is in " + in_quotes(kept) + ".";
  if (kept != session && fs::exists(session, ignored)) hint += " " + in_quotes(session) + " is as it was.";
  const int status = ended.signal ? 128 + ended.signal : told.contains("script") ? ended.status : 1;
  return {fail(Error{what, hint, ""}, status), kept, false};
}

void print_summary(const session::Reader& s) {
  const std::string runs = run_summary(s, terminal_width(), "`vitrine show " + s.path() + " runs --wide`");
  std::string text = "\n" + stage_summary(s) + "\n" + runs + "\n" + verdict_summary(s);
  if (std::string problems = problem_summary(s); !problems.empty()) text += "\n" + problems;
  print_prose(text);
}

// Runs the engine.
Recorded record(const EngineArguments& engine, const std::string& file, const std::string& session,
                std::vector<std::string> more = {}) {
  std::vector<std::string> words = engine.words(file);
  more.insert(more.begin(), {"-o", session});
  words.insert(words.begin() + 1, more.begin(), more.end());
  auto ended = run_module(places(), "vitrine._tools.run", words);
  if (!ended) return {fail(ended.error())};
  std::fflush(stdout);
  nlohmann::json told = nlohmann::json::object();
  std::istringstream lines(ended.value().said);
  for (std::string line; std::getline(lines, line);)
    if (const auto facts = nlohmann::json::parse(line, nullptr, false); facts.is_object()) told.update(facts);
  // It ended before it began to record, and has said why.
  if (!ended.value().signal && ended.value().status && told.empty()) return {ended.value().status};
  if (ended.value().signal || !told.contains("status"))
    return report_death(ended.value(), engine, session, told);
  Recorded out{ended.value().status};
  if (told.contains("read") && told["read"].is_array())
    for (const auto& file : told["read"])
      if (file.is_string()) out.read.push_back(file);
  out.session = told.value("session", "");
  out.finished = told.value("status", "") == "finished" && !out.session.empty();
  return out;
}

}  // namespace

int fail(const Error& error, int status) {
  const std::string where = error.where.empty() ? "" : error.where + ": ";
  std::string said = "vitrine: " + visible(where + error.what, Keep::Lines) + "\n";
  if (!error.hint.empty()) said += "  " + visible(error.hint, Keep::Lines) + "\n";
  std::fputs(wrapped(said, terminal_width(STDERR_FILENO)).c_str(), stderr);
  return status;
}

void print_text(const std::string& text) {
  const std::string shown = visible(text, Keep::Lines);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

size_t terminal_width(int stream) {
  winsize size{};
  if (!isatty(stream) || ioctl(stream, TIOCGWINSZ, &size)) return 0;
  return size.ws_col;
}

void print_prose(const std::string& text) {
  print_text(wrapped(text, terminal_width()));
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

bool EngineArguments::has(const std::string& name) const {
  for (size_t i = 0; i < kEngineOptions.size(); ++i)
    if (kEngineOptions[i].name == name) return flags_[i] || !values_[i].empty();
  return false;
}

namespace {

int run_once(const RunArguments& a, std::vector<std::string>& read) {
  Recorded run = record(a.engine, a.file, a.session.empty() ? default_session(a.file) : a.session);
  if (!run.read.empty()) read = std::move(run.read);
  if (a.redact && !run.session.empty())
    if (Status bad = session::keep_shared_copy_only(run.session)) {
      session::remove_session(run.session);  // rather none than one that says what it should not
      return fail(*bad);
    }
  if (!run.finished) return run.status;
  auto opened = session::Reader::open(run.session, session::Whose::Mine);
  if (!opened) return fail(opened.error());
  print_summary(*opened.value());
  if (a.open && has_display()) return fail(exec_program(places().bin + "/vitrine-app", {run.session}));
  std::printf("\nrecorded %s; open it with: vitrine open %s\n", run.session.c_str(),
              in_quotes(run.session).c_str());
  return run.status;
}

// Until one of the files has changed, and none has for a moment: an editor writes in several steps.
std::string changed_one(const std::vector<std::string>& files) {
  using Clock = std::chrono::steady_clock;
  auto stamps = [&] {
    std::vector<std::pair<int64_t, int64_t>> out;
    for (const std::string& file : files) {
      struct stat st{};
      const bool there = stat(file.c_str(), &st) == 0;
      out.emplace_back(there ? st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec : 0,
                       there ? st.st_size : -1);
    }
    return out;
  };
  const auto before = stamps();
  auto last = before;
  std::optional<Clock::time_point> since;
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (auto now = stamps(); now != last) {
      last = std::move(now);
      since = Clock::now();
      continue;
    }
    if (!since || Clock::now() - *since < std::chrono::milliseconds(300)) continue;
    for (size_t i = 0; i < files.size(); ++i)
      if (last[i] != before[i] && last[i].second >= 0) return files[i];
    since.reset();  // it is as it was, or away and about to come back
  }
}

int watch(const RunArguments& a) {
  std::vector<std::string> read{a.file};
  while (true) {
    const int status = run_once(a, read);
    if (status == 130) return status;
    if (status == 2) return status;  // the words are wrong, whatever the file says
    std::fprintf(stderr, "vitrine: waiting for a change of %zu file%s; Ctrl-C ends\n", read.size(),
                 read.size() == 1 ? "" : "s");
    std::fflush(stdout);
    const std::string file = changed_one(read);
    std::fprintf(stderr, "vitrine: %s has changed\n", visible(fs::path(file).filename().string()).c_str());
  }
}

}  // namespace

int run_command(const RunArguments& a) {
  if (a.watch && a.open)
    return fail(Error{"--open ends here, and --watch goes on.",
                      "Leave one of them out; the window's run dialog watches too.", ""},
                2);
  if (a.watch) return watch(a);
  std::vector<std::string> read;
  return run_once(a, read);
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
  const bool python = is_runnable(a.file);
  if (python) {
    session =
        (fs::temp_directory_path() / ("vitrine-explain-" + std::to_string(getpid()) + ".vitrine")).string();
    if (const Recorded run = record(a.engine, a.file, session, {"--repeats=0"}); !run.finished) {
      session::remove_session(session);
      return run.status;
    }
  }
  int status = 0;
  if (auto opened = session::Reader::open(session))
    print_prose(explain(*opened.value()));
  else
    status = fail(opened.error());
  if (python) session::remove_session(session);
  return status;
}

}  // namespace vitrine::cli
