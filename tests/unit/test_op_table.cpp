// The operator table: no empty cell, every row readable, and what a node means by it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "core/ir/parse.h"
#include "core/ops/call.h"
#include "core/ops/flops.h"
#include "core/ops/node.h"

using namespace vitrine;
using namespace vitrine::ops;

TEST_CASE("no empty cell") {
  CHECK(all().size() > 120);
  for (const OpRow* row : all()) {
    CAPTURE(row->name);
    CHECK(row->name.substr(0, 5) == "aten.");
    CHECK(find(row->name) == row);
    CHECK_FALSE(params(*row).empty());
    CHECK_FALSE(row->doc.empty());
    CHECK_FALSE(family_name(row->family).empty());
    bool body = row->lower == Lower::pointwise || row->lower == Lower::reduction;
    CHECK(row->body.empty() != body);
    CHECK_FALSE(row->gradient.empty());
    if (row->gradient.starts_with("nondiff")) {
      CHECK(row->gradient.starts_with("nondifferentiable(\""));
      CHECK(row->gradient.ends_with("\")"));
    }
    if (row->gradient.starts_with("borrowed")) CHECK(is_borrowed(*row));
    // Below the ATen graph the compiler must know every type itself.
    CHECK((row->lower == Lower::opaque || row->shape));
  }
  CHECK(find("aten.no_such.default") == nullptr);
}

namespace {
ir::GraphPtr graph(const std::string& body) {
  auto g = ir::parse("graph aten {\n  %x = placeholder() : f32[2,3]\n  %m = placeholder() : f32[3]\n" + body +
                     "\n  return\n}\n");
  REQUIRE_MESSAGE(g.ok(), (g.ok() ? "" : g.error().what + " " + g.error().where));
  return g.take();
}
const ir::Node& last(const ir::GraphPtr& g) {
  return g->nodes().back();
}
}  // namespace

TEST_CASE("arguments are bound in schema order, defaults filled in") {
  auto g = graph("  %y = aten.add.Tensor(%x, 2.0) : f32[2,3]");
  auto args = bind(*find("aten.add.Tensor"), last(g));
  REQUIRE(args.ok());
  CHECK(args.value().size() == 3);
  CHECK(args.value()[2] == ir::Arg(1));
  auto type_of = [&](ir::Ref r) -> const ir::TensorType& { return g->node(r.node).outputs[0]; };
  auto types = infer(*find("aten.add.Tensor"), args.value(), type_of);
  REQUIRE(types.ok());
  CHECK(types.value()[0].text() == "f32[2,3]");
  CHECK_FALSE(bind(*find("aten.add.Tensor"), last(graph("  %y = aten.add.Tensor(%x) : f32[2,3]"))).ok());
  CHECK_FALSE(bind(*find("aten.neg.default"), last(graph("  %y = aten.neg.default(%x, 1) : f32[2,3]"))).ok());
  CHECK_FALSE(
      bind(*find("aten.neg.default"), last(graph("  %y = aten.neg.default(%x, k=1) : f32[2,3]"))).ok());
}

TEST_CASE("a product with its activation does what the product does") {
  auto work = [](const std::string& op) {
    const auto g = graph("  %w = placeholder() : f32[3,4]\n  %b = placeholder() : f32[4]\n  %y = " + op +
                         "(%b, %x, %w) : f32[2,4]");
    return flops(*g, last(g));
  };
  CHECK(work("aten.addmm.default") == 2 * 2 * 4 * 3);
  CHECK(work("aten._addmm_activation.default") == 2 * 2 * 4 * 3);
}

TEST_CASE("attention multiplies queries and keys, and with the values; a causal one half of it") {
  auto work = [](const std::string& call) {
    const auto g =
        graph("  %q = placeholder() : f16[2,3,8,16]\n  %k = placeholder() : f16[2,3,10,16]\n  %y = aten." +
              call + " : f16[2,3,8,16]");
    return flops(*g, last(g));
  };
  const int64_t product = 2 * 2 * 3 * 8 * 10 * 16;
  CHECK(work("scaled_dot_product_attention.default(%q, %k, %k)") == 2 * product);
  CHECK(work("scaled_dot_product_attention.default(%q, %k, %k, is_causal=True)") == product);
  CHECK(work("_scaled_dot_product_cudnn_attention.default(%q, %k, %k, None, True, 0.0, True)") == product);
  CHECK(work("_scaled_dot_product_flash_attention_for_cpu.default(%q, %k, %k)") == 2 * product);
  CHECK(work("_scaled_dot_product_flash_attention_for_cpu_backward.default(%q, %q, %k, %k)") == 5 * product);
}

TEST_CASE("what a node writes") {
  auto count = [](const std::string& body) { return written(last(graph(body))).size(); };
  CHECK(count("  %y = aten.add.Tensor(%x, %x) : f32[2,3]") == 0);
  CHECK(count("  %y = aten.add_.Tensor(%x, %x) : f32[2,3]") == 1);
  std::string norm = "  %y = aten.native_batch_norm.default(%x, None, None, %m, %m, ";
  CHECK(count(norm + "False, 0.1, 1e-05) : f32[2,3], f32[0], f32[0]") == 0);
  CHECK(count(norm + "True, 0.1, 1e-05) : f32[2,3], f32[3], f32[3]") == 2);
  CHECK(count("  %y = aten.somewhere.default(%x, %m) : f32[2,3]") == 0);
  CHECK(count("  %y = aten.somewhere_.default(%x, %m) : f32[2,3]") == 1);
  CHECK(count("  %y = aten._somewhere_.default(%x, %m) : f32[2,3]") == 2);
  CHECK(count("  %y = mine.op.default(%x, %m) : f32[2,3]") == 2);
}

