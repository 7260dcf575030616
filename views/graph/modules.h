// The module tree of a graph by dotted paths: which modules stand open, and which card a node hides in.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace vitrine::views {

std::vector<std::string> prefixes(const std::string& path);  // "a.b.c" -> "a", "a.b", "a.b.c"; "" -> none

// Modules that hold a single node: they are shown as that node.
std::set<std::string> single_modules(const std::vector<std::string>& paths);

// Modules that stand open: those the user opened (with all above them), and, largest first, as many others as
// keep the picture readable. `paths`: module of each node, "" at the top.
std::set<std::string> open_modules(const std::vector<std::string>& paths, const std::set<std::string>& opened,
                                   const std::set<std::string>& closed);

// The outermost module of `path` that is not open: the card the node hides in; "" when it is visible.
std::string first_closed(const std::string& path, const std::set<std::string>& open);

}  // namespace vitrine::views
