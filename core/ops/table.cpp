#include "core/ops/table.h"

#include <unordered_map>

#include "core/ops/call.h"

namespace vitrine::ops {

namespace {
struct Table {
  std::vector<const OpRow*> rows;
  std::unordered_map<std::string_view, const OpRow*> by_name;
};

Table build() {
  Table out;
  for (const auto* family :
       {&kPointwiseBinary, &kPointwiseUnary, &kCompare, &kReduction, &kNorm, &kSoftmax, &kView, &kMatmul,
        &kConvPool, &kEmbeddingIndex, &kFactory, &kCopy, &kRandom, &kLoss, &kBackward, &kInplace}) {
    for (const OpRow& row : *family) {
      out.rows.push_back(&row);
      bool fresh = out.by_name.emplace(row.name, &row).second;
      VITRINE_CHECK(fresh, "two rows for operator " + std::string(row.name));
    }
  }
  return out;
}

// Built at the first look-up: every family's list exists by then.
const Table& table() {
  static const Table kTable = build();
  return kTable;
}
}  // namespace

std::string_view family_name(Family family) {
  switch (family) {
    case Family::pointwise:
      return "pointwise";
    case Family::reduction:
      return "reduction";
    case Family::matmul:
      return "matmul";
    case Family::view:
      return "view";
    case Family::memory:
      return "memory";
    case Family::random:
      return "random";
    case Family::opaque:
      return "opaque";
    case Family::collective:
      return "collective";
  }
  return "opaque";
}

const OpRow* find(std::string_view name) {
  const auto& map = table().by_name;
  auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

const std::vector<const OpRow*>& all() {
  return table().rows;
}

}  // namespace vitrine::ops
