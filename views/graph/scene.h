// What a graph view shows of one snapshot: nodes, collapsed modules, pills for weights, hulls of open modules
// and of kernels, and edges between what is visible. Built from the session; the layout then gives it places.
#pragma once

#include <QColor>
#include <QString>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "views/kit/layout/graph_layout.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/session_data.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

enum class Grouping { Modules, Kernels, None };
// Saved, Again: kept for backward, computed again in it.
enum class Badge { None, Added, Changed, Removed, Saved, Again };

struct Pill {
  Id id = 0;
  QString text;
  bool saved = false;  // kept by forward for this graph
};

struct SceneItem {
  enum class Kind { Node, Module, Input, Output };
  Kind kind = Kind::Node;
  Id id = 0;                // the node; a module: its first node
  std::string path;         // of a module; of a run of equal ones the first's, with kRunMark
  std::vector<Id> members;  // nodes it stands for
  QString name, line, right;
  QString what;  // of a module: its class
  kit::NodeFamily family = kit::NodeFamily::None;
  Badge badge = Badge::None;
  QColor shade;  // of its fill, invalid = the family's own
  QString old;   // Changed: what it was
  QString note;  // Saved, Again: why
  std::vector<Pill> pills;
};

struct SceneGroup {
  enum class Kind { Module, Kernel };
  Kind kind = Kind::Module;
  Id id = 0;         // the kernel
  std::string path;  // of a module
  QString title, right;
  std::vector<Id> members;
};

struct SceneEdge {
  Id src = 0, dst = 0;  // nodes at its ends, the first pair when several edges fall together
  int64_t bytes = 0;
  bool inside_kernel = false;  // the value stays in registers
  Id decision = 0;
  bool fused = false;
};

// Loops that become one kernel, or the label of a single node.
struct Bracket {
  QString title;
  std::vector<int> items;
  bool line = true;
};
// Bytes that an item or a group moves through memory; before: what its parts moved before fusion, 0 = not
// asked.
struct TrafficBar {
  int item = -1, group = -1;
  double bytes = 0, before = 0;
};
struct Beside {
  std::vector<Bracket> brackets;
  std::vector<TrafficBar> bars;
  double largest = 0;   // the longest bar, of both panes
  kit::Extent traffic;  // of all bars, for their one unit
  double total = 0, total_before = 0;
  double left_room = 0, right_room = 0;  // kept free at both sides of the graph
};

struct Scene {
  std::vector<SceneItem> items;
  std::vector<SceneGroup> groups;
  std::vector<SceneEdge> edges;  // by edge of `layout`
  kit::LayoutGraph layout;
  std::unordered_map<Id, int> item_of;  // node -> item
  std::set<std::string> open;           // modules shown open
  Beside beside;
  std::vector<kit::NodeFamily> families;         // present, in the legend's order
  std::vector<std::pair<QColor, QString>> keys;  // of shades, in their place
};

struct SceneOptions {
  Grouping grouping = Grouping::Modules;
  std::set<std::string> opened, closed;  // by the user; the rest opens until the picture tells something
  bool decisions = false;                // mark considered pairs
  bool rejected = false;                 // of these only the ones that were not fused
  bool compact = false;                  // rows of one line: name, operation, space
  bool all_open = false;                 // every module
  Id before = 0;                         // snapshot to compare with, 0 = no badges
  std::set<Id> pending = {};  // of that snapshot: what a later rewrite changes, where the film stands
  std::optional<std::set<std::string>> only_open =
      {};  // these modules alone, as in the film's other pictures
};

Scene build_scene(const kit::SessionData& data, Id graph, const SceneOptions& options);

// "3.74 ms", three digits; "" for 0.
QString time_text(double ns);

}  // namespace vitrine::views
