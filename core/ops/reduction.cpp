// Sums, means, extrema over dimensions; cumulative sums; sorting.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// Sizes after reducing the dimensions of the mask.
Dims reduced_sizes(const TensorType& t, const std::vector<bool>& mask, bool keepdim) {
  Dims out;
  for (size_t i = 0; i < t.sizes.size(); ++i) {
    if (!mask[i])
      out.push_back(t.sizes[i]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}
TensorType reduced(const TensorType& t, const Dims& dims, bool keepdim, DType dtype) {
  return TensorType::contiguous(dtype, reduced_sizes(t, dim_mask(dims, t.sizes.size()), keepdim));
}
// A missing list of dimensions means all.
Dims dims_or_all(const Call& c, size_t i) {
  return c.none(i) ? Dims{} : c.ints(i);
}
// An extremum over nothing is an error.
void need_elements(const TensorType& t, const Dims& dims) {
  auto mask = dim_mask(dims, t.sizes.size());
  for (size_t i = 0; i < mask.size(); ++i) need(!mask[i] || t.sizes[i] > 0, "an extremum over no elements");
}
void real(DType t) {
  need(t != DType::other && !ir::is_complex(t), "complex or foreign element types");
}

// Integers and bools add up in i64.
DType sum_dtype(const Call& c, size_t dtype) {
  DType self = c.tensor(0).dtype;
  real(self);
  return c.dtype(dtype).value_or(ir::is_float(self) ? self : DType::i64);
}
DType mean_dtype(const Call& c, size_t dtype) {
  DType out = c.dtype(dtype).value_or(c.tensor(0).dtype);
  need(ir::is_float(out), "the mean of integers needs a dtype");
  return out;
}

Types sum_all(const Call& c) {
  return {TensorType::contiguous(sum_dtype(c, 1), {})};
}
Types sum_dims(const Call& c) {
  return {reduced(c.tensor(0), dims_or_all(c, 1), c.flag(2), sum_dtype(c, 3))};
}
Types mean_all(const Call& c) {
  return {TensorType::contiguous(mean_dtype(c, 1), {})};
}
Types mean_dims(const Call& c) {
  return {reduced(c.tensor(0), dims_or_all(c, 1), c.flag(2), mean_dtype(c, 3))};
}
Types prod_dim(const Call& c) {
  return {reduced(c.tensor(0), {c.integer(1)}, c.flag(2), sum_dtype(c, 3))};
}

Types extremum_all(const Call& c) {
  real(c.tensor(0).dtype);
  need(c.tensor(0).numel() > 0, "an extremum over no elements");
  return {TensorType::contiguous(c.tensor(0).dtype, {})};
}
Types extremum_dims(const Call& c) {
  real(c.tensor(0).dtype);
  need_elements(c.tensor(0), c.ints(1));
  return {reduced(c.tensor(0), c.ints(1), c.flag(2), c.tensor(0).dtype)};
}
// Values and where they were found.
Types extremum_dim(const Call& c) {
  const TensorType& t = c.tensor(0);
  real(t.dtype);
  need_elements(t, {c.integer(1)});
  Dims dims{c.integer(1)};
  return {reduced(t, dims, c.flag(2), t.dtype), reduced(t, dims, c.flag(2), DType::i64)};
}
Types arg_extremum(const Call& c) {
  const TensorType& t = c.tensor(0);
  real(t.dtype);
  need(t.dtype != DType::b1, "not defined for bool");
  if (!c.none(1)) {
    need_elements(t, {c.integer(1)});
    return {reduced(t, {c.integer(1)}, c.flag(2), DType::i64)};
  }
  need(t.numel() > 0, "an extremum over no elements");
  return {reduced(t, {}, c.flag(2), DType::i64)};
}

DType truth_dtype(const Call& c) {
  real(c.tensor(0).dtype);
  return c.tensor(0).dtype == DType::u8 ? DType::u8 : DType::b1;
}
Types truth_all(const Call& c) {
  return {TensorType::contiguous(truth_dtype(c), {})};
}
// Over no dimensions nothing is joined.
Types truth_dims(const Call& c) {
  need(c.none(1) || !c.ints(1).empty(), "no dimensions");
  return {reduced(c.tensor(0), dims_or_all(c, 1), c.flag(2), truth_dtype(c))};
}
Types truth_dim(const Call& c) {
  return {reduced(c.tensor(0), {c.integer(1)}, c.flag(2), truth_dtype(c))};
}

Types variance(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(ir::is_float(t.dtype), "not defined for integers");
  return {reduced(t, dims_or_all(c, 1), c.flag(3), t.dtype)};
}
Types variance_and_mean(const Call& c) {
  Types out = variance(c);
  return {out[0], out[0]};
}

Types smallest_and_largest(const Call& c) {
  const TensorType& t = c.tensor(0);
  real(t.dtype);
  const Dims dims = dims_or_all(c, 1);
  need_elements(t, dims);
  const TensorType out = reduced(t, dims, c.flag(2), t.dtype);
  return {out, out};
}
Types count_all(const Call& c) {
  real(c.tensor(0).dtype);
  need(c.none(1), "a dimension");
  return {TensorType::contiguous(DType::i64, {})};
}
Types count_dims(const Call& c) {
  real(c.tensor(0).dtype);
  return {reduced(c.tensor(0), c.ints(1), false, DType::i64)};
}

Types cumulative(const Call& c) {
  const TensorType& t = c.tensor(0);
  wrap_dim(c.integer(1), t.sizes.size());
  return {TensorType::contiguous(sum_dtype(c, 2), t.sizes)};
}
Types logsumexp(const Call& c) {
  const TensorType& t = c.tensor(0);
  real(t.dtype);
  return {reduced(t, c.ints(1), c.flag(2), floating_or(t.dtype, c.default_dtype))};
}
Types vector_norm(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(ir::is_float(t.dtype), "not defined for integers");
  DType out = c.dtype(4).value_or(t.dtype);
  need(out == t.dtype, "a dtype is asked for");
  double order = c.number(1);
  Dims dims = dims_or_all(c, 2);
  if (order < 0 || order > 1e300) need_elements(t, dims);
  return {reduced(t, dims, c.flag(3), out)};
}
// One norm a tensor of the list.
Types norms(const Call& c) {
  need(c.none(2), "a dtype is asked for");
  const double order = c.number(1);
  Types out;
  for (const TensorType* t : c.tensors(0)) {
    need(ir::is_float(t->dtype), "not defined for integers");
    if (order < 0 || order > 1e300) need_elements(*t, {});
    out.push_back(TensorType::contiguous(t->dtype, {}));
  }
  return out;
}

Types topk(const Call& c) {
  TensorType t = c.tensor(0);
  real(t.dtype);
  need(!t.sizes.empty() && t.dtype != DType::b1, "0-d or bool");
  size_t d = wrap_dim(c.integer(2), t.sizes.size());
  need(c.integer(1) >= 0 && c.integer(1) <= t.sizes[d], "k out of range");
  t.sizes[d] = c.integer(1);
  return {TensorType::contiguous(t.dtype, t.sizes), TensorType::contiguous(DType::i64, t.sizes)};
}

// The order along a dimension, and where each came from.
Types sorted(const Call& c, size_t dim) {
  const TensorType& t = c.tensor(0);
  real(t.dtype);
  need(t.is_contiguous() && t.offset == 0, "layout");
  wrap_dim(c.integer(dim), t.sizes.size());
  return {TensorType::contiguous(t.dtype, t.sizes), TensorType::contiguous(DType::i64, t.sizes)};
}
Types sort(const Call& c) {
  return sorted(c, 1);
}
Types stable_sort(const Call& c) {
  return sorted(c, 2);
}
Types running_extremum(const Call& c) {
  return sorted(c, 1);
}
// One element along a dimension, and where it is.
Types found(const Call& c, size_t dim) {
  const TensorType& t = c.tensor(0);
  real(t.dtype);
  need(t.dtype != DType::b1 && t.is_contiguous() && t.numel() > 0 && !t.sizes.empty(), "layout");
  const Dims dims{c.integer(dim)};
  const bool keepdim = c.flag(dim + 1);
  return {reduced(t, dims, keepdim, t.dtype), reduced(t, dims, keepdim, DType::i64)};
}
Types median(const Call& c) {
  need(c.tensor(0).dtype != DType::b1, "not defined for bool");
  return extremum_all(c);
}
Types median_dim(const Call& c) {
  return found(c, 1);
}
Types kth(const Call& c) {
  return found(c, 2);
}
Types logcumsumexp(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.dtype == DType::f32 || t.dtype == DType::f64, "type");
  wrap_dim(c.integer(1), t.sizes.size());
  return {TensorType::contiguous(t.dtype, t.sizes)};
}
// linalg_vector_norm by an older name.
Types norm_dims(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(ir::is_float(t.dtype) && !c.none(1), "not defined for integers");
  if (c.number(1) < 0 || c.number(1) > 1e300) need_elements(t, dims_or_all(c, 2));
  return {reduced(t, dims_or_all(c, 2), c.flag(3), t.dtype)};
}

}  // namespace

