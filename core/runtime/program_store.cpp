#include "core/runtime/program_store.h"

#include <algorithm>

#include "core/base/sha256.h"
#include "core/codegen/packed_program.h"
#include "core/ir/packing.h"
#include "core/runtime/kernels/sealed_folder.h"

namespace vitrine::runtime {

namespace {

constexpr const char *kEntry = ".program", *kKeys = ".keys";
constexpr size_t kKeysOfPlace = 8;

struct KeptEntry {
  ProgramKey key;
  int64_t compile_ns = 0;
  std::string program;
};

template <class Io, class T>
void pack_key(Io& io, T& key) {
  auto& [graph, layouts, sizes, settings, versions, target, first_sizes] = key;
  ir::pack_all(io, graph, layouts, sizes, settings, versions, target);
}

std::string name_of_place(const std::string& place) {
  return sha256_hex("place\n" + place);
}

// The keys of the entries of a place, the last that was written first. Damaged: none.
std::vector<ProgramKey> keys_of(const SealedFolder& folder, const std::string& place) {
  std::vector<ProgramKey> out;
  const auto file = folder.find(name_of_place(place), kKeys);
  if (!file) return out;
  try {
    ir::Unpacker io(file->content);
    for (size_t left = io.count(); left > 0; --left) pack_key(io, out.emplace_back());
    io.expect_end();
  } catch (const ir::PackingError&) {
    out.clear();
  }
  return out;
}

void add_key(const SealedFolder& folder, const std::string& place, const ProgramKey& key) {
  std::vector<ProgramKey> keys = keys_of(folder, place);
  std::erase_if(keys, [&](const ProgramKey& k) { return differing_parts(k, key) == 0; });
  keys.insert(keys.begin(), key);
  if (keys.size() > kKeysOfPlace) keys.resize(kKeysOfPlace);
  ir::Packer io;
  io.integer(static_cast<int64_t>(keys.size()));
  for (const ProgramKey& k : keys) pack_key(io, k);
  (void)folder.insert(name_of_place(place), kKeys, io.bytes());  // misses are told without it
}

std::string why_missed(const SealedFolder& folder, const std::string& place, const ProgramKey& key) {
  const std::vector<ProgramKey> keys = keys_of(folder, place);
  const auto nearest = std::min_element(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    const auto distance = [&](const ProgramKey& k) {
      return std::pair(differing_parts(key, k), difference(key, k).size());
    };
    return distance(a) < distance(b);
  });
  if (nearest == keys.end()) return "nothing of this code is kept";
  const std::string differs = difference(key, *nearest);
  return differs.empty() ? "its entry is gone" : differs;
}

// "" or why the file is not the entry of this key. What it holds is read only now that its seal fits.
std::string read_entry(const std::string& content, const ProgramKey& key, ir::SymbolTable* table,
                       ProgramStore::Found& out) {
  try {
    ir::Unpacker io(content);
    ProgramKey kept;
    pack_key(io, kept);
    if (differing_parts(key, kept) > 0) return "it is of another key: " + difference(key, kept);
    ir::pack(io, out.compile_ns);
    out.bytes = io.text();
    io.expect_end();
  } catch (const ir::PackingError& e) {
    return e.what();
  }
  auto read = codegen::unpacked_program(out.bytes, table);
  if (!read) return read.error().what;
  out.program = std::move(read.value().program);
  out.guards = std::move(read.value().guards);
  return "";
}

// What it asks of sizes that the table's do not fulfil; "": nothing.
std::string asks_more(const std::vector<ir::SymGuard>& guards, const ir::SymbolTable* table) {
  for (const ir::SymGuard& guard : guards)
    if (!table->holds_at_hints(guard))
      return "it is for other sizes: " + table->text(guard) + " (" + guard.place + ")";
  return "";
}

// Entries of one name.
ProgramStore::Answer look_up(const SealedFolder& folder, const std::string& name, const ProgramKey& key,
                             const std::string& place, ir::SymbolTable* table) {
  ProgramStore::Answer out;
  std::string refused;
  const auto file = folder.find(name, kEntry, &refused);
  ProgramStore::Found found;
  if (file) refused = read_entry(file->content, key, table, found);
  if (!refused.empty()) {
    folder.remove(name, kEntry);
    out.state = "refused";
    out.reason = "the entry is damaged or somebody else's: " + refused;
  } else if (!file) {
    out.reason = why_missed(folder, place, key);
  } else if (out.reason = asks_more(found.guards, table); !out.reason.empty()) {
    out.for_other_sizes = true;
  } else {
    out.state = "found";
    out.found = std::move(found);
  }
  return out;
}

}  // namespace

ProgramStore::ProgramStore(std::string cache_dir) : dir_(std::move(cache_dir)) {
  if (!dir_.empty()) dir_ += "/programs";
}

ProgramStore::Answer ProgramStore::find(const ProgramKey& key, const std::string& place,
                                        ir::SymbolTable* table) const {
  Answer out;
  auto folder = SealedFolder::open(dir_);
  if (!folder) {
    out.state = "refused";
    out.reason = folder.error().what;
    return out;
  }
  out = look_up(folder.value(), key.digest(), key, place, table);
  if (!out.for_other_sizes) return out;
  Answer own = look_up(folder.value(), key.digest_at_first_sizes(), key, place, table);
  own.for_other_sizes = true;
  if (own.state == "missed") own.reason = out.reason;
  return own;
}

int64_t ProgramStore::insert(const ProgramKey& key, const std::string& place, const std::string& packed,
                             int64_t compile_ns, bool beside) const {
  auto folder = SealedFolder::open(dir_);
  if (!folder) return 0;
  ir::Packer io;
  pack_key(io, key);
  ir::pack(io, compile_ns);
  io.text(packed);
  const std::string name = beside ? key.digest_at_first_sizes() : key.digest();
  if (!folder.value().insert(name, kEntry, io.bytes())) return 0;
  add_key(folder.value(), place, key);
  folder.value().trim(kMaxBytes);
  return static_cast<int64_t>(io.bytes().size());
}

}  // namespace vitrine::runtime
