// Why a stage of a compilation is not in the session: what the engine recorded of it, as one sentence.
#pragma once

#include <QString>
#include <string_view>

#include "views/kit/session_data.h"

namespace vitrine::kit {

// "" when nothing is known of it, or it is there.
QString whyMissing(const SessionData& data, Id compilation, std::string_view stage);

}  // namespace vitrine::kit
