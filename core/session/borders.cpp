#include "core/session/borders.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vitrine::session {

namespace {

constexpr double kMostReal = 1e18;
constexpr int64_t kInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(),
                  kHighest = std::numeric_limits<int64_t>::max();

// Columns that name a thing of one kind, in whatever table they stand.
struct ReferenceRow {
  std::string_view column;
  Kind kind;
};
constexpr ReferenceRow kReferences[] = {
    {"run", Kind::Run},
    {"file", Kind::File},
    {"span", Kind::Span},
    {"code", Kind::Code},
    {"instruction", Kind::Instruction},
    {"frame", Kind::Frame},
    {"segment", Kind::Segment},
    {"next_segment", Kind::Segment},
    {"compilation", Kind::Compilation},
    {"previous", Kind::Compilation},
    {"backward", Kind::Compilation},
    {"guard", Kind::Guard},
    {"graph", Kind::Graph},
    {"src", Kind::Node},
    {"dst", Kind::Node},
    {"a", Kind::Node},
    {"b", Kind::Node},
    {"node", Kind::Node},
    {"backward_node", Kind::Node},
    {"kernel", Kind::Kernel},
    {"launch", Kind::Launch},
    {"reuses", Kind::Buffer},
};

// The other integers; a table's own row comes before the one for all. What is not named is 0 to 2^53.
struct NumberRow {
  std::string_view table, column;  // table "": any
  int64_t low, high;
};
constexpr NumberRow kNumbers[] = {
    {"symbol", "hint", kLowest, kHighest},
    {"symbol", "lo", kLowest, kHighest},
    {"symbol", "hi", kLowest, kHighest},
    {"run", "started_unix_ns", 0, kHighest / 2},
    {"ceiling", "measured_unix_ns", 0, kHighest / 2},
    {"measurement", "kept", -1, kInt},
    {"measurement", "preempted", -1, kMost},
    {"sample", "offset", -1, kMost},
    {"measurement", "kept", -1, kInt},
    {"measurement", "preempted", -1, kMost},
    {"ceiling", "measured_unix_ns", 0, kHighest / 2},
    {"numerics", "first", 0, 1},
    {"numerics", "makes", 0, 1},
    {"", "line", 0, kMostLines},
    {"", "end_line", 0, kMostLines},
    {"", "first_line", 0, kMostLines},
    {"", "last_line", 0, kMostLines},
    {"", "source_line", 0, kMostLines},
    {"", "col", 0, kMostLines},
    {"", "end_col", 0, kMostLines},
    {"", "depth", 0, kDeepest},
    {"", "ordinal", 0, kInt},
    {"", "slot", 0, kInt},
    {"", "stable", -1, kInt},
    {"", "pc", -1, kInt},
    {"", "end_pc", -1, kInt},
    {"", "target", -1, kInt},
    {"", "arg", -kInt, 2 * kInt},
    {"", "first", -1, kInt},
    {"", "last", -1, kInt},
    {"", "offset", -1, kMost},
    {"", "start_ns", -kMost, kMost},
    {"", "freed_ns", -1, kMost},
    {"", "time_ns", -kMost, kMost},
    {"", "bytes_saved", -kMost, kMost},
    {"", "launches_saved", -kInt, kInt},
};

constexpr std::string_view kNumbered[] = {"blob", "lane", "name"};  // their ids count from 1, each for itself

bool is_entity(int64_t id) {
  return id > 0 && !kind_table(kind_of(id)).empty();
}

Kind kind_of_table(std::string_view table) {
#define X(name, its_table, word) \
  if (table == its_table) return Kind::name;
  VITRINE_ENTITY_KINDS(X)
#undef X
  return Kind::None;
}

}  // namespace

Border integer_border(std::string_view table, std::string_view column) {
  using Of = Border::Of;
  if (column == "id") {
    if (std::find(std::begin(kNumbered), std::end(kNumbered), table) != std::end(kNumbered))
      return {Of::OwnNumber, Kind::None, 1, kMost};
    return {Of::Own, kind_of_table(table), 0, 0};
  }
  if (column == "entity" && table != "lane") return {Of::Entity, Kind::None, 0, 0};
  if (table == "link") return {Of::Entity, Kind::None, 0, 0};
  if (table != "lane" || column == "run")
    for (const ReferenceRow& row : kReferences)
      if (row.column == column) return {Of::Reference, row.kind, 0, 0};
  if (table == "lane" && column != "ordinal") return {Of::Number, Kind::None, 0, kMost};  // rows of `blob`
  for (const NumberRow& row : kNumbers)
    if (row.column == column && (row.table.empty() || row.table == table))
      return {Of::Number, Kind::None, row.low, row.high};
  return {Of::Number, Kind::None, 0, kMost};
}

Border real_border(std::string_view table) {
  // A difference may well be infinite, or none.
  return {table == "accuracy" || table == "numerics" ? Border::Of::AnyReal : Border::Of::Real, Kind::None, 0,
          0};
}

bool within(const Border& border, int64_t value) {
  switch (border.of) {
    case Border::Of::Own:
      return value > 0 && kind_of(value) == border.kind && seq_of(value) > 0;
    case Border::Of::Reference:
      return value == 0 || (value > 0 && kind_of(value) == border.kind);
    case Border::Of::Entity:
      return value == 0 || is_entity(value);
    case Border::Of::Number:
    case Border::Of::OwnNumber:
      return border.low <= value && value <= border.high;
    case Border::Of::Real:
    case Border::Of::AnyReal:
      break;
  }
  return true;
}

bool within(const Border& border, double value) {
  return border.of != Border::Of::Real || (std::isfinite(value) && std::abs(value) <= kMostReal);
}

}  // namespace vitrine::session
