#include "core/base/ids.h"

namespace vitrine {

std::string_view kind_table(Kind kind) {
  switch (kind) {
#define X(name, table, word) \
  case Kind::name:           \
    return table;
    VITRINE_ENTITY_KINDS(X)
#undef X
    case Kind::None:
      break;
  }
  return "";
}

std::string_view kind_word(Kind kind) {
  switch (kind) {
#define X(name, table, word) \
  case Kind::name:           \
    return word;
    VITRINE_ENTITY_KINDS(X)
#undef X
    case Kind::None:
      break;
  }
  return "";
}

}  // namespace vitrine
