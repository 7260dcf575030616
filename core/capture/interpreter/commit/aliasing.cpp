// What inputs and objects share: told apart at capture, and told apart again by a guard in each call.
#include <map>

#include "core/capture/interpreter/commit/aliasing.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/tracer.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// Takes sources that are to be apart from each other: one guard for all of them. Those of what is changed
// are apart from all others, the others may be one.
static void guard_apart(Tracer& t, bool storages, std::vector<const Source*> changed,
                        std::vector<const Source*> others) {
  if (changed.empty() || changed.size() + others.size() < 2) return;
  const size_t all = changed.size() + others.size();
  Guard g;
  g.kind = GuardKind::Apart;
  g.name = storages ? "storage" : "identity";
  g.source = changed.front();
  g.number = static_cast<int64_t>(changed.size());
  g.members = std::move(changed);
  g.members.insert(g.members.end(), others.begin(), others.end());
  g.expected = std::string(storages ? "no memory shared with " : "another object than ") +
               (all == 2 ? g.members.back()->text() : std::to_string(all - 1) + " others");
  g.step = t.frames.current ? t.frame().step : -1;
  t.guards.add(std::move(g));
}

// An object that the trace changes is one that its other objects are not.
void guard_aliases(Tracer& t) {
  using Like = std::pair<ValueKind, PyTypeObject*>;  // only such objects can be one
  struct Group {
    std::vector<const Source*> changed, others;
  };
  std::map<Like, Group> groups;
  std::unordered_set<const Value*> seen;
  for (const Value* changed : t.effects.mutated) {
    if (changed->pinned || changed->is(ValueKind::Iterator) || !changed->source) continue;
    if (seen.insert(changed).second)
      groups[{changed->kind(), changed->cls}].changed.push_back(changed->source);
  }
  for (const auto& [object, other] : t.values.by_object) {
    if (resolve(other) != other || other->pinned || !other->source || seen.contains(other)) continue;
    const auto group = groups.find({other->kind(), other->cls});
    if (group == groups.end() || !seen.insert(other).second) continue;
    group->second.others.push_back(other->source);
  }
  for (auto& [like, group] : groups) guard_apart(t, false, std::move(group.changed), std::move(group.others));
}

// A write to one input's storage is seen through every other that shares it.
void guard_storages(Tracer& t) {
  std::unordered_map<const Source*, PyObject*> fake_tensors;
  for (const auto& [traced, value] : t.values.by_tensor)
    if (real_of(value)) fake_tensors.emplace(value->source, traced);
  std::vector<const Source*> written, read;
  for (const Source* source : t.graph.inputs) {
    const auto found = fake_tensors.find(source);
    if (found == fake_tensors.end()) continue;  // a float
    (t.lowering().is_written(found->second) ? written : read).push_back(source);
  }
  guard_apart(t, true, std::move(written), std::move(read));
}

void note_memory(Tracer& t, Value* input) {
  const void* storage = torch_api::storage_id(torch_api::handle_of(real_of(input)));
  t.graph.input_memory.add(input, extent_of(real_of(input)), storage);
}

namespace {

[[noreturn]] void refuse(const Value* a, const Value* b) {
  stop("unsupported_value",
       a->source->text() + " and " + b->source->text() + " share memory, and it is written to");
}

}  // namespace

// Inputs that share storage while the program writes to it: a graph of it would hold for this one way of
// sharing only.
void check_storages(Tracer& t) {
  if (!t.lowering().effects().writes_inputs) return;
  for (const auto& [a, b] : t.graph.input_memory.shared())
    if (t.lowering().is_written(a->obj) || t.lowering().is_written(b->obj)) refuse(a, b);
}

// The same of a tensor that is about to become an input: it does not become one of this graph.
void check_storage_of(Tracer& t, const Value* v) {
  if (!t.lowering().effects().writes_inputs) return;
  const Value* other = t.graph.input_memory.in(torch_api::storage_id(torch_api::handle_of(v->obj)));
  if (other && real_of(other) != v->obj && t.lowering().is_written(other->obj)) refuse(v, other);
}

}  // namespace vitrine::capture
