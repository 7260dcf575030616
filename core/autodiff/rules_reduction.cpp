// Gradients of sums, means, extrema, spreads and running sums.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/autodiff/rules.h"
#include "core/ops/call.h"

namespace vitrine::autodiff {

namespace {

Ref expanded(Vjp& v, Ref value, const Dims& sizes) {
  return v.op("aten.expand.default", {value, Arg::ints(sizes)});
}
// Elements that a reduction over these dimensions joins.
ir::Sym joined(const Dims& sizes, const Dims& dims) {
  const std::vector<bool> mask = ops::dim_mask(dims, sizes.size());
  ir::Sym n = 1;
  for (size_t i = 0; i < sizes.size(); ++i) n *= mask[i] ? sizes[i] : ir::Sym(1);
  return n;
}

// y = sum x: g everywhere
Ref spread_out(Vjp& v, Ref g, const Dims& dims, bool keepdim) {
  return expanded(v, v.unsqueezed(g, dims, v.sizes(0).size(), keepdim), v.sizes(0));
}
void sum_all(Vjp& v) {
  v.give(0, expanded(v, v.g(), v.sizes(0)));
}
void sum_dims(Vjp& v) {
  v.give(0, spread_out(v, v.g(), v.dims(1), v.flag(2)));
}

// y = sum of the x that are numbers: g at these
void nansum(Vjp& v) {
  v.let("spread", spread_out(v, v.cast(v.g(), v.type(v.in(0)).dtype), v.dims(1), v.flag(2)));
  v.give(0, v.eval("spread * logical_not(isnan(a))"));
}

// y = sum x / n: g / n everywhere
void mean_all(Vjp& v) {
  const Ref g = expanded(v, v.g(), v.sizes(0));
  v.give(0, v.op("aten.div.Scalar", {g, Arg(joined(v.sizes(0), {}))}));
}
Ref mean_gradient(Vjp& v, Ref g, const Dims& dims, bool keepdim) {
  return v.op("aten.div.Scalar", {spread_out(v, g, dims, keepdim), Arg(joined(v.sizes(0), dims))});
}
void mean_dims(Vjp& v) {
  v.give(0, mean_gradient(v, v.g(), v.dims(1), v.flag(2)));
}

// y, the result with this number = the largest of x: g divided among all that are y
Ref shared(Vjp& v, size_t result, const Dims& dims) {
  const size_t n = v.sizes(0).size();
  v.let("g", v.unsqueezed(v.g(result), dims, n, v.flag(2)));
  v.let("y", v.unsqueezed(v.out(static_cast<int32_t>(result)), dims, n, v.flag(2)));
  const Ref mask = v.eval("y == a");
  v.let("mask", mask);
  v.let("count", v.op("aten.sum.dim_IntList", {mask, Arg::ints(dims), Arg(true)}));
  return v.eval("g / count * mask");
}
void extremum_dims(Vjp& v) {
  v.give(0, shared(v, 0, v.dims(1)));
}
// The sum of what comes of either result: `first` and `second` make these gradients.
template <class First, class Second>
void give_of_two(Vjp& v, First first, Second second) {
  std::optional<Ref> sum;
  if (v.has(0)) sum = first();
  if (v.has(1)) {
    const Ref other = second();
    sum = sum ? v.op("aten.add.Tensor", {*sum, other}) : other;
  }
  v.give(0, *sum);
}
void smallest_and_largest(Vjp& v) {
  const Dims dims = v.none(1) ? Dims{} : Dims{v.integer(1)};
  give_of_two(v, [&] { return shared(v, 0, dims); }, [&] { return shared(v, 1, dims); });
}
// The same of all elements: where y is NaN, to all NaNs. On the CPU PyTorch fills a contiguous tensor, on a
// GPU it multiplies by the mask.
void extremum_all(Vjp& v) {
  const Ref mask = v.eval("where(isnan(y), isnan(a), a == y)");
  v.let("mask", mask);
  v.let("count", v.op("aten.sum.default", {mask}));
  if (!v.type(v.in(0)).device.is_cpu()) return v.give(0, v.eval("mask * (g / count)"));
  v.give(0, v.contiguous(v.eval("where(mask, g / count, 0)")));
}

// y, where = the largest along a dimension: g where it was found
void found_along(Vjp& v, size_t dim, bool keepdim) {
  Ref g = v.g(), where = v.out(1);
  const Dims from = v.sizes(0);
  if (!from.empty() && !keepdim) {
    g = v.op("aten.unsqueeze.default", {g, v.arg(dim)});
    where = v.op("aten.unsqueeze.default", {where, v.arg(dim)});
  }
  v.give(0, v.op("aten.scatter.src", {v.zeros(g, from), v.arg(dim), where, g}));
}
void extremum_dim(Vjp& v) {
  found_along(v, 1, v.flag(2));
}
void topk(Vjp& v) {
  found_along(v, 2, true);
}

// The same in order, and the k-th: their dimension and whether it is kept stand elsewhere.
void sort(Vjp& v) {
  found_along(v, 1, true);
}
void stable_sort(Vjp& v) {
  found_along(v, 2, true);
}
void kth(Vjp& v) {
  found_along(v, 2, v.flag(3));
}
// y_i = the largest of x_j up to i, where it was found: the sum of g there
void running_extremum(Vjp& v) {
  if (v.sizes(0).empty()) return v.give(0, v.g());
  const Ref none = v.zeros(v.in(0), v.sizes(0));  // eager keeps x, too, and notices when it is written to
  v.give(0, v.op("aten.scatter_add.default", {none, v.arg(1), v.out(1), v.g()}));
}

// The product of all others beside each element: of those before and of those behind, without a division.
Ref product_of_others(Vjp& v, Ref x, size_t d) {
  const ir::Sym n = v.type(x).sizes[d];
  const Arg dim(static_cast<int64_t>(d));
  Dims one = v.type(x).sizes;
  one[d] = 1;
  const Ref ones = v.op("aten.add.Scalar", {v.zeros(x, one), Arg(1)});
  const auto others = [&](Ref of) {
    const Ref first = v.op("aten.slice.Tensor", {of, dim, Arg(0), Arg(n - 1)});
    return v.op("aten.cumprod.default",
                {v.op("aten.cat.default", {Arg(std::vector<Arg>{Arg(ones), Arg(first)}), dim}), dim});
  };
  const Arg dims = Arg::ints({static_cast<int64_t>(d)});
  const Ref behind = v.op("aten.flip.default", {others(v.op("aten.flip.default", {x, dims})), dims});
  return v.op("aten.mul.Tensor", {others(x), behind});
}
// y = product of x: g y / x where no element of the whole tensor is 0, else g times the product of the
// others. Of one product of all elements, two zeros make every gradient 0, whatever else is there.
void product(Vjp& v, size_t d, bool all, const std::function<Ref(Ref)>& unreduced) {
  const DType dtype = v.type(v.g()).dtype;
  const Dims from = v.sizes(0);
  const Ref x = v.cast(all ? v.reshape(v.in(0), {v.type(v.in(0)).numel()}) : v.in(0), dtype);
  v.let("x", x), v.let("slope", unreduced(v.g())), v.let("product", unreduced(v.out()));
  v.let("others", product_of_others(v, x, d));
  v.let("zeros", v.op("aten.sum.default", {v.eval("x == 0")}));
  v.let("some", v.eval(all ? "masked_fill(slope * others, zeros > 1, 0)" : "slope * others"));
  v.give(0, v.reshape(v.eval("where(zeros == 0, slope * (product / x), some)"), from));
}
void product_dim(Vjp& v) {
  const Dims from = v.sizes(0);
  if (from.empty()) return v.give(0, v.g());
  if (v.type(v.in(0)).numel() == 0) refuse("a product of nothing");
  const size_t d = ops::wrap_dim(v.integer(1), from.size());
  product(v, d, false, [&](Ref r) { return v.unsqueezed(r, {v.integer(1)}, from.size(), v.flag(2)); });
}
void product_all(Vjp& v) {
  if (v.type(v.in(0)).numel() == 0) refuse("a product of nothing");
  if (v.sizes(0).empty()) return v.give(0, v.g());
  product(v, 0, true, [](Ref r) { return r; });
}

// What a running operator gives from the end of the dim on.
Ref from_the_end(Vjp& v, const char* running, Ref of) {
  const Arg dims = Arg::ints({v.integer(1)});
  const Ref turned = v.op("aten.flip.default", {of, dims});
  return v.op("aten.flip.default", {v.op(running, {turned, v.arg(1)}), dims});
}

// y_i = log sum exp x_j up to i: sum of g_j exp(x_i - y_j) from i on; logarithms of g's halves are summed
void logcumsumexp(Vjp& v) {
  const Dims from = v.sizes(0);
  if (from.empty() || v.type(v.in(0)).numel() == 0) refuse("nothing runs");
  const double least = v.type(v.in(0)).dtype == DType::f64 ? std::numeric_limits<double>::lowest()
                                                           : double{std::numeric_limits<float>::lowest()};
  v.let("least", Arg(least));
  const auto half = [&](const char* text) {
    v.let("sum", from_the_end(v, "aten.logcumsumexp.default", v.eval(text)));
    return v.eval("exp(sum + a)");
  };
  const Ref above = half("where(g > 0, log(abs(g)), least) - y");
  const Ref below = half("where(g < 0, log(abs(g)), least) - y");
  v.give(0, v.op("aten.sub.Tensor", {above, below}));
}

// y = sum (x - m)^2 / (n - correction), m the mean: 2 / (n - correction) g (x - m)
Ref variance_gradient(Vjp& v, Ref g, const Dims& dims, double correction, bool keepdim) {
  const Dims from = v.sizes(0);
  const ir::Sym count = joined(from, dims);
  const bool whole = std::abs(correction) < 1e9 && correction == std::trunc(correction);
  const ir::Sym degrees = count - (whole ? static_cast<int64_t>(correction) : 0);
  if (whole ? degrees <= 0 : static_cast<double>(count) <= correction) refuse("a spread of too few elements");
  const bool all = dims.empty() || from.empty();
  const Ref mean = all ? v.op("aten.mean.default", {v.in(0)})
                       : v.op("aten.mean.dim", {v.in(0), Arg::ints(dims), Arg(true)});
  v.let("spread", all ? (keepdim ? v.sum_to(g, {}) : g) : v.unsqueezed(g, dims, from.size(), keepdim));
  v.let("mean", mean);
  v.let("freedom", whole ? Arg(degrees) : Arg(static_cast<double>(count) - correction));
  return v.eval("spread * 2 / freedom * (a - mean)");
}
double correction(const Vjp& v) {
  return v.none(2) ? 1.0 : v.number(2);
}
void var(Vjp& v) {
  v.give(0, variance_gradient(v, v.g(), v.dims(1), correction(v), v.flag(3)));
}
// y = sqrt(var x): that of var with g / (2 y); 0 where nothing varies
Ref of_deviation(Vjp& v) {
  v.let("g", v.g(0));
  const Ref g = v.eval("masked_fill(g / (y * 2), y == 0, 0)");
  return variance_gradient(v, g, v.dims(1), correction(v), v.flag(3));
}
void standard_deviation(Vjp& v) {
  v.give(0, of_deviation(v));
}
Ref of_mean(Vjp& v) {
  return mean_gradient(v, v.g(1), v.dims(1), v.flag(3));
}
void var_mean(Vjp& v) {
  const auto of_variance = [&] { return variance_gradient(v, v.g(0), v.dims(1), correction(v), v.flag(3)); };
  give_of_two(v, of_variance, [&] { return of_mean(v); });
}
void std_mean(Vjp& v) {
  give_of_two(v, [&] { return of_deviation(v); }, [&] { return of_mean(v); });
}

// y_i = sum of x_j up to i: sum of g_j from i on
void cumsum(Vjp& v) {
  const Ref g = v.cast(v.g(), v.type(v.in(0)).dtype);
  const Dims from = v.sizes(0);
  const TensorType& type = v.type(g);
  if (type.numel() <= 1 || from[ops::wrap_dim(v.integer(1), from.size())] == 1) return v.give(0, g);
  v.give(0, from_the_end(v, "aten.cumsum.default", g));
}

// y_i = product of x_j up to i: sum of g_j y_j from i on, over x_i. At the first zero the product before it
// times the sum of g_j and the products behind it; nothing from there on. An y of 0 may be a small product.
void cumprod(Vjp& v) {
  const Dims from = v.sizes(0);
  const TensorType& type = v.type(v.in(0));
  if (v.type(v.out()).dtype != type.dtype || ir::is_complex(type.dtype)) refuse("a product of another type");
  const auto dim = from.empty() ? 0 : static_cast<size_t>(ops::wrap_dim(v.integer(1), from.size()));
  if (type.numel() <= 1 || from[dim] == 1) return v.give(0, v.g());
  Dims shift(2 * (from.size() - dim), 0);  // the last dim comes first
  shift[shift.size() - 2] = 1, shift[shift.size() - 1] = -1;
  const auto before = [&](Ref all) {
    return v.op("aten.constant_pad_nd.default", {all, Arg::ints(shift), Arg(1.0)});
  };
  const auto product = [&](Ref of) { return v.op("aten.cumprod.default", {of, v.arg(1)}); };
  const Ref free = product(v.cast(v.eval("a != 0"), type.dtype));
  v.let("free", free), v.let("free_before", before(free));
  v.let("product_before", before(v.out()));
  v.let("behind", product(v.eval("where(free_before == 0, a, 1)")));
  const Ref part = v.eval("where(free == 0, g * behind, 0)");
  v.let("sum", v.op("aten.sum.dim_IntList", {part, Arg::ints({v.integer(1)}), Arg(true)}));
  v.let("rest", from_the_end(v, "aten.cumsum.default", v.eval("where(free == 0, 0, g * y)")));
  v.give(0, v.eval("where(free == 0, where(free_before == 0, 0, sum * product_before), rest / a)"));
}

// y = log sum exp x: g exp(x - y)
void logsumexp(Vjp& v) {
  const size_t n = v.sizes(0).size();
  v.let("g", v.unsqueezed(v.g(), v.dims(1), n, v.flag(2)));
  v.let("y", v.unsqueezed(v.out(), v.dims(1), n, v.flag(2)));
  v.give(0, v.eval("g * exp(a - y)"));
}

// y = the largest |x|: sign(x) g divided among all that are y or NaN
Ref largest_norm(Vjp& v, const Dims& dims) {
  v.let("mask", v.eval("(abs(a) == y) | isnan(a)"));
  v.let("count", v.op("aten.sum.dim_IntList", {*v.name("mask"), Arg::ints(dims), Arg(true)}));
  return v.eval("sign(a) * (g / count * mask)");
}

// y = sqrt(sum x^2): x / y g, 0 where y is; y = sum |x|: sign(x) g
// y = (sum |x|^p)^(1/p): x |x|^(p-2) (g / y^(p-1)), 0 where y is; for p < 2 sign(x) |x|^(p-1) is its first
// part
void vector_norm(Vjp& v) {
  const size_t n = v.sizes(0).size();
  const Dims dims = v.dims(2);
  const double p = v.number(1);
  v.let("g", v.unsqueezed(v.g(), dims, n, v.flag(3)));
  v.let("y", v.unsqueezed(v.out(), dims, n, v.flag(3)));
  v.let("less", Arg(p - 1)), v.let("least", Arg(p - 2));
  if (p == 2)
    v.give(0, v.eval("where(y == 0, 0, a / y) * g"));
  else if (p == 1)
    v.give(0, v.eval("sign(a) * g"));
  else if (std::isinf(p))
    v.give(0, largest_norm(v, dims));
  else if (p > 2)
    v.give(0, v.eval("a * pow(abs(a), least) * masked_fill(g / pow(y, less), y == 0, 0)"));
  else if (p > 1)
    v.give(0, v.eval("sign(a) * pow(abs(a), less) * masked_fill(g / pow(y, less), y == 0, 0)"));
  else
    refuse("a norm of an order below 1");
}

}  // namespace

const std::vector<RuleRow> kReductionRules = {
    {"aten.sum.default", sum_all},
    {"aten.sum.dim_IntList", sum_dims},
    {"aten.mean.default", mean_all},
    {"aten.mean.dim", mean_dims},
    {"aten.amax.default", extremum_dims},
    {"aten.amin.default", extremum_dims},
    {"aten.max.default", extremum_all},
    {"aten.min.default", extremum_all},
    {"aten.max.dim", extremum_dim},
    {"aten.min.dim", extremum_dim},
    {"aten.topk.default", topk},
    {"aten.var.correction", var},
    {"aten.std.correction", standard_deviation},
    {"aten.var_mean.correction", var_mean},
    {"aten.std_mean.correction", std_mean},
    {"aten.nansum.default", nansum},
    {"aten.aminmax.default", smallest_and_largest},
    {"aten.cumsum.default", cumsum},
    {"aten.cumprod.default", cumprod},
    {"aten.logsumexp.default", logsumexp},
    {"aten.linalg_vector_norm.default", vector_norm},
    {"aten.norm.ScalarOpt_dim", vector_norm},
    {"aten.prod.default", product_all},
    {"aten.prod.dim_int", product_dim},
    {"aten.sort.default", sort},
    {"aten.sort.stable", stable_sort},
    {"aten.kthvalue.default", kth},
    {"aten.median.default", extremum_all},
    {"aten.median.dim", extremum_dim},
    {"aten.nanmedian.default", extremum_all},
    {"aten.nanmedian.dim", extremum_dim},
    {"aten.mode.default", extremum_dim},
    {"aten.cummax.default", running_extremum},
    {"aten.cummin.default", running_extremum},
    {"aten.logcumsumexp.default", logcumsumexp},
};

}  // namespace vitrine::autodiff
