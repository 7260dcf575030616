// Facts one after the other, "4 kernels, 9 launches": what does not fit is left out as a whole, as half a
// number would be another one.
#pragma once

#include <QFont>
#include <QString>

namespace vitrine::kit {

// The most facts from the beginning of `text` that fit in `width`; the text itself when the first alone does
// not.
QString wholeFacts(const QString& text, const QFont& font, int width);

}  // namespace vitrine::kit
