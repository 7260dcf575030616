// Structural mutations of a session: what a stranger's file may hold in each of its columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/sessions/database.h"
#include "tests/fuzz/sessions/random.h"

namespace vitrine::fuzz {

// A mutation of rows and schema, by SQL. One that SQLite refuses changes nothing.
struct SqlMutation {
  std::string_view name;
  unsigned weight;
  void (*apply)(Database& db, Random& random);
};

// A mutation of the file itself.
struct ByteMutation {
  std::string_view name;
  unsigned weight;
  void (*apply)(std::string& bytes, Random& random);
};

// Two tables: mutations.cpp, byte_mutations.cpp.
const std::vector<SqlMutation>& sql_mutations();
const std::vector<ByteMutation>& byte_mutations();

// `bytes` changed by one to four mutations that `seed` chooses: equal arguments give equal bytes everywhere.
// What is no database is changed as bytes only.
std::string mutate_session(std::string_view bytes, uint64_t seed);

}  // namespace vitrine::fuzz
