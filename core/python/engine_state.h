// The one engine of this process, and what its Python files ask of it.
#pragma once

#include <memory>

#include "core/capture/segment/engine.h"

struct _object;

namespace vitrine::python {

// Made at the first use; lives as long as the process, because code objects refer to what it compiled.
capture::Engine& engine();

// The settings in the dict that vitrine/_api.py makes. nullptr: a Python error is set.
capture::CallSettingsPtr settings_from(_object* dict);

}  // namespace vitrine::python
