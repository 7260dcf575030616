// What it costs to keep a value of forward for backward, and what computing it again would: estimated from
// what was recorded, the times of library calls and the machine's measured copy. What a pin of such a value
// would change.
//
// To compute a value again, backward runs the operators between it and what is kept anyway. A library call
// takes what its launch took in forward. Other operators are parts of the loop that reads the value, which
// then reads what they are made from instead: these bytes at the speed of a copy.
#pragma once

#include <QString>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "views/kit/session/session_data.h"

namespace vitrine::kit {

enum class PinAs { Saved, Recomputed };
using Pinned = std::map<std::string, PinAs>;  // by the name of the value

struct AgainPrice {
  double ns = -1;  // -1: not known
  int operators = 0, library_calls = 0;
  double bytes_read = 0;
  QString why_not;  // why it is not known, with the command that would record it
};

struct WhatIf {
  double bytes_before = 0, bytes = 0;  // kept for backward
  double ns = 0;                       // more than now; below 0: less
  bool time_known = true;
  QStringList unknown;  // why not
};

class PartitionPrice {
 public:
  PartitionPrice(const SessionData& data, Id forward);
  bool empty() const { return crossings_.empty(); }
  // Of a value that is kept, from what else is kept.
  AgainPrice again(const std::string& name) const { return again(name, {}); }
  WhatIf of(const Pinned& pins) const;
  // "" or why it cannot be pinned.
  QString whyNotPinned(const std::string& name, PinAs as) const;
  const session::CrossingRow* crossing(const std::string& name) const;
  double bytes(const std::string& name) const;  // of all that the node gives and backward reads

 private:
  AgainPrice again(const std::string& name, const Pinned& pins) const;
  bool is_kept(const session::NodeRow& node, const Pinned& pins) const;
  double library_ns(Id node) const;

  const SessionData& data_;
  Id forward_;
  double copy_ = 0;  // bytes a second; 0: not measured
  std::map<std::string, const session::CrossingRow*> crossings_;
  std::map<std::string, double> bytes_;               // by name, of all its rows
  std::unordered_map<Id, std::vector<Id>> operands_;  // of a node of the joint graph
};

// "−4.10 kB (0 B kept), +3.2 µs a step".
QString whatIfText(const WhatIf& w);

}  // namespace vitrine::kit
