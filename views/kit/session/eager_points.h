// Where eager's operators stand under the roofs: beside the kernel that does their work in the compiled call.
#pragma once

#include <unordered_map>
#include <vector>

#include "views/kit/session/session_data.h"

namespace vitrine::kit {

struct EagerPoint {
  Id node = 0;    // of the ATen graph
  Id kernel = 0;  // what does its work, 0: nothing had to
  double ns = 0, bytes = 0, flops = 0;
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
  double rate() const { return ns > 0 ? flops / ns * 1e9 : 0; }
};

// What each operator took in the profiled eager call of a run, in ns: on the device where that ran it, else
// on the thread. Reads columns of lanes, so from a job.
std::unordered_map<Id, double> eager_times(const SessionData& data, Id run);

// Of a compilation: operators with operations, bytes and a time in the profiled eager call of its run. An
// operator reads each operand and writes its result. Reads columns of lanes, so from a job.
std::vector<EagerPoint> eager_points(const SessionData& data, Id compilation);

}  // namespace vitrine::kit
