// The film's frames for each unit of stepping, as values.
#pragma once

#include <QString>
#include <vector>

#include "views/kit/selection/selection.h"

namespace vitrine::app {

enum class FilmUnit { Pass, Decision, Instruction, Compilation, Launch, Rewrite };
constexpr int kFilmUnits = 6;
QString unitTitle(FilmUnit unit);  // "By pass"

struct FilmFrame {
  Id entity = 0;        // graph, decision, step, compilation or launch
  Id activates = 0;     // what becomes active on arriving; 0 = nothing
  QString name;         // "split_addmm_bias"
  QString sentence;     // one line on what happened
  bool changed = true;  // hollow dot when false
  std::string stage;    // the stage a pane should show; "" = as it is
  Id graph = 0;         // of a rewrite: the snapshot that its pass led to
};

std::vector<FilmFrame> filmFrames(const kit::SessionData& session, Id compilation, FilmUnit unit);
// Where the film stands in the frames; the last one when nothing was stepped to. -1 for no frames.
int filmIndex(const std::vector<FilmFrame>& frames, const kit::Film& film, FilmUnit unit);
kit::Film filmAt(const kit::Film& film, const FilmFrame& frame, FilmUnit unit);

}  // namespace vitrine::app
