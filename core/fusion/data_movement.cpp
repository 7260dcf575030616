// Operators whose elements come from places that follow from sizes and numbers alone.
#include <algorithm>

#include "core/fusion/nests.h"

namespace vitrine::fusion {

namespace {

using ir::Arg;
using ir::Dims;
using ir::Ref;

constexpr size_t kMostParts = 8;   // joined by choices one after the other; PyTorch copies many parts faster
constexpr size_t kMostRolled = 2;  // dims: each doubles the places that an element may come from
constexpr int64_t kFar = Range::kNone / 4;

// One after the other along `d`: element i of the result is part[i - start of the part].
bool joined(NestWriter& w, size_t d, const std::vector<std::pair<Ref, Access>>& parts, const Dims& lengths,
            std::string& why) {
  if (parts.size() > kMostParts) return no(why, "it joins many tensors");
  std::vector<ExprPtr> values;
  Dims ends;
  ir::Sym start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto [value, at] = parts[i];
    at.offset -= start * at.strides[d];
    if (parts.size() > 1) at.within = {w.range(d, start, start + lengths[i])};
    start += lengths[i];
    ends.push_back(start);
    values.push_back(w.read(value, std::move(at)));
  }
  w.nest.expr = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    w.nest.expr = NestWriter::choose(w.inside({w.range(d, -Range::kNone, ends[i])}), values[i], w.nest.expr);
  return true;
}

bool cat(NestWriter& w, std::string& why) {
  auto d = NestWriter::dim(w.integer(1), w.out().sizes.size());
  std::vector<std::pair<Ref, Access>> parts;
  Dims lengths;
  for (const Arg& a : w.arg(0).as<std::vector<Arg>>()) {
    const Ref value = a.as<Ref>();
    const Dims& sizes = w.type(value).sizes;
    if (sizes.size() != w.out().sizes.size() || !d || sizes[*d] == 0) continue;  // an empty one joins nothing
    parts.emplace_back(value, w.place(value));
    lengths.push_back(sizes[*d]);
  }
  if (parts.empty()) return no(why, "there is nothing to join");
  return joined(w, *d, parts, lengths, why);
}

bool stack(NestWriter& w, std::string& why) {
  auto d = NestWriter::dim(w.integer(1), w.out().sizes.size());
  if (!d) return no(why, "its dimension is none");
  std::vector<std::pair<Ref, Access>> parts;
  for (const Arg& a : w.arg(0).as<std::vector<Arg>>()) {
    Access at = w.place(a.as<Ref>());
    at.strides.insert(at.strides.begin() + static_cast<int64_t>(*d), 0);
    parts.emplace_back(a.as<Ref>(), std::move(at));
  }
  return joined(w, *d, parts, Dims(parts.size(), 1), why);
}

// before, after, from the last dim on: the result's element i is that at i - before; a negative pad cuts.
// Of what changes and is never negative, 0 is a border, too: one nest for all sizes.
bool may_grow(const ir::Sym& pad) {
  return (pad.symbolic() && ir::never_above(0, pad)) || pad > 0;
}

bool constant_pad(NestWriter& w, std::string& why) {
  const Ref value = w.value(0);
  Access at = w.place(value);
  const Dims pad = w.integers(1), &sizes = w.type(value).sizes;
  ExprPtr fill = w.constant(w.arg(2));
  if (!fill) return no(why, "its value is no number of its type");
  if (pad.size() > 2 * sizes.size()) return no(why, "it pads more dimensions than there are");
  std::vector<Range> ranges;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = sizes.size() - 1 - i;
    const ir::Sym before = pad[2 * i], after = pad[2 * i + 1];
    at.offset -= before * at.strides[d];
    const bool leads = may_grow(before), follows = may_grow(after);
    if (leads || follows)
      ranges.push_back(w.range(d, leads ? before : ir::Sym(-Range::kNone),
                               follows ? before + sizes[d] : ir::Sym(Range::kNone)));
  }
  at.within = ranges;
  w.nest.expr = w.read(value, std::move(at));
  if (!ranges.empty()) w.nest.expr = NestWriter::choose(w.inside(ranges), w.nest.expr, fill);
  return true;
}

