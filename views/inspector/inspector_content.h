// What the Inspector says of a thing, as values: sections of rows. No widgets, so it can be tested as text.
#pragma once

#include <QString>
#include <vector>

#include "views/kit/painting/theme.h"
#include "views/kit/selection/selection.h"

namespace vitrine::views {

struct InspectorRow {
  QString key, value, note;  // note: quieter, after the value; right-aligned in a link row
  QString icon;              // makes a link or prose row: icon, then the value
  kit::Tone tone = kit::Tone::None;
  Id id = 0;                                       // a link to that thing
  bool prose = false;                              // wraps over the whole width
  kit::NodeFamily family = kit::NodeFamily::None;  // its glyph in place of the icon
  QString below;                                   // a second line of a link row
};

struct InspectorSection {
  QString title;
  std::vector<InspectorRow> rows;
};

struct InspectorContent {
  kit::NodeFamily family = kit::NodeFamily::None;
  QString icon, title, subtitle, kind;
  std::vector<InspectorSection> sections;
};

// Of the active thing; while nothing is active, of the run as a whole.
InspectorContent inspect(const kit::SessionData& session, const kit::Selection& selection);

}  // namespace vitrine::views
