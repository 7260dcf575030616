// What other tools recorded, as a session of its own that says what it lacks: traces of PyTorch's profiler,
// structured logs of torch.compile (TORCH_TRACE), its debug folders (TORCH_COMPILE_DEBUG), exports of Nsight
// Systems; and packages of vitrine.export. They are a stranger's: sizes are bounded, nothing in them is run,
// no file is read that they name.
#pragma once

#include <string>

#include "core/base/result.h"

namespace vitrine::importing {

// Whether the path may be something that can be imported, by its name and first bytes.
bool can_import(const std::string& path);

// Reads it and writes a session there. Errors: it is none of these, too large, empty; the session cannot be
// written.
Status import_into(const std::string& path, const std::string& session);

}  // namespace vitrine::importing
