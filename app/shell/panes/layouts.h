// The layouts as data: what the centre shows and which docks stand where.
#pragma once

#include <QStringList>
#include <optional>
#include <span>

#include "app/shell/panes/centre.h"

namespace vitrine::app {

struct LayoutInfo {
  QString name;
  QString about;
  std::vector<ColumnSpec> columns;
  FilmUnit unit;           // what one step is here
  QStringList docks;       // shown, by view id; the first of each area is raised
  std::string stage = {};  // what it is about: a compilation without it gives way to one that has it
  std::vector<ColumnSpec> whole_step = {};  // instead, of a training step that is one graph; empty: the same
};

std::span<const LayoutInfo> layouts();                       // those that ship
QStringList layoutNames();                                   // and then the user's own, as they were made
std::optional<LayoutInfo> layoutNamed(const QString& name);  // of either

// The user's own, kept in the settings; a name that is kept again is replaced.
bool isOwnLayout(const QString& name);
void keepOwnLayout(const LayoutInfo& layout);
void dropOwnLayout(const QString& name);

}  // namespace vitrine::app
