// The block's graphs from torch-level calls to fused loop nests, each linked to the one before.
#include <list>

#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

namespace {

const char* const kWide = "8,128,768";
const char* const kHeads = "8,12,128,64";

// name, kind, op, family, shape, module, place, inputs, origins in the graph before, stable, group, detail
const std::vector<NodeSpec> kCaptured = {
    {"x", "placeholder", "placeholder", "", kWide, "", {30, 22, 30, 23}, "", "", 1},
    {"layer_norm", "op", "F.layer_norm", "reduction", kWide, "ln1", {31, 26, 31, 37}, "x", "", 2},
    {"linear", "op", "F.linear", "matmul", "8,128,2304", "attn.qkv", {15, 14, 15, 25}, "layer_norm", "", 3},
    {"view", "op", "Tensor.view", "view", "8,128,3,12,64", "attn", {15, 14, 15, 55}, "linear", "", 4},
    {"permute", "op", "Tensor.permute", "view", "3,8,12,128,64", "attn", {16, 18, 16, 44}, "view", "", 5},
    {"unbind", "op", "Tensor.unbind", "view", kHeads, "attn", {16, 18, 16, 54}, "permute", "", 6},
    {"scaled_dot_product_attention",
     "op",
     "F.scaled_dot_product_attention",
     "opaque",
     kHeads,
     "attn",
     {17, 12, 17, 67},
     "unbind unbind unbind",
     "",
     7},
    {"transpose",
     "op",
     "Tensor.transpose",
     "view",
     "8,128,12,64",
     "attn",
     {18, 25, 18, 42},
     "scaled_dot_product_attention",
     "",
     8},
    {"reshape", "op", "Tensor.reshape", "memory", kWide, "attn", {18, 25, 18, 59}, "transpose", "", 9},
    {"linear_1", "op", "F.linear", "matmul", kWide, "attn.proj", {18, 15, 18, 60}, "reshape", "", 10},
    {"add", "op", "operator.add", "pointwise", kWide, "", {31, 12, 31, 38}, "x linear_1", "", 11},
    {"layer_norm_1", "op", "F.layer_norm", "reduction", kWide, "ln2", {32, 27, 32, 38}, "add", "", 12},
    {"linear_2", "op", "F.linear", "matmul", "8,128,3072", "fc", {32, 19, 32, 39}, "layer_norm_1", "", 13},
    {"gelu",
     "op",
     "F.gelu",
     "pointwise",
     "8,128,3072",
     "",
     {32, 12, 32, 60},
     "linear_2",
     "",
     14,
     "",
     "approximate=\"tanh\""},
    {"linear_3", "op", "F.linear", "matmul", kWide, "out", {33, 19, 33, 30}, "gelu", "", 15},
    {"add_1", "op", "operator.add", "pointwise", kWide, "", {33, 15, 33, 30}, "add linear_3", "", 16},
    {"output", "output", "output", "", kWide, "", {33, 8, 33, 30}, "add_1", "", 17},
};

const std::vector<NodeSpec> kAten = {
    {"x", "placeholder", "placeholder", "", kWide, "", {30, 22, 30, 23}, "", "x", 1},
    {"ln1_weight", "parameter", "ln1.weight", "", "768", "ln1", {}, "", "", 30},
    {"qkv_weight", "parameter", "attn.qkv.weight", "", "2304,768", "attn.qkv", {}, "", "", 31},
    {"proj_weight", "parameter", "attn.proj.weight", "", "768,768", "attn.proj", {}, "", "", 32},
    {"proj_bias", "parameter", "attn.proj.bias", "", "768", "attn.proj", {}, "", "", 33},
    {"ln2_weight", "parameter", "ln2.weight", "", "768", "ln2", {}, "", "", 34},
    {"fc_weight", "parameter", "fc.weight", "", "3072,768", "fc", {}, "", "", 35},
    {"fc_bias", "parameter", "fc.bias", "", "3072", "fc", {}, "", "", 36},
    {"out_weight", "parameter", "out.weight", "", "768,3072", "out", {}, "", "", 37},
    {"out_bias", "parameter", "out.bias", "", "768", "out", {}, "", "", 38},
    {"native_layer_norm",
     "op",
     "aten.native_layer_norm",
     "reduction",
     kWide,
     "ln1",
     {31, 26, 31, 37},
     "x ln1_weight",
     "layer_norm",
     2},
    {"view",
     "op",
     "aten.view",
     "view",
     "1024,768",
     "attn.qkv",
     {15, 14, 15, 25},
     "native_layer_norm",
     "linear",
     20},
    {"addmm",
     "op",
     "aten.addmm",
     "matmul",
     "1024,2304",
     "attn.qkv",
     {15, 14, 15, 25},
     "view qkv_weight",
     "linear",
     3},
    {"view_1",
     "op",
     "aten.view",
     "view",
     "8,128,3,12,64",
     "attn",
     {15, 14, 15, 55},
     "addmm",
     "linear view",
     4},
    {"permute",
     "op",
     "aten.permute",
     "view",
     "3,8,12,128,64",
     "attn",
     {16, 18, 16, 44},
     "view_1",
     "permute",
     5},
    {"unbind", "op", "aten.unbind", "view", kHeads, "attn", {16, 18, 16, 54}, "permute", "unbind", 6},
    {"sdpa",
     "op",
     "aten.scaled_dot_product_attention",
     "opaque",
     kHeads,
     "attn",
     {17, 12, 17, 67},
     "unbind unbind unbind",
     "scaled_dot_product_attention",
     7},
    {"transpose",
     "op",
     "aten.transpose",
     "view",
     "8,128,12,64",
     "attn",
     {18, 25, 18, 42},
     "sdpa",
     "transpose",
     8},
    {"clone", "op", "aten.clone", "memory", kWide, "attn", {18, 25, 18, 59}, "transpose", "reshape", 9},
    {"addmm_1",
     "op",
     "aten.addmm",
     "matmul",
     "1024,768",
     "attn.proj",
     {18, 15, 18, 60},
     "clone proj_weight proj_bias",
     "linear_1",
     10},
    {"add", "op", "aten.add", "pointwise", kWide, "", {31, 12, 31, 38}, "x addmm_1", "add", 11},
    {"native_layer_norm_1",
     "op",
     "aten.native_layer_norm",
     "reduction",
     kWide,
     "ln2",
     {32, 27, 32, 38},
     "add ln2_weight",
     "layer_norm_1",
     12},
    {"addmm_2",
     "op",
     "aten.addmm",
     "matmul",
     "1024,3072",
     "fc",
     {32, 19, 32, 39},
     "native_layer_norm_1 fc_weight fc_bias",
     "linear_2",
     13},
    {"gelu",
     "op",
     "aten.gelu",
     "pointwise",
     "8,128,3072",
     "",
     {32, 12, 32, 60},
     "addmm_2",
     "gelu",
     14,
     "",
     "approximate=\"tanh\""},
    {"addmm_3",
     "op",
     "aten.addmm",
     "matmul",
     "1024,768",
     "out",
     {33, 19, 33, 30},
     "gelu out_weight out_bias",
     "linear_3",
     15},
    {"add_1", "op", "aten.add", "pointwise", kWide, "", {33, 15, 33, 30}, "add addmm_3", "add_1", 16},
    {"output", "output", "output", "", kWide, "", {33, 8, 33, 30}, "add_1", "output", 17},
};

// Views folded away: transpose and clone read through, the rest as before.
std::vector<NodeSpec> folded(const std::vector<NodeSpec>& nodes) {
  std::vector<NodeSpec> out;
  for (NodeSpec n : nodes) {
    const std::string_view name = n.name;
    if (name == "view" || name == "transpose") continue;
    if (name == "addmm") n.in = "native_layer_norm qkv_weight";
    if (name == "clone") n.in = "sdpa";
    n.from = n.name;
    out.push_back(n);
  }
  return out;
}

// Every addmm but the first gives its bias to an add of its own.
std::vector<NodeSpec> biasSplit(std::vector<NodeSpec> nodes) {
  std::vector<NodeSpec> out;
  for (NodeSpec n : nodes) {
    const std::string_view name = n.name;
    if (name == "addmm_1") {
      out.push_back({"mm", "op", "aten.mm", "matmul", "1024,768", n.module, n.place, "clone proj_weight",
                     "addmm_1", 10});
      out.push_back({"add", "op", "aten.add", "pointwise", "1024,768", n.module, n.place, "mm proj_bias",
                     "addmm_1", 21});
    } else if (name == "addmm_2") {
      out.push_back({"mm_2", "op", "aten.mm", "matmul", "1024,3072", n.module, n.place,
                     "native_layer_norm_1 fc_weight", "addmm_2", 13});
      out.push_back({"add_2", "op", "aten.add", "pointwise", "1024,3072", n.module, n.place, "mm_2 fc_bias",
                     "addmm_2", 22});
    } else if (name == "addmm_3") {
      out.push_back({"mm_3", "op", "aten.mm", "matmul", "1024,768", n.module, n.place, "gelu out_weight",
                     "addmm_3", 15});
      out.push_back({"add_3", "op", "aten.add", "pointwise", "1024,768", n.module, n.place, "mm_3 out_bias",
                     "addmm_3", 23});
    } else {
      n.from = n.name;
      if (name == "add")
        n = {"add_1", n.kind, n.op, n.family, n.shape, n.module, n.place, "x add", "add", 11};
      if (name == "add_1" && n.stable == 16)
        n = {"add_4", n.kind, n.op, n.family, n.shape, n.module, n.place, "add_1 add_3", "add_1", 16};
      if (name == "native_layer_norm_1") n.in = "add_1 ln2_weight";
      if (name == "gelu") n.in = "add_2";
      if (name == "output") n.in = "add_4";
      out.push_back(n);
    }
  }
  return out;
}

// Loop nests; group: the kernel each becomes.
const std::vector<NodeSpec> kLoops = {
    {"x", "placeholder", "placeholder", "", kWide, "", {30, 22, 30, 23}, "", "x", 1},
    {"l0",
     "op",
     "mean, rstd",
     "reduction",
     "1024,768",
     "ln1",
     {31, 26, 31, 37},
     "x",
     "native_layer_norm",
     2,
     "K0"},
    {"l1",
     "op",
     "normalise",
     "pointwise",
     "1024,768",
     "ln1",
     {31, 26, 31, 37},
     "l0 x",
     "native_layer_norm",
     24,
     "K0"},
    {"addmm",
     "op",
     "aten.addmm",
     "matmul",
     "1024,2304",
     "attn.qkv",
     {15, 14, 15, 25},
     "l1",
     "addmm",
     3,
     "L0"},
    {"sdpa",
     "op",
     "aten.scaled_dot_product_attention",
     "opaque",
     kHeads,
     "attn",
     {17, 12, 17, 67},
     "addmm",
     "sdpa",
     7,
     "L1"},
    {"mm", "op", "aten.mm", "matmul", "1024,768", "attn.proj", {18, 15, 18, 60}, "sdpa", "mm", 10, "L2"},
    {"l2",
     "op",
     "add proj.bias",
     "pointwise",
     "1024,768",
     "attn.proj",
     {18, 15, 18, 60},
     "mm",
     "add",
     21,
     "K1"},
    {"l3", "op", "add residual", "pointwise", "1024,768", "", {31, 12, 31, 38}, "x l2", "add_1", 11, "K1"},
    {"l4",
     "op",
     "mean, rstd",
     "reduction",
     "1024,768",
     "ln2",
     {32, 27, 32, 38},
     "l3",
     "native_layer_norm_1",
     12,
     "K1"},
    {"l5",
     "op",
     "normalise",
     "pointwise",
     "1024,768",
     "ln2",
     {32, 27, 32, 38},
     "l4 l3",
     "native_layer_norm_1",
     25,
     "K1"},
    {"mm_2", "op", "aten.mm", "matmul", "1024,3072", "fc", {32, 19, 32, 39}, "l5", "mm_2", 13, "L3"},
    {"l6", "op", "add fc.bias", "pointwise", "1024,3072", "fc", {32, 19, 32, 39}, "mm_2", "add_2", 22, "K2"},
    {"l7", "op", "gelu tanh", "pointwise", "1024,3072", "", {32, 12, 32, 60}, "l6", "gelu", 14, "K2"},
    {"mm_3", "op", "aten.mm", "matmul", "1024,768", "out", {33, 19, 33, 30}, "l7", "mm_3", 15, "L4"},
    {"l8", "op", "add out.bias", "pointwise", "1024,768", "out", {33, 19, 33, 30}, "mm_3", "add_3", 23, "K3"},
    {"l9", "op", "add residual", "pointwise", "1024,768", "", {33, 15, 33, 30}, "l3 l8", "add_4", 16, "K3"},
    {"output", "output", "output", "", kWide, "", {33, 8, 33, 30}, "l9", "output", 17},
};

std::vector<NodeSpec> passedOn(std::vector<NodeSpec> nodes, bool grouped) {
  for (NodeSpec& n : nodes) {
    n.from = n.name;
    if (!grouped) n.group = "";
  }
  return nodes;
}

// Loop nests have several origins under other names: linked one by one below.
std::vector<NodeSpec> unlinked(std::vector<NodeSpec> nodes) {
  for (NodeSpec& n : nodes) n.from = n.group = "";
  return nodes;
}

// The body n times over, each copy fed by the one before; for sessions as large as a real model's.
std::vector<NodeSpec> repeated(const std::vector<NodeSpec>& nodes, int copies, std::list<std::string>& keep) {
  if (copies == 1) return nodes;
  auto kept = [&keep](std::string text) { return keep.emplace_back(std::move(text)).c_str(); };
  auto renamed = [&](const char* list, int copy) {
    std::string out;
    for (const std::string& word : words(list))
      out += (word == "x" && copy ? std::string("last_") + std::to_string(copy - 1)
                                  : word + "_" + std::to_string(copy)) +
             " ";
    return kept(out);
  };
  std::vector<NodeSpec> out;
  for (int copy = 0; copy < copies; ++copy)
    for (NodeSpec n : nodes) {
      const bool last = std::string_view(n.kind) == "output";
      if (copy && std::string_view(n.name) == "x") continue;
      n.stable += copy * 100;
      n.in = renamed(n.in, copy);
      n.from = *n.from ? kept(std::string(n.name) == "output" ? "last_" + std::to_string(copy)
                                                              : renamed(n.from, copy))
                       : "";
      n.module = kept("layer." + std::to_string(copy) + (*n.module ? std::string(".") + n.module : ""));
      if (last) n.kind = copy + 1 == copies ? "output" : "op", n.op = "aten.alias", n.family = "view";
      n.name = kept(last ? "last_" + std::to_string(copy) : std::string(n.name) + "_" + std::to_string(copy));
      out.push_back(n);
    }
  return out;
}

}  // namespace

