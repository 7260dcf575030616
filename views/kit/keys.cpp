#include "views/kit/keys.h"

namespace vitrine::kit {

namespace {

// A rule above a row starts a new section of its menu: title "-".
constexpr CommandInfo kCommands[] = {
    {"file.open", "Open…", "File", "Ctrl+O", "a Python file or a session"},
    {"file.close", "Close session", "File", "Ctrl+W", ""},
    {"", "-", "File", "", ""},
    {"file.quit", "Quit", "File", "Ctrl+Q", ""},
    {"edit.undo", "Undo", "Edit", "Ctrl+Z", "of layouts and notes"},
    {"edit.redo", "Redo", "Edit", "Ctrl+Shift+Z", ""},
    {"", "-", "Edit", "", ""},
    {"edit.copy", "Copy", "Edit", "Ctrl+C", "the view's rows or text"},
    {"edit.copy-as", "Copy as CSV, DOT and picture", "Edit", "Ctrl+Shift+C",
     "what it is pasted into takes text or picture"},
    {"edit.copy-picture", "Copy as picture", "Edit", "", "the view as it is seen"},
    {"edit.copy-python", "Copy as Python", "Edit", "", "graphs as a function, tables as a list, source"},
    {"edit.all", "Select all in this view", "Edit", "Ctrl+A", ""},
    {"edit.find", "Find in view…", "Edit", "Ctrl+F", ""},
    {"edit.next", "Find next", "Edit", "F3", ""},
    {"edit.previous", "Find previous", "Edit", "Shift+F3", ""},
    {"", "-", "Edit", "", ""},
    {"edit.note", "Note on the active thing…", "Edit", "Ctrl+M", "kept in the session"},
    {"edit.bookmark", "Bookmark the active thing", "Edit", "Ctrl+D", "again: takes it away"},
    {"", "-", "Edit", "", ""},
    {"app.settings", "Settings…", "Edit", "Ctrl+Alt+,", "theme, size, motion, keys"},
    {"edit.clear", "Nothing active", "Edit", "Esc", "closes search, then range, then selection"},
    {"go.palette", "Go to anything…", "View", "Ctrl+K", ""},
    {"go.back", "Back", "View", "Alt+Left", "in the history of active things"},
    {"go.forward", "Forward", "View", "Alt+Right", ""},
    {"go.open", "Make active, then open in its best view", "View", "Return", "what the cursor is at"},
    {"go.open-other", "Open in the other pane", "View", "Ctrl+Return", ""},
    {"go.counterpart", "Jump to the counterpart", "View", "V", "eager or compiled, on the timeline", true},
    {"go.chain-back", "Previous link of the chain", "View", "[", "", true},
    {"go.chain-forward", "Next link of the chain", "View", "]", "", true},
    {"go.bookmark", "Next bookmark or note", "View", "B", "", true},
    {"go.next-relative", "Next relative in this view", "View", "N", "", true},
    {"go.previous-relative", "Previous relative in this view", "View", "Shift+N", "", true},
    {"", "-", "View", "", ""},
    {"view.zoom-in", "Zoom in", "View", "Ctrl+=", ""},
    {"view.zoom-out", "Zoom out", "View", "Ctrl+-", ""},
    {"view.zoom-reset", "Zoom 1:1", "View", "Ctrl+0", ""},
    {"view.fit", "Fit all", "View", "Z", "", true},
    {"view.fit-selection", "Fit selection", "View", "Shift+Z", "", true},
    {"view.only", "Show only relatives", "View", "F", "", true},
    {"view.all", "Show all", "View", "Shift+F", "", true},
    {"view.letters", "Linked colours", "View", "L", "of Python and its kernel", true},
    {"view.pin", "Pin Inspector", "View", "I", "it keeps what it shows", true},
    {"", "-", "View", "", ""},
    {"theme.system", "System theme", "View", "", ""},
    {"theme.light", "Light theme", "View", "", ""},
    {"theme.dark", "Dark theme", "View", "", ""},
    {"step.next", "Next step", "Step", ".", "", true},
    {"step.previous", "Previous step", "Step", ",", "", true},
    {"step.next-change", "Next step that changed something", "Step", ">", "", true},
    {"step.previous-change", "Previous step that changed something", "Step", "<", "", true},
    {"step.first", "First", "Step", "Home", "", true},
    {"step.last", "Last", "Step", "End", "", true},
    {"step.play", "Play or pause", "Step", "Space", "", true},
    {"", "-", "Step", "", ""},
    {"step.next-stage", "Next stage", "Step", "Ctrl+.", ""},
    {"step.previous-stage", "Previous stage", "Step", "Ctrl+,", ""},
    {"run.start", "Run", "Run", "F5", "record the Python file again"},
    {"run.cancel", "Cancel", "Run", "Shift+F5", ""},
    {"", "-", "Run", "", ""},
    {"kernel.edit", "Edit the kernel's text", "Run", "", "C++ or CUDA C++, in its pane"},
    {"kernel.rebuild", "Rebuild edited kernel", "Run", "F7", "compile, run, compare with the recorded run"},
    {"kernel.keep", "Keep edited kernel", "Run", "", "opens the session of its run"},
    {"kernel.discard", "Discard edited kernel", "Run", "", "the generated text again"},
    {"", "-", "Run", "", ""},
    {"run.reproducer", "Save reproducer…", "Run", "", "of what Vitrine failed at"},
    {"run.python", "Choose interpreter…", "Run", "", ""},
    {"window.split", "Split pane", "Window", "Ctrl+\\", ""},
    {"window.swap", "Swap A and B", "Window", "Ctrl+Shift+\\", ""},
    {"window.keep", "Keep this layout as…", "Window", "", "a layout of your own"},
    {"window.drop", "Forget this layout", "Window", "", "one of your own"},
    {"window.reset", "Reset layout", "Window", "", ""},
    {"", "-", "Window", "", ""},
    {"window.bottom", "Bottom dock", "Window", "Ctrl+J", ""},
    {"window.left", "Left dock", "Window", "Ctrl+Shift+E", ""},
    {"window.next-dock", "Next dock", "Window", "F6", ""},
    {"window.previous-dock", "Previous dock", "Window", "Shift+F6", ""},
    {"focus.runs", "Go to Runs", "Window", "Ctrl+1", ""},
    {"focus.a", "Go to pane A", "Window", "Ctrl+2", ""},
    {"focus.b", "Go to pane B", "Window", "Ctrl+3", ""},
    {"focus.inspector", "Go to Inspector", "Window", "Ctrl+4", ""},
    {"focus.bottom", "Go to the bottom dock", "Window", "Ctrl+5", ""},
    {"window.full", "Full screen", "Window", "F11", ""},
    {"graph.open", "Graph: open or close the module", "", "O", "of the active thing", true},
    {"graph.open-all", "Graph: open or close all modules", "", "Shift+O", "", true},
    {"graph.groups", "Graph: next grouping", "", "G", "modules, kernels, none", true},
    {"graph.colour", "Graph: next colouring", "", "C", "family, time, memory …", true},
    {"time.in", "Timeline: zoom in", "", "W", "", true},
    {"time.out", "Timeline: zoom out", "", "S", "", true},
    {"time.left", "Timeline: earlier", "", "A", "", true},
    {"time.right", "Timeline: later", "", "D", "", true},
    {"time.range", "Timeline: range = active slice", "", "R", "", true},
    {"view.menu", "Menu of the thing at the cursor", "", "Shift+F10 Menu", ""},
    {"help.keys", "Keys", "Help", "F1", ""},
    {"help.about", "About Vitrine", "Help", "", ""},
};

}  // namespace

std::span<const CommandInfo> commands() {
  return kCommands;
}

const CommandInfo* commandInfo(std::string_view id) {
  for (const CommandInfo& row : kCommands)
    if (id == row.id && !id.empty()) return &row;
  return nullptr;
}

}  // namespace vitrine::kit
