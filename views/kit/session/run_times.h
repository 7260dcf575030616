// What stands beside times in the views (core/session/doubts.h), and how a speed-up is told.
#pragma once

#include <QString>

#include "core/session/doubts.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

// Of a run, 0: of the session's first.
session::RunTimes runTimes(const SessionData& data, Id run);

// Of what shows the launches of a compilation: "one of 25 profiled calls, 1.03× of the median of 20; busy
// machine".
// "" when no call was profiled.
QString shownCallText(const SessionData& data, Id run);
// What the times of a compilation's launches are: the former's first part, of a script "medians of 19 kept
// calls"; "" where it was not recorded.
QString launchTimesText(const SessionData& data, Id compilation);
// "busy machine, calls scatter"; "" when there is nothing to say.
QString shortDoubt(const SessionData& data, Id run, session::TimesOf what);
// The same in full sentences.
QString fullDoubt(const SessionData& data, Id run, session::TimesOf what);

// "1.38 to 1.50 ms": the middle half of some calls; "" of fewer than two.
QString middleHalf(double lower_ns, double upper_ns, int64_t calls);
QString middleHalf(const session::MeasurementRow& calls);

// "64 of 20000 calls kept", of a run's compilations; "" when all are.
QString keptCalls(const SessionData& data, Id run);

// "0/0", or "Model.forward 0/0" in a run that has several frames: no other compilation of the run is called
// so.
QString compilationName(const SessionData& data, Id compilation);

// "0/0 of 3": which of the run's compilations it is; "0/0" of the only one.
QString whichOf(const SessionData& data, Id compilation);

}  // namespace vitrine::kit
