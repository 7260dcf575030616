// Widths of a table's columns where there is not enough room for those they would like.
#pragma once

#include <vector>

namespace vitrine::kit {

struct ColumnNeed {
  int wish = 0;       // what it has where there is room
  int need = 0;       // for its longest text, its bar and its title
  bool text = false;  // may be cut; a number may not
  int least = 0;      // of a name: cut shorter it says nothing
  int keeps = 0;  // of a name: what it has before other texts have more than `least`, or where one scrolls
};

// One width a column. Numbers have what they need, then names what they keep; texts share what is left so
// that short ones stay whole and the long ones are cut at one width, at `least` in the extreme. What nobody
// needs goes towards the wishes.
std::vector<int> sharedWidths(const std::vector<ColumnNeed>& columns, int available, int least);

}  // namespace vitrine::kit
