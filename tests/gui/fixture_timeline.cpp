// Eager and compiled timelines of the block with the relation between them, accuracy and timings.
#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

using namespace session;

namespace {

struct SliceSpec {
  const char *name, *family, *node;
  double ms;
  int launch;  // ordinal of the launch that replaced it, -1 = not needed
};
const SliceSpec kEager[] = {
    {"layer_norm", "reduction", "native_layer_norm", 0.19, 0},
    {"addmm", "matmul", "addmm", 3.05, 1},
    {"view", "view", "view_1", 0.02, -1},
    {"permute", "view", "permute", 0.02, -1},
    {"scaled_dot_product_attention", "opaque", "sdpa", 0.93, 2},
    {"clone", "memory", "clone", 0.16, -1},
    {"addmm", "matmul", "addmm_1", 1.08, 3},
    {"add", "pointwise", "add", 0.17, 4},
    {"layer_norm", "reduction", "native_layer_norm_1", 0.20, 4},
    {"addmm", "matmul", "addmm_2", 3.78, 5},
    {"gelu", "pointwise", "gelu", 0.93, 6},
    {"addmm", "matmul", "addmm_3", 3.55, 7},
    {"add", "pointwise", "add_1", 0.17, 8},
};
const double kCompiled[] = {0.13, 3.04, 0.92, 1.05, 0.24, 3.74, 0.41, 3.49, 0.16};
const char* const kCompiledNames[] = {
    "K0 layer_norm", "L0 addmm",    "L1 sdpa", "L2 mm",     "K1 add_add_layer_norm",
    "L3 mm",         "K2 add_gelu", "L4 mm",   "K3 add_add"};
const char* const kCompiledFamilies[] = {"reduction", "matmul",    "opaque", "matmul",   "reduction",
                                         "matmul",    "pointwise", "matmul", "pointwise"};

using session::Writer;

struct Columns {
  std::vector<int64_t> start, duration, entity, relation;
  std::vector<int32_t> name;
  std::vector<int8_t> depth;

  void add(int64_t from, double ms, int64_t name_row, Id what, Id replaced_by, int at_depth = 0) {
    start.push_back(from);
    duration.push_back(static_cast<int64_t>(ms * 1e6));
    name.push_back(static_cast<int32_t>(name_row));
    entity.push_back(what);
    relation.push_back(replaced_by);
    depth.push_back(static_cast<int8_t>(at_depth));
  }
  void put(Writer& w, int64_t id, Id run, const char* side, const char* kind, const char* label,
           int ordinal) const {
    w.put(LaneRow{id, run, side, kind, label, ordinal, static_cast<int64_t>(start.size()), w.column(start),
                  w.column(duration), w.column(name), w.column(entity), w.column(depth), w.column(relation)});
  }
};

}  // namespace

void writeTimeline(Builder& b, const Names& aten) {
  Columns modules, eager, compiled;
  // Launches are written after this, as the first of their kind: the n-th gets sequence number n + 1.
  auto launch = [](int ordinal) { return ordinal < 0 ? Id{0} : make_id(Kind::Launch, ordinal + 1); };
  int64_t at = 40'000;
  std::vector<int64_t> starts;
  for (const SliceSpec& s : kEager) {
    starts.push_back(at);
    eager.add(at, s.ms, b.w.name(s.name, s.family), aten.at(s.node), launch(s.launch));
    at += static_cast<int64_t>(s.ms * 1e6) + 28'000;
  }
  auto module = [&](const char* name, size_t from, size_t to) {
    const int64_t end = starts[to] + eager.duration[to];
    modules.add(starts[from], static_cast<double>(end - starts[from]) / 1e6, b.w.name(name, ""), 0, 0);
  };
  module("ln1", 0, 0);
  module("attn", 1, 6);
  module("ln2", 8, 8);
  module("fc", 9, 9);
  module("out", 11, 11);
  int64_t now = 12'000;
  for (int i = 0; i < 9; ++i) {
    compiled.add(now, kCompiled[i], b.w.name(kCompiledNames[i], kCompiledFamilies[i]), launch(i), 0);
    now += static_cast<int64_t>(kCompiled[i] * 1e6) + 1'000;
  }
  modules.put(b.w, 1, b.ids.run, "eager", "module", "modules", 0);
  eager.put(b.w, 2, b.ids.run, "eager", "thread", "main thread", 1);
  compiled.put(b.w, 3, b.ids.run, "compiled", "launch", "launches", 0);
  b.w.put(AccuracyRow{b.ids.run, "0", "f32[8,128,768]", "close", "", 2.4e-7, 1.8e-6, 2, 0, 786'432});
  for (int i = 0; i < 20; ++i) {
    b.w.put(TimingRow{b.ids.run, "eager", i, 14'620'000 + (i % 5 - 2) * 40'000});
    b.w.put(TimingRow{b.ids.run, "compiled", i, 13'190'000 + (i % 5 - 2) * 30'000});
  }
}

}  // namespace vitrine::fixture
