#include "tests/fuzz/sessions/session_mutator.h"

namespace vitrine::fuzz {

namespace {

template <class Mutation>
const Mutation& chosen(const std::vector<Mutation>& table, Random& random) {
  uint64_t total = 0;
  for (const Mutation& row : table) total += row.weight;
  uint64_t at = random.below(total);
  for (const Mutation& row : table) {
    if (at < row.weight) return row;
    at -= row.weight;
  }
  return table.back();
}

}  // namespace

std::string mutate_session(std::string_view bytes, uint64_t seed) {
  Random random(seed);
  if (random.one_in(6)) {
    std::string out(bytes);
    if (!out.empty()) chosen(byte_mutations(), random).apply(out, random);
    return out;
  }
  Database db(bytes);
  if (!db.ok()) return std::string(bytes);
  db.run("BEGIN");
  for (uint64_t left = 1 + random.below(4); left > 0; --left)
    chosen(sql_mutations(), random).apply(db, random);
  db.run("COMMIT");
  return db.bytes();
}

}  // namespace vitrine::fuzz
