// Where a run is recorded. At its target while nothing stands there; else in a file beside it, which takes
// the target's place at the end if it is worth at least as much. So a run that fails, is cancelled or killed
// never costs an earlier session, and at most one process records for a target.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/session/writer.h"

namespace vitrine::session {

// Begins a recording for `target`. Its path() is where it is meanwhile. Errors: another process records for
// this target; a folder, a device or another file stands there; it cannot be written.
Result<std::unique_ptr<Writer>> begin_recording(const std::string& target);

// What became of the recording that stood beside a target.
struct Settled {
  enum class What {
    nothing,    // there was none
    recording,  // its process is at work
    replaced,   // it stands at the target now
    kept,       // the target is as it was; it stands in a file named by how it ended: m.failed.vitrine
    dropped,    // the target is as it was; nothing had been compiled
  };
  What what = What::nothing;
  std::string path;    // where the recording is now; "" where it is gone
  std::string status;  // as in RunRow
};

// Moves a recording beside the target, if its process has closed it or has ended, to where it belongs.
// Also closes a recording at the target whose process has ended. Errors: a file cannot be read or moved; then
// `where` names it, and all is as it was.
Result<Settled> settle_recording(const std::string& target);

// The recording that stands beside a target now, by a process at work or one that was killed; "": none.
std::string unsettled_recording(const std::string& target);

}  // namespace vitrine::session
