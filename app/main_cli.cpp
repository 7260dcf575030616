// The command line: every command is one function, and a row of kCommands. Recording and measuring happen in
// Python (the engine); what was recorded is printed from the session file.
#include <signal.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "app/cli/diff_command.h"
#include "app/cli/export_command.h"
#include "app/cli/import_command.h"
#include "app/cli/merge_command.h"
#include "app/cli/python_process.h"
#include "app/cli/query_command.h"
#include "app/cli/run_command.h"
#include "app/cli/show.h"
#include "app/cli/text_table.h"
#include "core/base/closest.h"
#include "core/session/abandoned.h"
#include "core/session/ranks/ranks.h"
#include "core/session/recording_place.h"

namespace {

using namespace vitrine;
using namespace vitrine::cli;

// What a command that reads a session says first, on stderr; it moves nothing.
void tell_of_recording_beside(const std::string& path) {
  const std::string beside = session::unsettled_recording(path);
  if (beside.empty()) return;
  std::fprintf(stderr, "vitrine: a later run for %s was cut short or is going on; it is in %s\n",
               path.c_str(), beside.c_str());
}

int show_command(const std::string& path, const std::string& stage, ShowOptions options) {
  options.width = options.wide ? 0 : terminal_width();
  session::close_if_abandoned(path);
  tell_of_recording_beside(path);
  auto opened = session::Reader::open(path);
  if (!opened) return fail(opened.error());
  auto text = show(*opened.value(), stage, options);
  if (!text) return fail(text.error(), 2);
  if (options.json || options.csv)  // exact, as other programs read it
    std::fwrite(text.value().data(), 1, text.value().size(), stdout);
  else
    print_text(is_code(stage, options) ? text.value() : wrapped(text.value(), options.width));
  if (opened.value()->damage().empty()) return 0;
  return fail(Error{"A part of the session is damaged: " + opened.value()->damage() + ".",
                    "What could be read is above.", path});
}

std::string stage_list() {
  std::string out = "Stages:\n";
  for (const ShowRow& row : show_table())
    out +=
        "  " + std::string(row.name) + std::string(16 - row.name.size(), ' ') + std::string(row.about) + "\n";
  return out;
}

int open_command(std::vector<std::string> files, bool compare, bool apart) {
  if (compare && files.size() != 2)
    return fail(Error{"--compare takes two sessions.", "vitrine open --compare BEFORE AFTER", ""}, 2);
  for (const std::string& file : files) tell_of_recording_beside(file);
  for (const std::string& file : files)
    if (!std::filesystem::exists(file)) return fail(Error{file + " does not exist.", "Check the path.", ""});
  const bool elsewhere = std::getenv("QT_QPA_PLATFORM") != nullptr;  // vnc, eglfs, offscreen need no display
  if (!has_display() && !elsewhere)
    return fail(
        Error{"There is no display to open a window on.",
              "Set DISPLAY or WAYLAND_DISPLAY; `vitrine show` prints what the window shows, and `vitrine "
              "shot` draws it into a picture.",
              ""});
  if (!compare && !apart && session::are_ranks(files)) {
    const std::string merged = session::merged_name(files.front());
    const Status apart_after_all = session::write_merged(files, merged);
    print_text("The sessions are ranks of one program: " +
               (apart_after_all ? "a window each. " + apart_after_all->what : merged + " has all of them.") +
               "\n");
    if (!apart_after_all) files = {merged};
  }
  std::vector<std::string> words;
  for (const std::string& file : files) {
    words.push_back(session_for(file));
    if (words.back().empty()) return 1;
  }
  if (compare) words.insert(words.begin(), "--compare");
  return fail(exec_program(places().bin + "/vitrine-app", words));
}

// A command whose words, --help among them, belong to another program.
CLI::App* pass_on(CLI::App& app, const char* name, const char* about) {
  CLI::App* command = app.add_subcommand(name, about);
  command->set_help_flag();
  command->prefix_command();
  return command;
}

// Nothing for a word that names a command or is an option.
std::optional<Error> unknown_command(const CLI::App& app, const std::string& word) {
  std::string names;
  std::vector<std::string> all;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (known->get_name() == word) return std::nullopt;
    names += (names.empty() ? "" : ", ") + known->get_name();
    all.push_back(known->get_name());
  }
  if (word.starts_with("-")) return std::nullopt;
  return Error{"There is no command \"" + word + "\"." + did_you_mean(word, all), "Commands: " + names + ".",
               ""};
}