Names writeGraphs(Builder& b, int copies) {
  const Id comp = b.ids.compilation, file = b.ids.file;
  std::list<std::string> keep;
  auto body = [&](const std::vector<NodeSpec>& nodes) { return repeated(nodes, copies, keep); };
  auto id = [&](const Names& names, const char* name) {
    auto it = names.find(copies == 1 ? name : std::string(name) + "_0");
    return it == names.end() ? 0 : it->second;
  };
  const Names captured =
      b.graph(comp, "captured", "", "17 torch calls, no break", true, file, body(kCaptured), {});
  for (auto& [row, node] : b.steps)
    if (!node.empty()) {
      row.entity = id(captured, node.c_str());
      b.w.put(row);
    }
  b.stage(comp, "captured", 17 * copies, 4.2);
  const Names aten =
      b.graph(comp, "aten", "", "lowered through PyTorch's dispatch", true, file, body(kAten), captured);
  b.stage(comp, "aten", 27 * copies, 3.1);
  for (const char* absent : {"joint", "forward", "backward"})
    b.stage(comp, absent, 0, 0, "none", "no input needs a gradient");
  const auto flat = folded(kAten);
  const Names decomposed = b.graph(comp, "decomposed", "", "nothing to write out", false, file,
                                   body(passedOn(kAten, false)), aten);
  b.stage(comp, "decomposed", 27 * copies, 0.3);
  const Names opt1 = b.graph(comp, "optimised", "fold_views", "2 rewrites: views become index maps", true,
                             file, body(flat), decomposed);
  b.graph(comp, "optimised", "dead_code", "changed nothing", false, file, {}, opt1);
  const Names opt = b.graph(comp, "optimised", "split_addmm_bias",
                            "3 rewrites: the bias moves out of the library call, so that it can fuse", true,
                            file, body(biasSplit(flat)), opt1);
  b.stage(comp, "optimised", 28 * copies, 1.4);
  const Names loops = b.graph(comp, "loops", "", "10 loops, 5 library calls, 15 launches", true, file,
                              body(unlinked(kLoops)), {});
  for (const NodeSpec& n : body(kLoops))
    for (const std::string& origin : words(n.from))
      if (opt.contains(origin)) b.w.link(opt.at(origin), loops.at(n.name));
  b.stage(comp, "loops", 10 * copies, 0.4);
  const Names fused = b.graph(comp, "fused", "", "10 loops become 4 kernels", true, file,
                              body(passedOn(kLoops, true)), loops);
  b.stage(comp, "fused", 4 * copies, 0.7);
  b.ids.captured_gelu = id(captured, "gelu");
  b.ids.aten_gelu = id(aten, "gelu");
  b.ids.optimised_gelu = id(opt, "gelu");
  b.ids.optimised_add_2 = id(opt, "add_2");
  b.ids.loop_gelu = id(loops, "l7");
  b.ids.fused_gelu = id(fused, "l7");
  writeTimeline(b, [&] {
    Names first;
    for (const NodeSpec& n : kAten) first[n.name] = id(aten, n.name);
    return first;
  }());
  Names first;
  for (const NodeSpec& n : kLoops) {
    first[n.name] = id(fused, n.name);
    first[std::string("loop ") + n.name] = id(loops, n.name);
  }
  return first;
}

}  // namespace vitrine::fixture
