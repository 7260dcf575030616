// The module tree of a graph by dotted paths: which modules stand open, which card a node hides in, and which
// cards are alike and stand as one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace vitrine::views {

std::vector<std::string> prefixes(const std::string& path);  // "a.b.c" -> "a", "a.b", "a.b.c"; "" -> none

// A node of the graph, in order. module: "" at the top; work: the same for nodes that do the same.
struct ModuleNode {
  std::string module;
  size_t work = 0;
};

// Modules that hold a single node: they are shown as that node.
std::set<std::string> single_modules(const std::vector<ModuleNode>& nodes);

// Modules that only hold numbered ones, as a ModuleList does, between each of which other work stands: as one
// card or in one frame they would read what they make. The outermost first.
std::vector<std::string> interrupted_lists(const std::vector<ModuleNode>& nodes);

// Modules that stand open: those the user opened (with all above them), and, largest first, as many others as
// keep the picture readable. Of equal layers one is opened, the rest tell nothing new.
std::set<std::string> open_modules(const std::vector<ModuleNode>& nodes, const std::set<std::string>& opened,
                                   const std::set<std::string>& closed);

// The outermost module of `path` that is not open: the card the node hides in; "" when it is visible.
std::string first_closed(const std::string& path, const std::set<std::string>& open);

// Cards of equal numbered layers that follow each other, three or more: each by the first of its run. Where
// the user opened a run, kRunMark behind the path of its first, its module's layers stand one by one.
constexpr const char* kRunMark = ":run";
std::map<std::string, std::string> equal_runs(const std::vector<ModuleNode>& nodes,
                                              const std::set<std::string>& open,
                                              const std::set<std::string>& opened);

}  // namespace vitrine::views