// What is behind a command and looks like an option of it, and is none: ". Did you mean \"--json\"?", or "".
std::string meant_option(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        if (argc > 1 && command->get_name() == argv[1]) known.push_back("--" + name);
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    const std::string name(word.substr(0, word.find('=')));
    if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (const std::string meant = did_you_mean(name, known); !meant.empty()) return "." + meant;
  }
  return "";
}

// What was typed, by command, and the exit status of the one that ran.
struct CommandLine {
  RunArguments run, explain;
  std::string session, stage, shared, copy, trusted, imported;
  ShowOptions show;
  DiffArguments diff;
  ExportArguments exported;
  QueryArguments query;
  std::vector<std::string> files;
  bool compare = false, apart = false;
  int status = 0;
};

void add_run(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand(
      "run", "Record a model or script: capture, compile, run, check against eager, measure");
  c->add_option("file", t.run.file, "Python file, notebook (.ipynb) or exported program (.pt2)")->required();
  c->add_option("-o,--output", t.run.session, "session file (default: FILE's name with .vitrine)");
  c->add_flag("--redact", t.run.redact, "keep only what can be shared: see `vitrine share`");
  c->add_flag("--watch", t.run.watch,
              "record again whenever FILE changes, or a module that it imports from its folder");
  c->add_flag("--open", t.run.open, "open the application afterwards, when there is a display");
  t.run.engine.declare(*c);
  c->footer(
      "What stands behind -- is the script's own.\n"
      "FILE defines model and inputs, or get_model() and get_inputs(), or what --entry names; else it is a "
      "script. A notebook runs as a script, cell by cell; an exported program with its example inputs.\n"
      "Exit status: 0; 1 the file or the environment is at fault; 2 wrong arguments; 3 compiled and eager "
      "outputs\n"
      "differ; 130 cancelled; 128 + N when signal N ended the engine. A script that ends with a status of "
      "its\n"
      "own gives that one.\n"
      "A session that stands at -o is replaced by a run that has finished, and by any other only where it "
      "is\n"
      "worth no more; what such a run recorded is then kept beside it, as NAME.failed.vitrine.");
  c->callback([&] { t.status = run_command(t.run); });
}

void add_show(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand("show", "Print a summary of a session, or one of its stages and tables");
  c->add_option("session", t.session, "session file, or what `vitrine import` takes, such as a package")
      ->required();
  c->add_option("stage", t.stage, "what to show (default: a summary, problems first)");
  c->add_option("pair", t.show.pair, "of why: two nodes or kernels, such as gelu K3")->expected(0, 2);
  c->add_flag("--json", t.show.json, "rows as JSON");
  c->add_flag("--csv", t.show.csv, "rows as CSV, with a header");
  c->add_flag("--passes", t.show.passes, "every snapshot of a graph stage");
  c->add_option("--compilation", t.show.compilation, "only this one, such as 0/1");
  c->add_option("--kernel", t.show.kernel, "the text of this kernel alone, such as K3");
  for (const auto& [flag, text] :
       {std::pair{"--source", "kernels"}, {"--ir", "ir"}, {"--assembly", "assembly"}})
    c->add_flag_callback(
        flag, [&t, text = text] { t.show.text = text; }, "of --kernel: its " + std::string(flag).substr(2));
  c->add_flag("--wide", t.show.wide, "on a terminal: elide, fold and leave out nothing");
  c->footer(stage_list());
  c->callback([&] {
    const std::string session = session_for(t.session);
    t.status = session.empty() ? 1 : show_command(session, t.stage, t.show);
  });
}

void add_diff(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand("diff", "What differs between two sessions, and whether it costs time");
  c->add_option("before", t.diff.before, "session file")->required();
  c->add_option("after", t.diff.after, "session file; none: two compilations of one session");
  c->add_option("--compilation", t.diff.compilations, "only this one, such as 0/1; two: one of each side")
      ->expected(1, 2);
  c->add_option("--fail-if-slower", t.diff.slower,
                "exit status 1 if a call takes so much longer, such as 5%");
  c->add_flag("--json", t.diff.json, "as JSON");
  c->add_flag("--wide", t.diff.wide, "leave out nothing");
  c->footer(
      "Times differ only where they are apart by more than the repeats of both sessions scatter.\n"
      "Exit status: 0 no difference beyond the limit; 1 slower than the limit, or a session is at fault; 2 "
      "wrong "
      "arguments.");
  c->callback([&] {
    t.diff.before = session_for(t.diff.before);
    const bool two = !t.diff.after.empty();
    if (two) t.diff.after = session_for(t.diff.after);
    const bool missing = t.diff.before.empty() || (two && t.diff.after.empty());
    t.status = missing ? 1 : diff_command(t.diff);
  });
}