constexpr Family kFamily = Family::reduction;
constexpr Lower kLoop = Lower::reduction;
constexpr std::string_view kNoGradient = "nondifferentiable(\"the result is bool or integer\")";

const std::vector<OpRow> kReduction = {
    {"aten.sum.default", "self, *, dtype=None", kFamily, kLoop, covered<sum_all>, "sum", kRule,
     "sum of all elements"},
    {"aten.sum.dim_IntList", "self, dim, keepdim=False, *, dtype=None", kFamily, kLoop, covered<sum_dims>,
     "sum", kRule, "sum over dimensions"},
    {"aten.mean.default", "self, *, dtype=None", kFamily, Lower::decompose, covered<mean_all>, "", kRule,
     "mean of all elements"},
    {"aten.mean.dim", "self, dim, keepdim=False, *, dtype=None", kFamily, Lower::decompose,
     covered<mean_dims>, "", kRule, "mean over dimensions"},
    {"aten.prod.default", "self, *, dtype=None", kFamily, kLoop, covered<sum_all>, "prod", kRule,
     "product of all elements"},
    {"aten.prod.dim_int", "self, dim, keepdim=False, *, dtype=None", kFamily, kLoop, covered<prod_dim>,
     "prod", kRule, "product over a dimension"},
    {"aten.amax.default", "self, dim=[], keepdim=False", kFamily, kLoop, covered<extremum_dims>, "amax",
     kRule, "largest over dimensions"},
    {"aten.amin.default", "self, dim=[], keepdim=False", kFamily, kLoop, covered<extremum_dims>, "amin",
     kRule, "smallest over dimensions"},
    {"aten.max.default", "self", kFamily, kLoop, covered<extremum_all>, "amax", kRule,
     "largest of all elements"},
    {"aten.min.default", "self", kFamily, kLoop, covered<extremum_all>, "amin", kRule,
     "smallest of all elements"},
    {"aten.max.dim", "self, dim, keepdim=False", kFamily, Lower::decompose, covered<extremum_dim>, "", kRule,
     "largest over a dimension, and where"},
    {"aten.min.dim", "self, dim, keepdim=False", kFamily, Lower::decompose, covered<extremum_dim>, "", kRule,
     "smallest over a dimension, and where"},
    {"aten.argmax.default", "self, dim=None, keepdim=False", kFamily, Lower::decompose, covered<arg_extremum>,
     "", kNoGradient, "where the largest is"},
    {"aten.argmin.default", "self, dim=None, keepdim=False", kFamily, Lower::decompose, covered<arg_extremum>,
     "", kNoGradient, "where the smallest is"},
    {"aten.any.default", "self", kFamily, kLoop, covered<truth_all>, "any", kNoGradient,
     "whether any is true"},
    {"aten.any.dim", "self, dim, keepdim=False", kFamily, kLoop, covered<truth_dim>, "any", kNoGradient,
     "whether any is true over a dimension"},
    {"aten.all.default", "self", kFamily, kLoop, covered<truth_all>, "all", kNoGradient,
     "whether all are true"},
    {"aten.all.dim", "self, dim, keepdim=False", kFamily, kLoop, covered<truth_dim>, "all", kNoGradient,
     "whether all are true over a dimension"},
    {"aten.any.dims", "self, dim=None, keepdim=False", kFamily, kLoop, covered<truth_dims>, "any",
     kNoGradient, "whether any is true over dimensions"},
    {"aten.all.dims", "self, dim=None, keepdim=False", kFamily, kLoop, covered<truth_dims>, "all",
     kNoGradient, "whether all are true over dimensions"},
    {"aten.count_nonzero.default", "self, dim=None", kFamily, Lower::decompose, covered<count_all>, "",
     kNoGradient, "how many are not 0"},
    {"aten.count_nonzero.dim_IntList", "self, dim", kFamily, Lower::decompose, covered<count_dims>, "",
     kNoGradient, "how many are not 0 over dimensions"},
    {"aten.nansum.default", "self, dim=None, keepdim=False, *, dtype=None", kFamily, Lower::decompose,
     covered<sum_dims>, "", kRule, "sum of the numbers over dimensions"},
    {"aten.aminmax.default", "self, *, dim=None, keepdim=False", kFamily, Lower::decompose,
     covered<smallest_and_largest>, "", kRule, "smallest and largest over a dimension"},
    {"aten.var.correction", "self, dim=None, *, correction=None, keepdim=False", kFamily, Lower::decompose,
     covered<variance>, "", kRule, "variance over dimensions", "", "", kNeedsFreedom},
    {"aten.std.correction", "self, dim=None, *, correction=None, keepdim=False", kFamily, Lower::decompose,
     covered<variance>, "", kRule, "standard deviation over dimensions", "", "", kNeedsFreedom},
    {"aten.var_mean.correction", "self, dim=None, *, correction=None, keepdim=False", kFamily,
     Lower::decompose, covered<variance_and_mean>, "", kRule, "variance and mean over dimensions", "", "",
     kNeedsFreedom},
    {"aten.std_mean.correction", "self, dim=None, *, correction=None, keepdim=False", kFamily,
     Lower::decompose, covered<variance_and_mean>, "", kRule, "standard deviation and mean over dimensions",
     "", "", kNeedsFreedom},
    {"aten.cumsum.default", "self, dim, *, dtype=None", kFamily, Lower::scan, covered<cumulative>, "", kRule,
     "running sum along a dimension"},
    {"aten.cumprod.default", "self, dim, *, dtype=None", kFamily, Lower::scan, covered<cumulative>, "", kRule,
     "running product along a dimension"},
    {"aten.logsumexp.default", "self, dim, keepdim=False", kFamily, Lower::decompose, covered<logsumexp>, "",
     kRule, "log of the sum of exponentials"},
    {"aten.linalg_vector_norm.default", "self, ord=2, dim=None, keepdim=False, *, dtype=None", kFamily,
     Lower::decompose, covered<vector_norm>, "", kRule, "norm over dimensions"},
    {"aten._foreach_norm.Scalar", "self, ord=2, dtype=None", kFamily, Lower::opaque, covered<norms>, "",
     "borrowed(\"tensors that are differentiated have a norm each\")", "norms of several tensors"},
    {"aten.topk.default", "self, k, dim=-1, largest=True, sorted=True", kFamily, Lower::opaque, covered<topk>,
     "", kRule, "the k largest along a dimension, and where"},
    {"aten.sort.default", "self, dim=-1, descending=False", kFamily, Lower::opaque, covered<sort>, "", kRule,
     "sorted along a dimension, and from where"},
    {"aten.sort.stable", "self, *, stable, dim=-1, descending=False", kFamily, Lower::opaque,
     covered<stable_sort>, "", kRule, "sorted along a dimension, equal ones in their order, and from where"},
    {"aten.kthvalue.default", "self, k, dim=-1, keepdim=False", kFamily, Lower::opaque, covered<kth>, "",
     kRule, "the k-th smallest along a dimension, and where"},
    {"aten.median.default", "self", kFamily, Lower::opaque, covered<median>, "", kRule,
     "median of all elements"},
    {"aten.median.dim", "self, dim, keepdim=False", kFamily, Lower::opaque, covered<median_dim>, "", kRule,
     "median over a dimension, and where"},
    {"aten.nanmedian.default", "self", kFamily, Lower::opaque, covered<median>, "", kRule,
     "median of all elements that are numbers"},
    {"aten.nanmedian.dim", "self, dim, keepdim=False", kFamily, Lower::opaque, covered<median_dim>, "", kRule,
     "median of the numbers over a dimension, and where"},
    {"aten.mode.default", "self, dim=-1, keepdim=False", kFamily, Lower::opaque, covered<median_dim>, "",
     kRule, "most frequent along a dimension, and where"},
    {"aten.cummax.default", "self, dim", kFamily, Lower::opaque, covered<running_extremum>, "", kRule,
     "largest so far along a dimension, and where"},
    {"aten.cummin.default", "self, dim", kFamily, Lower::opaque, covered<running_extremum>, "", kRule,
     "smallest so far along a dimension, and where"},
    {"aten.logcumsumexp.default", "self, dim", kFamily, Lower::opaque, covered<logcumsumexp>, "", kRule,
     "log of the running sum of exponentials"},
    {"aten.norm.ScalarOpt_dim", "self, p, dim, keepdim=False", kFamily, Lower::decompose, covered<norm_dims>,
     "", kRule, "norm over dimensions"},
};

}  // namespace vitrine::ops