TEST_CASE("views and random operators are known as such") {
  auto node = [](const std::string& text) { return last(graph("  %y = " + text)); };
  auto aliases = [](const ir::Node& n) { return !aliased(n).empty(); };
  CHECK(aliased(node("aten.add_.Tensor(%x, %m) : f32[2,3]")).size() == 1);
  CHECK(aliases(node("aten.view.default(%x, [6]) : f32[6]")));
  CHECK_FALSE(aliases(node("aten.exp.default(%x) : f32[2,3]")));
  CHECK(aliases(node("aten.somewhere.default(%x) : f32[2,3]")));
  CHECK(is_random(node("aten.rand_like.default(%x) : f32[2,3]")));
  CHECK(is_random(node("aten.normal.float_float(%x) : f32[2,3]")));
  CHECK_FALSE(is_random(node("aten.exp.default(%x) : f32[2,3]")));
  // Attention draws where it drops out; its backward is given what was drawn.
  const std::string qkv = "aten._scaled_dot_product_flash_attention.default(%x, %x, %x";
  CHECK(is_random(node(qkv + ", 0.5) : f32[2,3]")));
  CHECK_FALSE(is_random(node(qkv + ", 0.0) : f32[2,3]")));
  CHECK_FALSE(is_random(node(qkv + ") : f32[2,3]")));
  CHECK(is_random(
      node("aten.scaled_dot_product_attention.default(%x, %x, %x, None, dropout_p=0.5) : f32[2,3]")));
  CHECK_FALSE(is_random(
      node("aten._scaled_dot_product_flash_attention_backward.default(%x, %x, %x, 0.5) : f32[2,3]")));
}

TEST_CASE("an in-place operator's row is made from its functional one") {
  const OpRow *row = find("aten.mul_.Tensor"), *from = find("aten.mul.Tensor");
  REQUIRE(row);
  CHECK(row->functional == from);
  CHECK(functional_of("aten.mul_.Tensor") == from);
  CHECK(functional_of("aten.pow_.Scalar") == find("aten.pow.Tensor_Scalar"));
  CHECK(functional_of("aten.floor_.default") == find("aten.floor.default"));  // by its name: it has no row
  CHECK(functional_of("aten.mul.Tensor") == nullptr);
  CHECK(row->params == "self!, other");
  CHECK(find("aten.add_.Tensor")->params == "self!, other, *, alpha=1");
  CHECK(find("aten.exp_.default")->params == "self!");
  CHECK(is(row, kSavesNumbers));
  auto types = [](const std::string& op, const std::string& arguments) {
    auto g = ir::parse(
        "graph aten {\n  %i = placeholder() : i64[2,3]\n  %x = placeholder() : f32[2,3]\n"
        "  %h = placeholder() : bf16[3]\n  %y = " +
        op + "(" + arguments + ") : f32[1]\n  return\n}\n");
    REQUIRE(g.ok());
    auto type_of = [&](ir::Ref r) -> const ir::TensorType& { return g.value()->node(r.node).outputs[0]; };
    auto out = infer(*find(op), bind(*find(op), last(g.value())).take(), type_of);
    return out.ok() ? out.value()[0].text() : out.error().what;
  };
  const std::string no = "The shape rule does not cover this call: the result ";
  CHECK(types("aten.mul_.Tensor", "%x, %h") == "f32[2,3]");
  CHECK(types("aten.mul_.Tensor", "%h, %x") == no + "has other sizes");
  CHECK(types("aten.mul_.Tensor", "%i, %x") == no + "does not fit the type");
  CHECK(types("aten.exp_.default", "%i") == no + "does not fit the type");
}

TEST_CASE("writes that no version counts") {
  auto count = [](const std::string& body) { return counted(last(graph(body))).size(); };
  CHECK(count("  %y = aten.add_.Tensor(%x, %x) : f32[2,3]") == 1);
  std::string norm = "  %y = aten.native_batch_norm.default(%x, None, None, %m, %m, ";
  CHECK(count(norm + "True, 0.1, 1e-05) : f32[2,3], f32[3], f32[3]") == 0);
  CHECK(count("  %y = aten._fused_adam_.default(%x, %m) : f32[2,3]") == 0);
}

TEST_CASE("the type in which a body is evaluated") {
  auto g = ir::parse(R"(graph aten {
  %h = placeholder() : bf16[4]
  %i = placeholder() : i64[4]
  %add = aten.add.Tensor(%h, %h) : bf16[4]
  %lt = aten.lt.Scalar(%i, 2.5) : b1[4]
  %le = aten.le.Scalar(%i, 2) : b1[4]
  return
}
)")
               .take();
  auto type_of = [&](ir::Ref r) -> const ir::TensorType& { return g->node(r.node).outputs[0]; };
  auto of = [&](size_t i) {
    const ir::Node& n = g->nodes()[i];
    return compute_dtype(*find(n.op), bind(*find(n.op), n).take(), type_of, n.type().dtype);
  };
  CHECK(of(2) == ir::DType::f32);
  CHECK(of(3) == ir::DType::f32);
  CHECK(of(4) == ir::DType::i64);
}
