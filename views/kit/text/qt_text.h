// Texts of a session as Qt's.
#pragma once

#include <QString>
#include <string_view>

namespace vitrine {

inline QString s(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace vitrine
