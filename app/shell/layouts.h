// The layouts as data: what the centre shows and which docks stand where.
#pragma once

#include <QStringList>
#include <span>

#include "app/shell/centre.h"

namespace vitrine::app {

struct LayoutInfo {
  const char* name;
  const char* about;
  std::vector<ColumnSpec> columns;
  FilmUnit unit;           // what one step is here
  QStringList docks;       // shown, by view id; the first of each area is raised
  const char* stage = "";  // what it is about: a compilation without it gives way to one that has it
};

std::span<const LayoutInfo> layouts();
const LayoutInfo* layoutNamed(const QString& name);

}  // namespace vitrine::app
