// Programs that show a failure of Vitrine's own, as the session's messages name them.
#pragma once

#include <QStringList>

#include "views/kit/session/session_data.h"

namespace vitrine::app {

// Paths, the newest first; only files that are still there. session may be null.
QStringList reproducers(const kit::SessionData* session);
// The one that belongs to a thing (a message, a compilation), else the newest; "" when there is none.
QString reproducerOf(const kit::SessionData* session, Id id);

}  // namespace vitrine::app
