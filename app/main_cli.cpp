// The command line: every command is one function below, registered in main(). Recording and measuring happen
// in Python (the engine); what was recorded is printed from the session file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "app/cli/python_process.h"
#include "app/cli/show.h"

namespace {

using namespace vitrine;
using namespace vitrine::cli;

int fail(const Error& error) {
  std::fprintf(stderr, "vitrine: %s%s\n", error.where.empty() ? "" : (error.where + ": ").c_str(),
               error.what.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", error.hint.c_str());
  return 1;
}

Result<std::unique_ptr<session::Reader>> open_session(const std::string& path) {
  return session::Reader::open(path);
}

// transformer_block.py -> transformer_block.vitrine in the working folder.
std::string default_session(const std::string& file) {
  return std::filesystem::path(file).stem().string() + ".vitrine";
}

struct RunArgs {
  std::string file, session;
  bool open = false;
  std::vector<std::string> rest;    // passed on to the engine as they are
  std::vector<std::string> script;  // the script's own
};

int run(const RunArgs& a) {
  std::string session = a.session.empty() ? default_session(a.file) : a.session;
  std::vector<std::string> args{a.file, "-o", session};
  args.insert(args.end(), a.rest.begin(), a.rest.end());
  args.emplace_back("--");
  args.insert(args.end(), a.script.begin(), a.script.end());
  auto status = run_module(places(), "vitrine.run", args);
  if (!status) return fail(status.error());
  if (status.value() >= 128) {
    std::fprintf(stderr, "vitrine: the engine stopped (signal %d). What was recorded until then is in %s\n",
                 status.value() - 128, session.c_str());
  }
  auto opened = open_session(session);
  if (opened)
    std::printf("\n%s\n%s", stage_summary(*opened.value()).c_str(), run_summary(*opened.value()).c_str());
  if (status.value() != 0) return status.value();
  if (a.open && has_display()) return fail(exec_program(places().bin + "/vitrine-app", {session}));
  std::printf("\nrecorded %s; open it with: vitrine open %s\n", session.c_str(), session.c_str());
  return 0;
}

int show_command(const std::string& path, const std::string& stage, const ShowOptions& options) {
  auto opened = open_session(path);
  if (!opened) return fail(opened.error());
  auto text = show(*opened.value(), stage, options);
  if (!text) return fail(text.error());
  std::fwrite(text.value().data(), 1, text.value().size(), stdout);
  return 0;
}

int explain_command(const std::string& path) {
  std::string session = path;
  if (path.ends_with(".py")) {
    session = (std::filesystem::temp_directory_path() / default_session(path)).string();
    auto status = run_module(places(), "vitrine.run", {path, "-o", session, "--repeats", "0"});
    if (!status) return fail(status.error());
    if (status.value() != 0) return status.value();
  }
  auto opened = open_session(session);
  if (!opened) return fail(opened.error());
  std::printf("%s", explain(*opened.value()).c_str());
  return 0;
}

std::string stage_list() {
  std::string out = "Stages:\n";
  for (const ShowRow& row : show_table())
    out +=
        "  " + std::string(row.name) + std::string(16 - row.name.size(), ' ') + std::string(row.about) + "\n";
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Vitrine: a compiler for PyTorch models that you can see through"};
  app.require_subcommand(1);
  app.set_version_flag("--version", VITRINE_VERSION);
  int status = 0;

  RunArgs run_args;
  auto* c = app.add_subcommand(
      "run", "Record a model or script: capture, compile, run, check against eager, measure");
  c->add_option("file", run_args.file, "Python file")->required();
  c->add_option("-o,--output", run_args.session, "session file (default: FILE's name with .vitrine)");
  c->add_flag("--open", run_args.open, "open the application afterwards, when there is a display");
  c->allow_extras();
  c->footer(
      "Further options go to the engine: --entry NAME --input \"f32[8,128]\" --take-over --repeats N --mode "
      "MODE --check, and after -- the script's own.");
  c->callback([&, c] {
    run_args.rest = c->remaining();
    status = run(run_args);
  });

  std::string session, stage;
  ShowOptions options;
  c = app.add_subcommand("show", "Print a stage or table of a session");
  c->add_option("session", session, "session file")->required();
  c->add_option("stage", stage, "what to show")->required();
  c->add_flag("--json", options.json, "rows as JSON");
  c->add_flag("--passes", options.passes, "every snapshot of a graph stage");
  c->add_option("--compilation", options.compilation, "only this one, such as 0/1");
  c->footer(stage_list());
  c->callback([&] { status = show_command(session, stage, options); });

  c = app.add_subcommand("explain",
                         "Graphs, breaks, guards and recompilations of a session or a Python file, as prose");
  c->add_option("file", session, "session or Python file")->required();
  c->callback([&] { status = explain_command(session); });

  c = app.add_subcommand("bench", "Measure against eager and, with --against inductor, torch.compile");
  c->allow_extras();
  c->prefix_command();
  c->callback([&, c] { status = fail(exec_module(places(), "vitrine.bench", c->remaining())); });

  std::vector<std::string> files;
  c = app.add_subcommand("open", "Open sessions in the application");
  c->add_option("sessions", files, "session files");
  c->callback([&] { status = fail(exec_program(places().bin + "/vitrine-app", files)); });

  c = app.add_subcommand(
      "shot", "Render a view: shot SESSION VIEW OUT.png [--theme light|dark] [--size WxH] [--scale N]");
  c->allow_extras();
  c->prefix_command();
  c->callback([&, c] {
    std::vector<std::string> args{"--shot"};
    for (const std::string& word : c->remaining()) args.push_back(word);
    setenv("QT_QPA_PLATFORM", "offscreen", 0);
    status = fail(exec_program(places().bin + "/vitrine-app", args));
  });

  c = app.add_subcommand("doctor", "What was found here, and what each missing part switches off");
  c->allow_extras();
  c->callback([&, c] { status = fail(exec_module(places(), "vitrine.doctor", c->remaining())); });

  // Behind -- everything is the script's, whatever it looks like.
  char** const last = argv + argc;
  char** const own = argc > 1 && std::string_view(argv[1]) == "run"
                         ? std::find_if(argv, last, [](const char* a) { return std::string_view(a) == "--"; })
                         : last;
  if (own != last) run_args.script.assign(own + 1, last);
  CLI11_PARSE(app, static_cast<int>(own - argv), argv);
  return status;
}
