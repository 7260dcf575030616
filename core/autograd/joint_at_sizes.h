// A joint graph for sizes that are known, of one with expressions. Most of a joint does not depend on its
// sizes: what does is made when it is first asked for.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/autograd/joint.h"
#include "core/ir/sym.h"

namespace vitrine::torch_api {

class JointAtSizes {
 public:
  // Of a joint without expressions: itself.
  explicit JointAtSizes(std::shared_ptr<const Joint> whole);
  // table: of the joint's expressions, it must outlive this; values: by symbol. Errors: a type of a tangent,
  // a view's size or a view behind the region has no value there.
  static Result<std::shared_ptr<JointAtSizes>> make(std::shared_ptr<const Joint> joint,
                                                    const ir::SymbolTable& table,
                                                    std::span<const int64_t> values);

  // All but its graphs, types and views, which may have expressions.
  const Joint& any_size() const { return *joint_; }
  // All of it. Throws InternalError where an expression has no value.
  const Joint& whole();
  const ViewProgram* views() const { return views_.get(); }
  const std::vector<ir::TensorType>& tangents() const { return tangents_; }
  void put_in(ir::Node& node) const;  // the numbers of its expressions
  // Of a crossing: sizes of the view that eager keeps in its place.
  std::vector<int64_t> viewed_sizes(const autodiff::Crossing& crossing) const;
  // Whether a tensor of type `is` lies as one of type `was`, which may have expressions.
  bool lies_as(const ir::TensorType& is, const ir::TensorType& was) const;

 private:
  JointAtSizes() = default;
  std::optional<int64_t> number(const ir::Sym& expression) const;
  bool same(const ir::Dims& numbers, const ir::Dims& expressions) const;

  std::shared_ptr<const Joint> joint_, whole_;
  const ir::SymbolTable* table_ = nullptr;  // null: there are no expressions
  std::vector<int64_t> values_;
  std::shared_ptr<const ViewProgram> views_;
  std::vector<ir::TensorType> tangents_;
};

}  // namespace vitrine::torch_api
