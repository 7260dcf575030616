// Two sessions for the window that compares them: what differs, and which thing of one is which of the other.
// Things are matched by structure, as core/session/compare does it: function and place, module path, operator
// and position.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/session/compare/equal_changes.h"
#include "views/kit/session/session_data.h"
#include "views/kit/tables/item_model.h"

namespace vitrine::app {

// A kernel of each side that computes most of the same; 0: it has no counterpart.
struct KernelPair {
  Id before = 0, after = 0;
  int64_t lines = 0;  // that stand in one of the texts alone
};

struct TwoSessions {
  kit::SessionPtr before, after;
  session::SessionDifference difference;
  std::vector<session::EqualChanges> equal;  // its changes as they are listed
  std::vector<std::pair<Id, Id>> compilations;
  std::vector<KernelPair> kernels;
  std::unordered_map<Id, Id> to_after, to_before;  // compilations, nodes of all last graphs, kernels
};
using TwoSessionsPtr = std::shared_ptr<const TwoSessions>;

// Reads both; seconds of large ones, so from a job. Errors: one of them cannot be opened.
Result<TwoSessionsPtr> compareFiles(const std::string& before, const std::string& after);

// The rows of both tables; their ids are handles, of which row() tells the things.
std::vector<kit::Item> differenceItems(const TwoSessions& comparison);
std::vector<kit::Item> kernelPairItems(const TwoSessions& comparison);
std::vector<kit::Column> differenceColumns();
std::vector<kit::Column> kernelPairColumns(const TwoSessions& comparison);

// The operators of a stage's graph that the other side has no counterpart of; none where hardly any has one.
std::vector<Id> aloneBefore(const TwoSessions& comparison, Id compilation, const std::string& stage);
std::vector<Id> aloneAfter(const TwoSessions& comparison, Id compilation, const std::string& stage);

// The things that a row of either table is about: before and after, 0 = none.
std::pair<Id, Id> thingsOf(const TwoSessions& comparison, Id row);

}  // namespace vitrine::app
