// What dicts and their views share.
#pragma once

#include "core/capture/interpreter/types/methods.h"

namespace vitrine::capture {

// dict_views.cpp: dict.keys(), dict.values(), dict.items(), by the class of the view.
Value* new_dict_view(Tracer& t, Value* dict, PyTypeObject* cls);

}  // namespace vitrine::capture
