// Words for entities: what stands for a thing in the chain bar, the palette, tooltips and the Inspector.
#pragma once

#include <QString>

#include "core/base/ids.h"
#include "core/session/rows.h"

namespace vitrine::kit {

struct SessionData;

// The number of the call that made the recompilation, from 1, among those of its segment: as the strip of
// calls counts. The run's own number when the calls are not known.
int64_t callOf(const SessionData& data, const session::RecompilationRow& row);

// An expression in one line, inner arguments as "…" once it is longer than `most` characters: "F.gelu(…)".
QString shortenedText(QString text, int most);
// So the source of a span; "" when the file's text is not loaded.
QString spanText(const SessionData& data, Id span, int most = 24);
QString labelOf(const SessionData& data, Id id);

}  // namespace vitrine::kit
