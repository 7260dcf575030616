// Entries of dicts.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* new_dict(Tracer& t, PyTypeObject* cls = nullptr);
Value* dict_get(Tracer& t, Value* dict, Value* key);  // nullptr = absent

inline Value* dict_get(Tracer& t, Value* dict, const char* key) {
  return dict_get(t, dict, t.text(key));
}
void dict_set(Tracer& t, Value* dict, Value* key, Value* value);
void dict_put(Tracer& t, Value* dict, PyObject* key_object, Value* key, Value* value);  // no object is told
bool dict_remove(Tracer& t, Value* dict, Value* key);
void dict_clear(Tracer& t, Value* dict);
void dict_complete(Tracer& t, Value* dict);  // loads and guards all entries
std::vector<std::pair<Value*, Value*>> dict_entries(Tracer& t, Value* dict);
void dict_update(Tracer& t, Value* dict, Value* other);
void touch(Tracer& t, Value* v);  // it is about to change
void enter_own(Tracer& t, Value* v, const std::string& name, Value* value);

}  // namespace vitrine::capture