// `source` where start <= index of dim d < start + length, `otherwise` elsewhere.
void placed(NestWriter& w, size_t d, const ir::Sym& start, const ir::Sym& length, Ref source, Access at,
            const ExprPtr& otherwise) {
  at.offset -= start * at.strides[d];
  at.within = {w.range(d, start, start + length)};
  ExprPtr value = w.read(source, std::move(at));
  w.nest.expr = NestWriter::choose(w.inside({w.range(d, start, start + length)}), value, otherwise);
}

// A slice's place: dim, start, end, step from argument `first` on. nullopt: it steps.
struct SliceBounds {
  size_t d;
  ir::Sym start, length;
};
std::optional<SliceBounds> slice_of(const NestWriter& w, size_t first, Ref part, std::string& why) {
  const Dims& sizes = w.out().sizes;
  auto d = NestWriter::dim(w.integer(first), sizes.size());
  if (!d || w.integer(first + 3, 1) != 1) {
    why = "its slice has steps";
    return std::nullopt;
  }
  const ir::Sym size = sizes[*d], start = w.size(first + 1, 0);
  // As long as the part is, which has been sliced so.
  return SliceBounds{*d, ir::min(ir::max(start < 0 ? start + size : start, 0), size),
                     w.type(part).sizes.at(*d)};
}

bool slice_scatter(NestWriter& w, std::string& why) {
  auto slice = slice_of(w, 2, w.value(1), why);
  if (!slice) return false;
  ExprPtr otherwise = w.read(w.value(0), w.place(w.value(0)));
  placed(w, slice->d, slice->start, slice->length, w.value(1), w.place(w.value(1)), otherwise);
  return true;
}
bool slice_backward(NestWriter& w, std::string& why) {
  auto slice = slice_of(w, 2, w.value(0), why);
  if (!slice) return false;
  placed(w, slice->d, slice->start, slice->length, w.value(0), w.place(w.value(0)), Expr::make_integer(0));
  return true;
}

bool selected(NestWriter& w, Ref source, const ExprPtr& otherwise, std::string& why) {
  auto d = NestWriter::dim(w.integer(2), w.out().sizes.size());
  if (!d) return no(why, "its dimension is none");
  ir::Sym index = w.size(3);
  if (index < 0) index += w.out().sizes[*d];
  Access at = w.place(source);
  at.strides.insert(at.strides.begin() + static_cast<int64_t>(*d), 0);
  placed(w, *d, index, 1, source, std::move(at), otherwise);
  return true;
}
bool select_scatter(NestWriter& w, std::string& why) {
  return selected(w, w.value(1), w.read(w.value(0), w.place(w.value(0))), why);
}
bool select_backward(NestWriter& w, std::string& why) {
  return selected(w, w.value(0), Expr::make_integer(0), why);
}

bool flip(NestWriter& w, std::string&) {
  const Ref value = w.value(0);
  Access at = w.place(value);
  std::vector<bool> turned(at.strides.size(), false);
  for (const int64_t k : ir::integers(w.integers(1))) {
    auto d = NestWriter::dim(k, at.strides.size());
    if (!d || turned[*d]) continue;
    turned[*d] = true;
    at.offset += (w.out().sizes[*d] - 1) * at.strides[*d];
    at.strides[*d] = -at.strides[*d];
  }
  w.nest.expr = w.read(value, std::move(at));
  return true;
}

