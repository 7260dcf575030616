// Four generated kernels and five library calls: texts, line ranges, remarks, verdicts, buffers, launches.
#include <algorithm>

#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

using namespace session;

namespace {

const char* const kPrelude = R"src(typedef float v16 __attribute__((vector_size(64)));
typedef long long i64;
typedef float f32;
struct Args { float* p[16]; };
static inline v16 load(const f32* p) { v16 r; __builtin_memcpy(&r, p, 64); return r; }
static inline void store(f32* p, v16 v) { __builtin_memcpy(p, &v, 64); }
static inline v16 splat(f32 x) { return v16{} + x; }
static inline v16 fma(v16 a, v16 b, v16 c) { return a * b + c; }
)src";

const char* const kGeluSource = R"src(// K2 add_gelu   1024 x 3072 f32, in place on buf6
// add_2 = mm_2 + fc.bias;  gelu = gelu_tanh(add_2)
@extern "C" void add_gelu(const Args* a, i64 r0, i64 r1) {
  f32* __restrict buf6 = a->p[0];
  const f32* __restrict bias = a->p[1];
  for (i64 r = r0; r < r1; ++r) {
    f32* row = buf6 + r * 3072;
    for (i64 c = 0; c < 3072; c += 16) {
      v16 x = load(row + c);
      v16 b = load(bias + c);
      v16 h = x + b;
      v16 k = fma(h * h, splat(-0.0713548f),
                  splat(-1.5957691f));
      v16 e = vexp(h * k);
      v16 g = h / (splat(1.0f) + e);
      store(row + c, g);
    }
  }
}
)src";

const char* const kNormSource = R"src(// 1024 x 768 f32
@extern "C" void NAME(const Args* a, i64 r0, i64 r1) {
  const f32* __restrict x = a->p[0];
  f32* __restrict out = a->p[1];
  for (i64 r = r0; r < r1; ++r) {
    const f32* row = x + r * 768;
    v16 sum{}, square{};
    for (i64 c = 0; c < 768; c += 16) {
      v16 v = load(row + c);
      sum += v;
      square = fma(v, v, square);
    }
    f32 mean = total(sum) / 768, rstd = rsqrt(total(square) / 768 - mean * mean + 1e-5f);
    for (i64 c = 0; c < 768; c += 16)
      store(out + r * 768 + c, (load(row + c) - splat(mean)) * splat(rstd));
  }
}
)src";

const char* const kGeluIr = R"ir(define void @add_gelu(ptr nocapture readonly %a, i64 %r0, i64 %r1) {
entry:
  %bias = load ptr, ptr %a, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds float, ptr %row, i64 %i
  %x = load <16 x float>, ptr %p, align 4
  %b = load <16 x float>, ptr %q, align 4
  %h = fadd fast <16 x float> %x, %b
  %h2 = fmul fast <16 x float> %h, %h
  %k = call fast <16 x float> @llvm.fma.v16f32(<16 x float> %h2, <16 x float> %c0, <16 x float> %c1)
  %hk = fmul fast <16 x float> %h, %k
  %e = call fast <16 x float> @vexp(<16 x float> %hk)
  %d = fadd fast <16 x float> %e, %one
  %g = fdiv fast <16 x float> %h, %d
  store <16 x float> %g, ptr %p, align 4
  %next = add nuw nsw i64 %i, 16
  %done = icmp eq i64 %next, 3072
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
)ir";

const char* const kGeluAssembly = R"asm(add_gelu:
        push    rbx
        mov     rdi, qword ptr [rdi]
        mov     rsi, qword ptr [rdi + 8]
        xor     eax, eax
.LBB0_3:
        vmovups zmm0, [rdi + 4*rax]
        vaddps  zmm0, zmm0, [rsi + 4*rax]
        vmulps  zmm1, zmm0, zmm0
        vfmadd213ps zmm1, zmm8, zmm9
        vmulps  zmm1, zmm1, zmm0
        vmaxps  zmm1, zmm1, zmm10
        vrndscaleps zmm2, zmm1, 8
        vsubps  zmm1, zmm1, zmm2
        vfmadd213ps zmm3, zmm1, zmm11
        vscalefps zmm3, zmm3, zmm2
        vaddps  zmm3, zmm3, zmm12
        vdivps  zmm0, zmm0, zmm3
        vmovups [rdi + 4*rax], zmm0
        add     rax, 16
        cmp     rax, 3072
        jb      .LBB0_3
        pop     rbx
        vzeroupper
        ret
)asm";

std::string source(std::string text, const std::string& name) {
  if (size_t at = text.find("NAME"); at != std::string::npos) text.replace(at, 4, name);
  const size_t at = text.find('@');
  return text.substr(0, at) + "// prelude\n" + kPrelude + "// end prelude\n" + text.substr(at + 1);
}

