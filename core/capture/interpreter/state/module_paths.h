// Where tensors hang in the modules that a frame knows: what a person calls a parameter, whichever way led to
// it. Only names come of it, so nothing here is guarded.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/capture/cpython/frame.h"

struct _object;

namespace vitrine::capture {

class ModulePaths {
 public:
  // "L['model'].layers.3.fc.weight" of a parameter; "": no module that the frame knows has it. The first call
  // walks the modules, in the order of named_parameters().
  const std::string& of(_object* parameter, const Frame& frame);

 private:
  void walk_frame(const Frame& frame);
  void walk_object(_object* object, const std::string& path);  // a module, or one that holds modules
  void walk_module(_object* module, const std::string& path);

  bool walked_ = false;
  std::unordered_map<_object*, std::string> paths_;
  std::unordered_set<_object*> seen_;
};

}  // namespace vitrine::capture