// Element i of a dim is that at i - shift, or at i - shift + size where i < shift.
ExprPtr rolled(NestWriter& w, Ref value, const Access& at, const Dims& shifts, size_t d) {
  while (d < shifts.size() && shifts[d].same(0)) ++d;
  if (d == shifts.size()) return w.read(value, at);
  Access first = at, rest = at;
  first.offset += (w.nest.dims[d] - shifts[d]) * at.strides[d];
  rest.offset -= shifts[d] * at.strides[d];
  const Range before = w.range(d, -Range::kNone, shifts[d]);
  first.within.push_back(before);
  rest.within.push_back(w.range(d, shifts[d], Range::kNone));
  ExprPtr a = rolled(w, value, first, shifts, d + 1), b = rolled(w, value, rest, shifts, d + 1);
  return NestWriter::choose(w.inside({before}), a, b);
}
bool roll(NestWriter& w, std::string& why) {
  const Ref value = w.value(0);
  const Dims by = w.integers(1), dims = w.integers(2);
  Access at = w.place(value);
  if (dims.empty()) {
    if (!w.type(value).is_contiguous() || !w.out().is_contiguous()) return no(why, "its memory has gaps");
    w.nest.dims = {w.out().numel()};
    w.nest.store = at.strides = {1};
  }
  Dims shifts(w.nest.dims.size(), 0);
  for (size_t i = 0; i < by.size(); ++i) {
    auto d = dims.empty() ? std::optional<size_t>(0) : NestWriter::dim(dims.at(i), shifts.size());
    if (!d) return no(why, "its dimension is none");
    shifts[*d] = ir::mod(shifts[*d] + by[i], w.nest.dims[*d]);
  }
  if (static_cast<size_t>(std::count_if(shifts.begin(), shifts.end(),
                                        [](const ir::Sym& s) { return !s.same(0); })) > kMostRolled)
    return no(why, "it shifts many dimensions");
  w.nest.expr = rolled(w, value, at, shifts, 0);
  return true;
}

// Column - row of the last two dims.
Range diagonals(const NestWriter& w, int64_t low, int64_t high) {
  Range r{Dims(w.nest.dims.size(), 0), low, high};
  r.strides[r.strides.size() - 1] = 1;
  r.strides[r.strides.size() - 2] = -1;
  return r;
}
bool triangle(NestWriter& w, const Range& stays) {
  ExprPtr value = w.read(w.value(0), w.place(w.value(0)));
  w.nest.expr = NestWriter::choose(w.inside({stays}), value, Expr::make_integer(0));
  return true;
}
int64_t near(int64_t diagonal) {
  return std::clamp(diagonal, -kFar, kFar);
}
bool tril(NestWriter& w, std::string&) {
  return triangle(w, diagonals(w, -Range::kNone, near(w.integer(1)) + 1));
}
bool triu(NestWriter& w, std::string&) {
  return triangle(w, diagonals(w, near(w.integer(1)), Range::kNone));
}
bool eye(NestWriter& w, std::string&) {
  w.nest.expr =
      NestWriter::choose(w.inside({diagonals(w, 0, 1)}), Expr::make_integer(1), Expr::make_integer(0));
  return true;
}

// Numbers of which a float holds every one exactly: PyTorch adds up others in its own way.
bool counted(NestWriter& w, std::optional<size_t> start_at, std::optional<size_t> step_at, std::string& why) {
  auto whole = [&](std::optional<size_t> i, int64_t fallback, bool& ok) {
    if (!i) return fallback;
    ExprPtr e = w.constant(w.arg(*i));
    ok = ok && e && e->kind == Expr::Kind::number &&
         (e->whole || e->number == static_cast<double>(static_cast<int64_t>(e->number)));
    return !ok ? 0 : e->whole ? e->integer : static_cast<int64_t>(e->number);
  };
  bool ok = true;
  const int64_t start = whole(start_at, 0, ok), step = whole(step_at, 1, ok);
  const ir::DType t = w.out().dtype;
  const int64_t exact = t == ir::DType::f32 ? int64_t{1} << 24 : int64_t{1} << 50;
  const ir::Sym last = start + step * (w.out().numel() - 1);
  // Whole numbers are computed as they are; a range of sizes is no reason to ask.
  const bool counts = last.symbolic() && t == ir::DType::i64 && std::abs(step) < exact;
  if (!ok || t == ir::DType::f16 || t == ir::DType::bf16 || std::abs(start) >= exact ||
      (!counts && (last >= exact || last <= -exact)))
    return no(why, "its numbers are rounded");
  w.nest.compute = ir::DType::i64;
  w.nest.expr = w.number({step}, start);
  return true;
}
bool arange(NestWriter& w, std::string& why) {
  return counted(w, std::nullopt, std::nullopt, why);
}
bool arange_start(NestWriter& w, std::string& why) {
  return counted(w, 0, std::nullopt, why);
}
bool arange_step(NestWriter& w, std::string& why) {
  return counted(w, 0, 2, why);
}