void add_explain(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand(
      "explain", "Graphs, breaks, guards and recompilations of a session or a Python file, as prose");
  c->add_option("file", t.explain.file, "session or Python file")->required();
  t.explain.engine.declare(*c);
  c->callback([&] { t.status = explain_command(t.explain); });
}

void add_bench(CLI::App& app, CommandLine& t) {
  CLI::App* c = pass_on(app, "bench", "Measure against eager and, with --against inductor, torch.compile");
  c->callback([&, c] { t.status = fail(exec_module(places(), "vitrine._tools.bench", c->remaining())); });
}

// A command of the engine's Python, whose words are its own.
void add_tool(CLI::App& app, CommandLine& t, const char* name, const char* about) {
  CLI::App* c = pass_on(app, name, about);
  c->callback([&t, c, name] {
    std::vector<std::string> words = c->remaining();
    if (!t.run.engine.script.empty()) words.emplace_back("--");
    words.insert(words.end(), t.run.engine.script.begin(), t.run.engine.script.end());
    t.status = fail(exec_module(places(), std::string("vitrine._tools.numerics.") + name, words));
  });
}

void add_check(CLI::App& app, CommandLine& t) {
  add_tool(app, t, "check", "Compare each value of the compiled graphs with eager's and with float64");
}

void add_bisect(CLI::App& app, CommandLine& t) {
  add_tool(app, t, "bisect", "Find the pass, the fusion and the kernel at which a result turns wrong");
}

void add_reduce(CLI::App& app, CommandLine& t) {
  add_tool(app, t, "reduce", "Write the smallest graph that is still wrong as a Python file of its own");
}

void add_open(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand("open", "Open sessions in the application");
  c->add_option("sessions", t.files, "session files, or what `vitrine import` takes");
  c->add_flag("--compare", t.compare, "two sessions side by side in one window, and what differs");
  c->add_flag("--apart", t.apart, "a window each, though they are ranks of one program");
  c->callback([&] { t.status = open_command(t.files, t.compare, t.apart); });
}

void add_merge(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand(
      "merge",
      "One session of a program's ranks: a lane each, the skew between them, what was compiled otherwise");
  c->add_option("sessions", t.files, "session files, one a rank")->required();
  c->add_option("-o,--output", t.copy, "the session (default: NAME.ranks.vitrine beside the first)");
  c->callback([&] { t.status = merge_command(t.files, t.copy); });
}

void add_import(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand("import", "Make a session of what another tool recorded");
  c->add_option("path", t.imported,
                "a trace of torch.profiler (.json, .json.gz), a TORCH_TRACE folder or log, a "
                "torch_compile_debug folder, "
                "`nsys export --type sqlite`, or a package (.vpkg)")
      ->required();
  c->add_option("-o,--output", t.copy, "the session (default: NAME.vitrine, here)");
  c->callback([&] { t.status = import_command(t.imported, t.copy); });
}

void add_share(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand(
      "share",
      "Write a copy of a session that can be given away: without the script's arguments, strings of "
      "guards and steps, folders of paths and texts of exceptions");
  c->add_option("session", t.shared, "session file")->required();
  c->add_option("-o,--output", t.copy, "the copy (default: NAME.shared.vitrine beside it)");
  c->callback([&] { t.status = share_command(t.shared, t.copy); });
}

void add_export(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand(
      "export", "Write a page of the run, its timeline, graphs or kernels as other programs read them");
  c->add_option("session", t.exported.session, "session file")->required();
  c->add_option(
       "--to", t.exported.format,
       "html (the whole run as one page), fx (a folder: each ATen graph as Python), perfetto (a trace for "
       "ui.perfetto.dev), dot, svg, pdf, png (by Graphviz), kernels (a folder of texts), debug-folder (a "
       "folder of graphs, guards, breaks, verdicts and kernels, by compilation)")
      ->required();
  c->add_option("-o,--output", t.exported.output, "where to (default: NAME with the format's ending, here)");
  c->add_option("--compilation", t.exported.compilation, "only this one, such as 0/1");
  c->add_option("--stage", t.exported.stage,
                "of which stage the graphs are (default: fused, or the last that there is)");
  c->callback([&] { t.status = export_command(t.exported); });
}