int64_t lineOf(const std::string& text, const std::string& what) {
  const size_t at = text.find(what);
  VITRINE_CHECK(at != std::string::npos, "no line with " + what);
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

struct KernelSpec {
  const char *label, *name, *kind, *family, *space, *nodes;
  int64_t bytes, flops;
  double ms;
};
const KernelSpec kKernels[] = {
    {"K0", "layer_norm", "generated", "reduction", "1024 × 768", "l0 l1", 6'291'456, 5'505'024, 0.13},
    {"L0", "addmm", "library", "matmul", "1024 × 2304", "addmm", 12'582'912, 3'623'878'656, 3.04},
    {"L1", "sdpa", "library", "opaque", "8 × 12 × 128 × 64", "sdpa", 12'582'912, 0, 0.92},
    {"L2", "mm", "library", "matmul", "1024 × 768", "mm", 8'650'752, 1'207'959'552, 1.05},
    {"K1", "add_add_layer_norm", "generated", "reduction", "1024 × 768", "l2 l3 l4 l5", 12'582'912, 7'864'320,
     0.24},
    {"L3", "mm", "library", "matmul", "1024 × 3072", "mm_2", 25'165'824, 4'831'838'208, 3.74},
    {"K2", "add_gelu", "generated", "pointwise", "1024 × 3072", "l6 l7", 25'165'824, 62'914'560, 0.41},
    {"L4", "mm", "library", "matmul", "1024 × 768", "mm_3", 25'165'824, 4'831'838'208, 3.49},
    {"K3", "add_add", "generated", "pointwise", "1024 × 768", "l8 l9", 9'437'184, 1'572'864, 0.16},
};

void ranges(Builder& b, const KernelRow& kernel, const std::string& text, const Names& fused) {
  auto range = [&](const char* which, int64_t from, int64_t to, Id node) {
    KernelRangeRow row{b.w.next(Kind::KernelRange), kernel.id, which, from, to, 0, 0, node};
    b.w.put(row);
    return row.id;
  };
  const Id add = fused.at("l6"), gelu = fused.at("l7");
  const int64_t x = lineOf(text, "v16 x ="), h = lineOf(text, "v16 h ="), st = lineOf(text, "store(row");
  b.ids.k2_add_lines = range("source", x, h, add);
  b.ids.k2_gelu_lines = range("source", h + 1, st, gelu);
  const std::string ir = kGeluIr, as = kGeluAssembly;
  range("ir", lineOf(ir, "%x ="), lineOf(ir, "%h ="), add);
  range("ir", lineOf(ir, "%h2"), lineOf(ir, "store"), gelu);
  range("assembly", lineOf(as, "vmovups zmm0"), lineOf(as, "vaddps  zmm0"), add);
  range("assembly", lineOf(as, "vmulps  zmm1, zmm0"), lineOf(as, "vmovups [rdi"), gelu);
  b.w.put(RemarkRow{kernel.id, h - 3, 4, "loop-vectorize", "passed", "16 lanes, unrolled ×2, no spills"});
  b.w.put(RemarkRow{kernel.id, st - 1, 6, "asm-printer", "analysis", "vdivps: 16 of 41 cycles"});
}

void writeDecisions(Builder& b, const Names& fused, const Names& kernels) {
  struct D {
    const char *a, *b, *kind, *reason, *kernel;
    int64_t bytes;
    double ms;
  };
  const D decisions[] = {
      {"l6", "l7", "vertical", "same iteration space, one reader", "K2", 25'165'824, -0.38},
      {"mm_2", "l6", "epilogue", "library call takes no epilogue", "", 25'165'824, -0.27},
      {"l7", "mm_3", "prologue", "library call takes no prologue", "", 25'165'824, -0.19},
      {"l2", "l3", "vertical", "same iteration space", "K1", 6'291'456, -0.11},
      {"l8", "l9", "vertical", "same iteration space", "K3", 6'291'456, -0.10},
      {"mm", "l2", "epilogue", "library call takes no epilogue", "", 6'291'456, -0.08},
      {"mm_3", "l8", "epilogue", "library call takes no epilogue", "", 6'291'456, -0.08},
      {"l1", "addmm", "prologue", "library call takes no prologue", "", 6'291'456, -0.07},
      {"l0", "l1", "vertical", "row reduction kept in registers", "K0", 3'145'728, -0.05},
      {"l3", "l4", "vertical", "row reduction kept in registers", "K1", 3'145'728, -0.05},
      {"l4", "l5", "vertical", "row reduction kept in registers", "K1", 3'145'728, -0.05},
      {"l5", "mm_2", "prologue", "library call takes no prologue", "", 3'145'728, -0.04},
      {"l3", "l9", "horizontal", "a library call stands between", "", 3'145'728, -0.03},
  };
  int64_t ordinal = 0;
  for (const D& d : decisions) {
    DecisionRow row{b.w.next(Kind::Decision),
                    b.ids.compilation,
                    ++ordinal,
                    fused.at(std::string("loop ") + d.a),
                    fused.at(std::string("loop ") + d.b),
                    d.kind,
                    *d.kernel ? "fused" : "rejected",
                    d.reason,
                    d.bytes,
                    1,
                    d.ms * 1e6,
                    *d.kernel ? kernels.at(d.kernel) : 0};
    b.w.put(row);
    if (ordinal == 1) b.ids.fused_pair = row.id;
    if (ordinal == 2) b.ids.rejected_pair = row.id;
  }
}

void writeBuffers(Builder& b, const Names& fused) {
  struct B {
    const char *name, *kind, *node;
    int64_t bytes, first, last, offset;
    int reuses;
  };
  const B buffers[] = {{"x", "input", "x", 3'145'728, 0, 8, 0, -1},
                       {"buf0", "temporary", "l1", 3'145'728, 0, 1, 0, -1},
                       {"buf1", "temporary", "addmm", 9'437'184, 1, 2, 3'145'728, -1},
                       {"buf2", "temporary", "sdpa", 3'145'728, 2, 3, 0, 1},
                       {"buf3", "temporary", "mm", 3'145'728, 3, 4, 3'145'728, 2},
                       {"buf4", "temporary", "l3", 3'145'728, 4, 8, 0, 3},
                       {"buf5", "temporary", "l5", 3'145'728, 4, 5, 6'291'456, -1},
                       {"buf6", "temporary", "l7", 12'582'912, 5, 7, 6'291'456, -1},
                       {"buf7", "output", "output", 3'145'728, 7, 8, 18'874'368, -1}};
  std::vector<Id> made;
  for (const B& s : buffers) {
    BufferRow row{b.w.next(Kind::Buffer),
                  b.ids.compilation,
                  static_cast<int64_t>(made.size()),
                  s.name,
                  s.kind,
                  "f32",
                  s.bytes,
                  s.first,
                  s.last,
                  s.offset,
                  s.reuses < 0 ? 0 : made[static_cast<size_t>(s.reuses)],
                  fused.at(s.node)};
    b.w.put(row);
    made.push_back(row.id);
  }
}

}  // namespace

void writeKernels(Builder& b, const Names& fused) {
  Names kernels;
  int64_t ordinal = 0;
  for (const KernelSpec& spec : kKernels) {
    const bool ours = spec.label[0] == 'K';
    const std::string text =
        ours ? source(std::string(spec.label) == "K2" ? kGeluSource : kNormSource, spec.name) : "";
    KernelRow row;
    row.id = kernels[spec.label] = b.w.next(Kind::Kernel);
    row.compilation = b.ids.compilation;
    row.ordinal = ordinal;
    row.label = spec.label;
    row.name = spec.name;
    row.kind = spec.kind;
    row.family = spec.family;
    row.language = ours ? "c++" : "";
    row.space = spec.space;
    row.isa = ours ? "avx512" : "";
    row.bytes = spec.bytes;
    row.flops = spec.flops;
    row.compile_ns = ours ? 21'000'000 : 0;
    if (ours) {
      row.source = b.w.blob(text);
      row.ir = b.w.blob(kGeluIr);
      row.assembly = b.w.blob(kGeluAssembly);
    }
    b.w.put(row);
    for (const std::string& node : words(spec.nodes)) b.w.link(fused.at(node), row.id);
    LaunchRow launch{b.w.next(Kind::Launch),
                     b.ids.compilation,
                     ordinal,
                     ours ? "kernel" : "library",
                     std::string(spec.label) + " " + spec.name,
                     "buf" + std::to_string(ordinal),
                     row.id,
                     spec.bytes,
                     spec.ms * 1e6};
    b.w.put(launch);
    if (std::string(spec.label) == "K2") {
      ranges(b, row, text, fused);
      b.ids.k2 = row.id;
      b.ids.launch_k2 = launch.id;
    }
    ++ordinal;
  }
  writeDecisions(b, fused, kernels);
  writeBuffers(b, fused);
  b.stage(b.ids.compilation, "memory", 18'874'368, 0.2);
  b.stage(b.ids.compilation, "kernels", 4, 96);
  b.stage(b.ids.compilation, "ir", 4, 0);
  b.stage(b.ids.compilation, "assembly", 4, 0);
  b.stage(b.ids.compilation, "launch", 9, 0.1);
  b.stage(b.ids.compilation, "timeline", 1, 0);
}

}  // namespace vitrine::fixture
