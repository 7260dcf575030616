// One line on the run for the right end of the film.
#pragma once

#include <QString>

#include "views/kit/painting/theme.h"
#include "views/kit/session/session_data.h"

namespace vitrine::app {

struct RunStatus {
  kit::Tone tone = kit::Tone::None;
  QString text;     // "finished", "3 breaks, 2 recompilations"
  QString where;    // "cpu · default": device and mode
  QString numbers;  // "compile 118 ms, 11 guards 0.35 µs, outputs equal eager"
};
RunStatus runStatus(const kit::SessionData& session, Id compilation);

}  // namespace vitrine::app
