#include "core/ops/attention/arguments.h"

#include <cmath>

namespace vitrine::ops {

std::optional<double> scale_of_scores(const ir::Arg& scale, const ir::Sym& width) {
  if (scale.is<double>()) return scale.as<double>();
  if (!scale.is_none() || width.symbolic()) return std::nullopt;
  return 1 / std::sqrt(static_cast<double>(width.hint()));
}

bool heads_fit(const ir::Sym& groups, const ir::Sym& heads) {
  return groups.same(heads) || (!groups.symbolic() && ir::divides(groups.hint(), heads));
}

}  // namespace vitrine::ops
