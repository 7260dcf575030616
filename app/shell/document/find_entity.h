// From what a person types to an entity: "K2", "gelu", "32:12", "node 12", "l6 → l7".
#pragma once

#include <QString>
#include <string>
#include <vector>

#include "views/kit/session/session_data.h"

namespace vitrine::app {

struct FoundEntity {
  Id id = 0;
  QString label, context;  // "gelu", "optimised graph"
  QString icon;
  int score = 0;  // higher is better
};

// The best match, 0 if none; nodes of `stage` come before those of other stages.
Id findEntity(const kit::SessionData& session, const QString& text, const std::string& stage = {});
// Everything that matches, best first, at most `most`. Fuzzy: the letters in order.
std::vector<FoundEntity> findEntities(const kit::SessionData& session, const QString& text,
                                      const std::string& stage, size_t most);
// How well `text` matches `label`: 0 = not at all.
int matchScore(const QString& text, const QString& label);

}  // namespace vitrine::app