// Each dim is two: which repetition, and where in it.
bool repeat(NestWriter& w, std::string&) {
  const Ref value = w.value(0);
  const Dims times = w.integers(1), &sizes = w.type(value).sizes;
  const Access from = w.place(value);
  Access at = from;
  at.strides.clear();
  w.nest.dims.clear();
  w.nest.store = Dims();
  for (size_t k = 0; k < times.size(); ++k) {
    const size_t pad = times.size() - sizes.size();
    const ir::Sym size = k < pad ? ir::Sym(1) : sizes[k - pad], stride = w.out().strides[k];
    w.nest.dims.insert(w.nest.dims.end(), {times[k], size});
    at.strides.insert(at.strides.end(), {0, k < pad ? ir::Sym(0) : from.strides[k - pad]});
    w.nest.store->insert(w.nest.store->end(), {stride * size, stride});
  }
  w.nest.expr = w.read(value, std::move(at));
  return true;
}

// Row and column within a square of pixels are dims of their own: in front of the places they are channels.
bool pixel_unshuffle(NestWriter& w, std::string&) {
  const Access from = w.place(w.value(0));
  const int64_t by = w.integer(1);
  const size_t n = from.strides.size() - 3;  // dims in front
  const Dims &sizes = w.out().sizes, &to = w.out().strides;
  Access at = from;
  at.strides.assign(from.strides.begin(), from.strides.begin() + static_cast<int64_t>(n));
  Dims store(to.begin(), to.begin() + static_cast<int64_t>(n));
  w.nest.dims.assign(sizes.begin(), sizes.begin() + static_cast<int64_t>(n));
  const ir::Sym channel = from.strides[n], row = from.strides[n + 1], column = from.strides[n + 2];
  w.nest.dims.insert(w.nest.dims.end(),
                     {ir::floordiv(sizes[n], by * by), by, by, sizes[n + 1], sizes[n + 2]});
  at.strides.insert(at.strides.end(), {channel, row, column, row * by, column * by});
  store.insert(store.end(), {to[n] * by * by, to[n] * by, to[n], to[n + 1], to[n + 2]});
  w.nest.store = std::move(store);
  w.nest.expr = w.read(w.value(0), std::move(at));
  return true;
}

}  // namespace

const std::vector<NestRow> kMoves = {
    {"aten.cat.default", cat},
    {"aten.stack.default", stack},
    {"aten.constant_pad_nd.default", constant_pad},
    {"aten.slice_scatter.default", slice_scatter},
    {"aten.slice_backward.default", slice_backward},
    {"aten.select_scatter.default", select_scatter},
    {"aten.select_backward.default", select_backward},
    {"aten.flip.default", flip},
    {"aten.roll.default", roll},
    {"aten.tril.default", tril},
    {"aten.triu.default", triu},
    {"aten.eye.default", eye},
    {"aten.eye.m", eye},
    {"aten.arange.default", arange},
    {"aten.arange.start", arange_start},
    {"aten.arange.start_step", arange_step},
    {"aten.repeat.default", repeat},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
};

}  // namespace vitrine::fusion
