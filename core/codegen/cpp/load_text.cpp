#include "core/codegen/cpp/load_text.h"

namespace vitrine::codegen::cpp {

using fusion::Range;

std::string LoadText::pointer(const Load& l) const {
  const Argument& a = s_.arguments[static_cast<size_t>(l.argument)];
  return (a.written ? "out_" : "in_") + a.name;
}

// What is left to the limit at the first lane, in steps of a lane.
std::string LoadText::bound(const ir::Sym& limit, const Range& r) const {
  const std::string left = index_.number(limit) + " - " + index_.sum(r.strides, 0);
  const ir::Sym step = r.strides.back();
  return step.same(1) ? left : "steps_to(" + left + ", " + index_.number(step) + ")";
}

// Of a range that does not move along the lanes.
std::string LoadText::condition(const Range& r) const {
  const std::string at = index_.sum(r.strides, 0);
  std::string out;
  if (r.bounded_below()) out = at + " >= " + index_.number(r.low);
  if (r.bounded_above()) out += (out.empty() ? "" : " && ") + (at + " < " + index_.number(r.high));
  return out.empty() ? "true" : out;
}
std::string LoadText::conditions(const Load& l) const {
  std::string out;
  for (const Range& r : l.within)
    if (r.strides.back().same(0)) out += (out.empty() ? "" : " && ") + condition(r);
  return out;
}

std::string LoadText::lanes(const Range& r) const {
  if (r.strides.back().same(0)) return "splat(-(i32)(" + condition(r) + "))";
  if (!r.bounded_below()) return "lanes_below(" + bound(r.high, r) + ")";
  if (!r.bounded_above()) return "lanes_from(" + bound(r.low, r) + ")";
  return "lanes_in(" + bound(r.low, r) + ", " + bound(r.high, r) + ")";
}

// First lane and one past the last one that are within all ranges.
std::pair<std::string, std::string> LoadText::bounds(const Load& l, const std::string& part) const {
  std::string low, high;
  for (const Range& r : l.within) {
    if (r.strides.back().same(0)) continue;
    if (r.bounded_below()) low = low.empty() ? bound(r.low, r) : "most(" + low + ", " + bound(r.low, r) + ")";
    if (r.bounded_above())
      high = high.empty() ? bound(r.high, r) : "least(" + high + ", " + bound(r.high, r) + ")";
  }
  if (low.empty()) low = "0";
  if (high.empty()) high = "count(" + part + ")";
  if (const std::string when = conditions(l); !when.empty()) high = when + " ? " + high + " : 0";
  return {low, high};
}

// Elements from the row's first, by indices that are the same in every lane.
std::string LoadText::gathered(const Load& l) const {
  std::string out;
  for (const Index& i : l.gathered) {
    const std::string size = index_.number(i.size);
    std::string at = name_(i.from).text + "[0]";
    if (i.from_end) at = "from_end(" + at + ", " + size + ")";
    out += " + index_at(" + at + ", " + size + ", bad)" +
           (i.stride.same(1) ? "" : " * " + index_.number(i.stride));
  }
  return out;
}
// The same for each lane.
std::string LoadText::gathered_lanes(const Load& l, const std::string& part) const {
  std::string out;
  for (const Index& i : l.gathered) {
    const std::string size = index_.number(i.size);
    std::string at = cast(name_(i.from), ir::DType::i64).text;
    if (i.from_end) at = "from_end_lanes(" + at + ", " + size + ")";
    out += (out.empty() ? "" : " + ") + ("index_lanes(" + at + ", " + size + ", bad, " + part + ")") +
           (i.stride.same(1) ? "" : " * " + index_.number(i.stride));
  }
  if (!l.strides.back().same(0)) out += " + steps(0, " + index_.number(l.strides.back()) + ")";
  return out;
}

std::string LoadText::once(const Load& l) const {
  if (l.kind == Load::Kind::number) return "splat((i64)" + index_.sum(l.strides, l.offset) + ")";
  if (l.kind == Load::Kind::truth) return "splat(-(i32)(" + conditions(l) + "))";
  const std::string at = pointer(l) + index_.row(l.strides, l.offset) + gathered(l);
  return l.within.empty() ? "load1(" + at + ")" : "load1_if(" + conditions(l) + ", " + at + ")";
}

std::string LoadText::row_pointer(const Load& l) const {
  return pointer(l) + index_.row(l.strides, l.offset) + (l.gathered_by_row ? gathered(l) : "");
}

std::string LoadText::full(const Load& l, const std::string& from, const std::string& part) const {
  const ir::Sym stride = l.strides.empty() ? ir::Sym(0) : l.strides.back();
  if (l.kind == Load::Kind::number)
    return "steps(" + index_.sum(l.strides, l.offset) + ", " + index_.number(stride) + ")";
  if (l.kind == Load::Kind::truth) {
    std::string out;
    for (const Range& r : l.within) out += (out.empty() ? "" : " & ") + lanes(r);
    return out;
  }
  const std::string at = from + index_.column(l.strides, true);
  if (!l.gathered.empty() && !l.gathered_by_row)
    return "load_at(" + at + ", " + gathered_lanes(l, part) + ", " + part + ")";
  if (!l.within.empty()) {
    const auto [low, high] = bounds(l, part);
    const std::string lanes = low + ", " + high + ", " + part + ")";
    return stride.same(1) ? "load_in(" + at + ", " + lanes
                          : "gather_in(" + at + ", " + index_.number(stride) + ", " + lanes;
  }
  return stride.same(1)    ? "load(" + at + ", " + part + ")"
         : stride.same(0)  ? "load1(" + at + ")"
         : stride.same(-1) ? "load_back(" + at + ", " + part + ")"
                           : "gather(" + at + ", " + index_.number(stride) + ", " + part + ")";
}

}  // namespace vitrine::codegen::cpp
