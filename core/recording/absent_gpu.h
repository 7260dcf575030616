// Recording for a GPU that is not there (`--target`): what PyTorch would choose on it, and how it is kept
// from asking for it.
#pragma once

#include <string>

#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

// PyTorch asks for a guard of the current device, and for CUDA to be set up, even where no GPU is touched.
// Where there is none, meta's guard, which does nothing, stands in (for the one that a PyTorch built with
// CUDA has, too: it asks the driver, which is not there), and the set-up is said to be done. Once a process.
void pretend_cuda_is_ready();

// The function `callable`, called `name`, as it runs where a GPU of this architecture ("sm_90") is: itself,
// or what core/python/vitrine/_absent_gpu.py makes in its place. for_any_size: as of Lowering. May throw
// Stop: only the GPU's machine knows.
PyRef chosen_for(const std::string& architecture, bool for_any_size, const std::string& name,
                 PyObject* callable);

}  // namespace vitrine::torch_api
