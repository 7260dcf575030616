// Where a guarded value comes from, as people read it: what stands in an object's dictionary is its
// attribute. "L['self'].__dict__['_modules']['ln1'].__dict__['eps']" is "L['self'].ln1.eps".
#pragma once

#include <string>

namespace vitrine::session {

std::string source_text(const std::string& recorded);

}  // namespace vitrine::session