void add_query(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand("query", "Ask a session in SQL; without a question, what can be asked");
  c->add_option("session", t.query.session, "session file")->required();
  c->add_option("sql", t.query.sql, "one SELECT; -: it is read from the input");
  c->add_flag("--json", t.query.json, "rows as JSON");
  c->add_flag("--csv", t.query.csv, "rows as CSV, with a header");
  c->add_option("--limit", t.query.limit, "rows at most (default 100000)");
  c->add_option("--seconds", t.query.seconds, "how long it may take (default 60)")
      ->check(CLI::Range(0.001, 86400.0));
  c->footer("Exit status: 0; 1 the session is at fault; 2 the question is.");
  c->callback([&] {
    t.query.width = terminal_width();
    t.status = query_command(t.query);
  });
}

void add_trust(CLI::App& app, CommandLine& t) {
  CLI::App* c = app.add_subcommand(
      "trust", "Say that a session from elsewhere may be run again without asking, and written to");
  c->add_option("session", t.trusted, "session file")->required();
  c->callback([&] { t.status = trust_command(t.trusted); });
}

void add_shot(CLI::App& app, CommandLine& t) {
  CLI::App* c = pass_on(
      app, "shot", "Render a view: shot SESSION VIEW OUT.png [--theme light|dark] [--size WxH] [--scale N]");
  c->callback([&, c] {
    std::vector<std::string> words{"--shot"};
    for (const std::string& word : c->remaining()) words.push_back(word);
    if (words.size() > 1) words[1] = session_for(words[1]);
    if (words.size() > 1 && words[1].empty()) return void(t.status = 1);
    setenv("QT_QPA_PLATFORM", "offscreen", 0);
    t.status = fail(exec_program(places().bin + "/vitrine-app", words));
  });
}

void add_doctor(CLI::App& app, CommandLine& t) {
  CLI::App* c = pass_on(app, "doctor", "What was found here, and what each missing part switches off");
  c->callback([&, c] { t.status = fail(exec_doctor(places(), c->remaining())); });
}

// In the order of --help.
constexpr void (*kCommands[])(CLI::App&, CommandLine&) = {
    add_run,   add_show,  add_diff,   add_explain, add_check, add_bisect, add_reduce, add_bench, add_open,
    add_merge, add_query, add_export, add_import,  add_share, add_trust,  add_shot,   add_doctor};

// Commands for which what stands behind -- is somebody else's.
constexpr std::string_view kTakeScript[] = {"run", "explain", "check", "bisect", "reduce"};

int commands(int argc, char** argv) {
  CLI::App app{"Vitrine: a compiler for PyTorch models that you can see through"};
  app.require_subcommand(1);
  app.set_version_flag("--version", VITRINE_VERSION);
  app.failure_message([argc, argv](const CLI::App* command, const CLI::Error& error) {
    std::string name;
    for (const CLI::App* used : command->get_subcommands()) name = used->get_name();
    return "vitrine: " + std::string(error.what()) + meant_option(*command, argc, argv) +
           "\n  See: vitrine " + (name.empty() ? "" : name + " ") + "--help\n";
  });
  CommandLine typed;
  for (const auto add : kCommands) add(app, typed);

  if (argc > 1)
    if (const auto unknown = unknown_command(app, argv[1])) return fail(*unknown, 2);

  // What stands behind -- belongs to the script, whatever it looks like.
  char** end =
      std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  const bool takes_script = argc > 1 && std::any_of(std::begin(kTakeScript), std::end(kTakeScript),
                                                    [&](std::string_view name) { return name == argv[1]; });
  if (takes_script && end != argv + argc) {
    typed.run.engine.script.assign(end + 1, argv + argc);
    typed.explain.engine.script = typed.run.engine.script;
    argc = static_cast<int>(end - argv);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return typed.status;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of a write, which says so
  const int status = commands(argc, argv);
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  return fail(Error{std::string("The output could not be written: ") + std::strerror(errno) + ".",
                    "Make room, or write it elsewhere.", ""},
              status ? status : 1);
}
