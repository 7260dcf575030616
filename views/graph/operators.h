// Where an operator of the program became several nodes, these stand together under its name, as a module's
// nodes do.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "views/kit/session/session_data.h"

namespace vitrine::views {

struct OperatorParts {
  // The path that such a node stands under: its module's, and the operator's name behind it. Nodes of
  // operators that are few nodes, or all there is of their module, are left out.
  std::map<Id, std::string> path;
  std::set<std::string> whole;  // paths, and modules, that are one operator each
};
// Of nodes that no module holds, as those of an optimizer's update, when they are many: by node the line of
// the user's that they came from, as a module's path "line 12". `names`: path -> its expression.
struct LooseLines {
  std::map<Id, std::string> path;
  std::map<std::string, QString> names;
};
LooseLines lines_of_loose(const kit::SessionData& data, std::span<const session::NodeRow> nodes);

OperatorParts parts_of_operators(const kit::SessionData& data, std::span<const session::NodeRow> nodes);

}  // namespace vitrine::views
