// What a program that is kept on disk is found by: all that its compilation depends on. The parts are apart,
// so that a miss can say which of them is another one.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/codegen/codegen_options.h"
#include "core/pipeline/pipeline.h"
#include "core/runtime/compile.h"

namespace vitrine::runtime {

struct ProgramKey {
  // graph: operators and their arguments; layouts: types of all values, and lists of integers (sizes).
  // These two are digests, the others lines of text, one a setting. sizes: ranges and guards of the symbols
  // that sizes are expressions of; "" where they are numbers.
  std::string graph, layouts, sizes, settings, versions, target;
  std::string first_sizes;     // the symbols' values; a program serves others too
  std::string digest() const;  // of all of them but the first sizes
  std::string digest_at_first_sizes() const;
};

// What there is to say of a part: its name, and where in a key it stands.
struct KeyPart {
  std::string_view name;
  std::string ProgramKey::* text;
  bool in_lines;
};
inline constexpr std::array<KeyPart, 6> kKeyParts = {{
    {"graph", &ProgramKey::graph, false},
    {"layouts", &ProgramKey::layouts, false},
    {"sizes", &ProgramKey::sizes, true},
    {"settings", &ProgramKey::settings, true},
    {"versions", &ProgramKey::versions, true},
    {"target", &ProgramKey::target, true},
}};

// In which parts `wanted` is another one than `kept`: "graph", "settings: threads 2, was 4"; "" in none.
std::string difference(const ProgramKey& wanted, const ProgramKey& kept);
int differing_parts(const ProgramKey& wanted, const ProgramKey& kept);

// Errors: why the program of this graph is not kept.
Result<ProgramKey> program_key(const ir::Graph& aten, const CompileOptions& options,
                               const pipeline::Settings& settings, const codegen::CodegenOptions& how);

}  // namespace vitrine::runtime
