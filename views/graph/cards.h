// What a card says: the name of the collapsed module, its class, how many nodes or equal layers it stands
// for, and the time of the kernels that belong to it.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "views/graph/operators.h"
#include "views/graph/scene.h"

namespace vitrine::views {

struct KernelFacts {
  const session::KernelRow* row = nullptr;
  double ns = 0;
};

// What is known of the graph that the cards belong to.
struct CardFacts {
  std::span<const session::NodeRow> nodes;
  const std::unordered_map<Id, const session::NodeRow*>& row;
  const std::map<std::string, size_t>& held;                   // path -> nodes in it
  const std::map<std::string, std::set<std::string>>& layers;  // first of equal cards -> all of them
  const std::map<std::string, QString>& classes;               // of modules
  const LooseLines& loose;                                     // what no module holds, by line
  const std::unordered_map<int64_t, std::string>& labels;      // stable number -> kernel
  const std::map<std::string, KernelFacts>& kernels;
  const std::map<std::string, std::vector<Id>>& divided;  // kernel -> nodes that its own were made of
};

// Of the kernel that computes the node, "" when it is not known yet.
std::string kernel_label(const session::NodeRow& node,
                         const std::unordered_map<int64_t, std::string>& labels);

class CardTexts {
 public:
  explicit CardTexts(CardFacts facts) : facts_(std::move(facts)) {}
  void write(SceneItem& card);

 private:
  Id main_node(const SceneItem& it) const;
  void name_card(SceneItem& it) const;
  int layers_in(const std::string& path) const;
  double time_of(const SceneItem& it);
  void find_owners();

  CardFacts facts_;
  std::map<std::string, std::vector<Id>> owner_;  // kernel -> nodes by which it belongs to a module
};

}  // namespace vitrine::views
