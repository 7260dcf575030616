// What a column of a session can hold. A file may claim anything; what is read of it is checked here, once,
// so that no view meets an id of the wrong kind, a line before the first or a number whose sum overflows.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace vitrine::session {

struct Border {
  enum class Of {
    Number,     // low to high
    Own,        // the row's id: of that kind, never 0; a row without it is left out
    OwnNumber,  // the row's number, from 1
    Reference,  // 0, or an id of that kind
    Entity,     // 0, or an id of any kind
    Real,       // finite, and small enough for an int64_t
    AnyReal,
  };
  Of of = Of::Number;
  Kind kind = Kind::None;
  int64_t low = 0, high = 0;
};

// Of a column of integers (rows of `blob` among them).
Border integer_border(std::string_view table, std::string_view column);
// Of a column of doubles.
Border real_border(std::string_view table);

bool within(const Border& border, int64_t value);
bool within(const Border& border, double value);

// 2^53: sums of a thousand such numbers fit, and a double holds them.
inline constexpr int64_t kMost = int64_t{1} << 53;
// Lines of a text, columns of a line. A thousand times that fits into an int.
inline constexpr int64_t kMostLines = int64_t{1} << 20;
// Calls inlined in each other.
inline constexpr int64_t kDeepest = int64_t{1} << 12;

}  // namespace vitrine::session
