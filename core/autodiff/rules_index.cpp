// Gradients of what is picked or written by index: what was picked is added where it was.
#include "core/autodiff/rules.h"
#include "core/ops/call.h"

namespace vitrine::autodiff {

namespace {

// y = rows of a table: the rows of g added up by index
void embedding(Vjp& v) {
  if (v.flag(4)) refuse("a sparse gradient");
  v.give(0, v.op("aten.embedding_dense_backward.default",
                 {v.g(), v.in(1), Arg(v.sizes(0)[0]), v.arg(2), v.arg(3)}));
}

// y = x at an index along a dimension
void gather(Vjp& v) {
  if (v.flag(3)) refuse("a sparse gradient");
  v.give(0, v.op("aten.scatter_add.default", {v.zeros(v.g(), v.sizes(0)), v.arg(1), v.in(2), v.g()}));
}
void index_select(Vjp& v) {
  v.give(0, v.op("aten.index_add.default", {v.zeros(v.g(), v.sizes(0)), v.arg(1), v.in(2), v.g()}));
}
void index(Vjp& v) {
  v.give(0, v.op("aten.index_put.default", {v.zeros(v.g(), v.sizes(0)), v.arg(1), v.g(), Arg(true)}));
}

// y = x with s written at an index: x gets g but there, s gets g from there
void scatter_source(Vjp& v) {
  if (v.wants(0)) v.give(0, v.op("aten.scatter.value", {v.g(), v.arg(1), v.in(2), Arg(0)}));
  if (v.wants(3)) v.give(3, v.op("aten.gather.default", {v.g(), v.arg(1), v.in(2)}));
}
void scatter_value(Vjp& v) {
  v.give(0, v.op("aten.scatter.value", {v.g(), v.arg(1), v.in(2), Arg(0)}));
}
// y = x with s added at an index: x gets g
void scatter_add(Vjp& v) {
  if (v.wants(0)) v.give(0, v.g());
  if (v.wants(3)) v.give(3, v.op("aten.gather.default", {v.g(), v.arg(1), v.in(2)}));
}
void index_add(Vjp& v) {
  v.let("factor", v.arg(4));
  if (v.wants(0)) v.give(0, v.g());
  if (!v.wants(3)) return;
  v.let("g", v.op("aten.index_select.default", {v.g(), v.arg(1), v.in(2)}));
  v.give(3, v.reshape(v.eval("g * factor"), v.sizes(3)));
}
void index_put(Vjp& v) {
  const Ref g = v.g();
  if (v.wants(0))
    v.give(0,
           v.flag(3) ? g : v.op("aten.index_put.default", {g, v.arg(1), v.zeros(g, v.sizes(2)), Arg(false)}));
  if (v.wants(2)) v.give(2, v.op("aten.index.Tensor", {g, v.arg(1)}));
}

}  // namespace

const std::vector<RuleRow> kIndexRules = {
    {"aten.embedding.default", embedding},       {"aten.gather.default", gather},
    {"aten.index_select.default", index_select}, {"aten.index.Tensor", index},
    {"aten.scatter.src", scatter_source},        {"aten.scatter.value", scatter_value},
    {"aten.scatter_add.default", scatter_add},   {"aten.index_put.default", index_put},
    {"aten.index_add.default", index_add},
};

}  // namespace vitrine::autodiff
