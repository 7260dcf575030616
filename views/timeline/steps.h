// The iterations of a script, found in its calls: which is which, which of them compiled, and what was done
// in each beside what is compiled.
#pragma once

#include "views/timeline/timeline_data.h"

namespace vitrine::views {

// Finds the steps of a script's timeline, and puts two lanes above its calls: the steps by their numbers, and
// what was compiled when.
void add_steps(const kit::SessionData& data, Timeline& timeline);

// The step that shows what all the later ones are like: the one that eager's stands above; where there is
// none, one that compiles nothing, and took most nearly the median, or else the last. -1: all of them
// compile.
int steady_step(const Timeline& timeline);

// "20 steps, 2 of them compile; most take 912 ms"; "" where there are none.
QString steps_text(const Timeline& timeline);

// "a step: eager 135 ms, compiled 78.5 ms, 1.71×"; "" where the script did not run eagerly too.
QString both_text(const Timeline& timeline);

// When the eager step begins and ends; both -1 where there is none.
ScriptStep eager_step(const Timeline& timeline);

// "912 ms: 356 ms compiled code, 310 ms optimizer step, 12.1 ms data loading, 234 ms else".
QString step_text(const kit::SessionData& data, const Timeline& timeline, int step);

}  // namespace vitrine::views
