// Words for entities: what stands for a thing in the chain bar, the palette, tooltips and the Inspector.
#pragma once

#include <QString>

#include "core/base/ids.h"

namespace vitrine::kit {

struct SessionData;

// The source of an expression in one line, inner arguments as "…" once it is longer than `most` characters:
// "F.gelu(…)". "" when the file's text is not loaded.
QString spanText(const SessionData& data, Id span, int most = 24);
QString labelOf(const SessionData& data, Id id);

}  // namespace vitrine::kit
