// In which order a GPU's blocks take the rows of a nest. What several rows read (a bias by distance of all
// sequences of a batch) is read from the cache where these rows are taken one after the other, and from
// memory again where as much as the cache holds was read in between.
#pragma once

#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen::cuda {

// The schedule with the row dimension innermost in which the most bytes stand still, where that is worth it.
Schedule with_shared_rows_together(Schedule schedule);

}  // namespace vitrine::codegen::cuda
