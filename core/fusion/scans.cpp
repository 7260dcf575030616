#include "core/fusion/scans.h"

#include <algorithm>

#include "core/fusion/nests.h"
#include "core/ops/node.h"

namespace vitrine::fusion {

namespace {

using ir::Dims;
using ir::DType;
using ir::Ref;

struct ScanRow {
  std::string_view op;
  Statement::Reduce step;
};
constexpr ScanRow kRows[] = {
    {"aten.cumsum.default", Statement::Reduce::sum},
    {"aten.cumprod.default", Statement::Reduce::prod},
};
const ScanRow* find_scan(const ir::Node& node) {
  for (const ScanRow& row : kRows)
    if (row.op == node.op) return &row;
  return nullptr;
}

// Why it is not scanned here, along dim `d` of the result; empty: it is.
std::string refusal(const ir::TensorType& in, const ir::TensorType& out, size_t d) {
  constexpr int64_t kLongRow = 8192, kFewRows = 128, kFewOnCpu = 4096;
  // Which of PyTorch's kernels adds up hangs on the sizes, and is asked.
  const ir::Sym columns = out.sizes[d], rows = ir::floordiv(out.numel(), columns);
  const bool narrow = out.dtype == DType::f16 || out.dtype == DType::bf16;
  if (columns < 2) return "there is nothing to add up";
  if (narrow && in.dtype != out.dtype) return "its elements are rounded first";
  if (!out.device.is_cuda()) return out.numel().hint() < kFewOnCpu ? "its elements are few" : "";
  if (rows < kFewRows && columns > kLongRow) return "several blocks share a row in PyTorch's kernel";
  return "";
}

}  // namespace

bool is_scanning(const ir::Node& node) {
  return find_scan(node) != nullptr;
}

std::optional<Loop> scanning_loop(const LoopProgram& program, const ir::Node& node, std::string& why) {
  auto args = ops::bind(*ops::find(node.op), node);
  why = "PyTorch's own kernel is used";
  if (!args.ok() || node.outputs.size() != 1) return std::nullopt;
  NestWriter w(program, node, args.take());
  const ir::TensorType& out = node.type();
  const Ref in = w.value(0);
  const auto d = NestWriter::dim(w.integer(1), out.sizes.size());
  if (!d) return std::nullopt;
  if (!(why = refusal(w.type(in), out, *d)).empty()) return std::nullopt;
  Loop loop;
  loop.node = node.id;
  loop.kind = Loop::Kind::reduction;
  loop.scans = find_scan(node)->step;
  Operand read{in, w.type(in).dtype, w.place(in)};
  Access store{Ref{node.id, 0}, {}, 0};
  Dims strides;
  for (size_t i = 0; i < out.sizes.size(); ++i) {
    if (out.sizes[i] == 1) continue;
    loop.dims.push_back(out.sizes[i]);
    loop.over.push_back(i == *d);
    strides.push_back(read.at.strides[i]);
    store.strides.push_back(out.strides[i]);
  }
  read.at.strides = std::move(strides);
  loop.operands = {std::move(read)};
  loop.stores = {std::move(store)};
  loop.body = {{Expr::make_operand(0), Statement::Reduce::none, false, out.dtype, out.dtype, 0}};
  return loop;
}

}  // namespace vitrine::fusion
