#include "core/codegen/cuda/load_text.h"

#include <algorithm>

#include "core/codegen/cuda/shape.h"

namespace vitrine::codegen::cuda {

using fusion::Range;

std::string LoadText::pointer(const Load& l) const {
  const Argument& a = s_.arguments[static_cast<size_t>(l.argument)];
  return (a.written ? "out_" : "in_") + a.name;
}

bool LoadText::together(const ir::Dims& strides, const ir::Sym& offset) const {
  if (shifted_) return is_shifted(s_, strides, offset, vector_);
  if (vector_ == 1 || !strides.back().same(1) || !ir::divides(vector_, offset)) return false;
  return std::all_of(strides.begin(), strides.end() - 1,
                     [&](const ir::Sym& s) { return ir::divides(vector_, s); });
}

bool LoadText::together(const Load& l) const {
  if (l.kind != Load::Kind::memory || !together(l.strides, l.offset) || !at_once(l)) return false;
  if (!l.gathered.empty() && !l.gathered_by_row) return false;
  return std::all_of(l.gathered.begin(), l.gathered.end(),
                     [&](const Index& i) { return ir::divides(vector_, i.stride); });
}

bool LoadText::at_once(const Load& l) const {
  auto multiple = [&](const ir::Sym& n) { return ir::divides(vector_, n); };
  return std::all_of(l.within.begin(), l.within.end(), [&](const Range& r) {
    if (r.strides.back().same(0)) return true;
    return r.strides.back().same(1) && std::all_of(r.strides.begin(), r.strides.end() - 1, multiple) &&
           (!r.bounded_below() || multiple(r.low)) && (!r.bounded_above() || multiple(r.high));
  });
}

std::string LoadText::gathered(const Load& l) const {
  return l.gathered_by_row && !l.per_row ? " + at_" + l.name : every_gather(l);
}
std::string LoadText::every_gather(const Load& l) const {
  std::string out;
  for (const Index& i : l.gathered) {
    const std::string size = index_.number(i.size);
    std::string at = name_(i.from).text;
    if (i.from_end) at = "from_end(" + at + ", " + size + ")";
    out +=
        " + index_at(" + at + ", " + size + ")" + (i.stride.same(1) ? "" : " * " + index_.number(i.stride));
  }
  return out;
}

std::string LoadText::row_begin(const Load& l) const {
  return "i64 at_" + l.name + " = " + IndexText::trimmed(every_gather(l)) + ";";
}

std::string LoadText::place(const Load& l) const {
  return index_.row(l.strides, l.offset) + index_.column(l.strides) + gathered(l);
}

std::string LoadText::inside(const Load& l, bool element) const {
  std::string out;
  for (const Range& r : l.within) {
    const bool moves = element && vector_ > 1;
    const std::string at = index_.sum(r.strides, 0, moves ? index_.term("k", r.strides.back()) : "");
    if (r.bounded_below()) out += (out.empty() ? "" : " && ") + at + " >= " + index_.number(r.low);
    if (r.bounded_above()) out += (out.empty() ? "" : " && ") + at + " < " + index_.number(r.high);
  }
  return out.empty() ? "true" : out;
}

std::string LoadText::drawn(const Load& l, bool run) const {
  std::string at = index_.row(l.strides, l.offset) + index_.column(l.strides);
  if (!run && vector_ > 1) at += index_.term("k", l.strides.back());
  std::string beside = index_.number(l.draw.together);
  if (l.aligned_by >= 0) {
    const Argument& a = s_.arguments[static_cast<size_t>(l.aligned_by)];
    beside = "beside(" + std::string(a.written ? "out_" : "in_") + a.name + ", " +
             index_.number(l.draw.aligned_from) + ", " + beside + ")";
  }
  const std::string from = l.draw.from ? "offset + " + index_.number(l.draw.from) : "offset";
  return "draw<" + std::to_string(run ? vector_ : 1) + (l.draw.normal ? ", true" : "") + ">(seed, " + from +
         ", " + index_.number(l.draw.threads) + ", " + beside + ", " + IndexText::trimmed(at) + ")";
}

std::string LoadText::element(const Load& l, bool row) const {
  const bool moves = !row && vector_ > 1;
  if (l.kind == Load::Kind::drawn) return drawn(l, false) + ".v[0]";
  const std::string more = moves ? index_.term("k", l.strides.back()) : "";
  if (l.kind == Load::Kind::number) return "(i64)" + index_.sum(l.strides, l.offset, more);
  if (l.kind == Load::Kind::truth) return inside(l, moves && !at_once(l));
  const std::string at = "wide(" + pointer(l) + "[" + IndexText::trimmed(place(l) + more) + "])";
  return l.within.empty() ? at : "(" + inside(l, moves) + ") ? " + at + " : 0";
}

}  // namespace vitrine::codegen::cuda
