// The film of a capture: what each interpreted instruction took from the value stack, put on it and stored.
// Kept as values while the program runs, and told in words at the end, when the graph's nodes have their
// names. Nothing here runs unless steps are recorded.
#include <algorithm>

#include "core/capture/interpreter/machine/film.h"
#include "core/capture/interpreter/machine/instructions.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

constexpr size_t kTextLimit = 200;

const char* kind_of_object(PyObject* o) {
  if (torch_api::is_tensor(o)) return "tensor";
  if (torch_names().is_module(Py_TYPE(o))) return "module";
  if (PyFunction_Check(o) || PyCFunction_Check(o) || PyMethod_Check(o) || PyType_Check(o)) return "function";
  if (PyTuple_Check(o)) return "tuple";
  if (PyList_Check(o)) return "list";
  if (PyDict_Check(o)) return "dict";
  if (PyAnySet_Check(o)) return "set";
  if (PyCell_Check(o)) return "cell";
  const bool plain =
      o == Py_None || PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyUnicode_Check(o);
  return plain ? "constant" : "object";
}

const char* kind_text(const Value& v) {
  switch (v.kind()) {
    case ValueKind::Null:
      return "null";
    case ValueKind::Symbol:
    case ValueKind::Float:
    case ValueKind::Text:
      return "constant";
    case ValueKind::Lazy:
    case ValueKind::Constant:
      return kind_of_object(v.obj);
    case ValueKind::Tensor:
      return "tensor";
    case ValueKind::Tuple:
      return "tuple";
    case ValueKind::List:
      return "list";
    case ValueKind::Dict:
      return "dict";
    case ValueKind::Set:
      return "set";
    case ValueKind::Slice:
      return "slice";
    case ValueKind::Iterator:
      return "iterator";
    case ValueKind::Function:
    case ValueKind::Method:
    case ValueKind::Super:
      return "function";
    case ValueKind::Cell:
      return "cell";
    case ValueKind::Object:
      return v.cls && torch_names().is_module(v.cls) ? "module" : "object";
    case ValueKind::Generator:
      return "generator";
  }
  return "object";
}

std::string type_text(const Value& v) {
  if (v.is(ValueKind::Tensor)) return torch_api::type_of(v.obj).text();
  if (v.is(ValueKind::Lazy) && torch_api::is_tensor(v.obj)) return torch_api::type_of(v.obj).text();
  return v.cls ? v.cls->tp_name : "";
}

}  // namespace

FilmState::Before begin_step(Tracer& t, VirtualFrame& f, const Instruction& in, bool entered) {
  f.step = static_cast<int32_t>(t.film.steps.size());
  StepRecord step;
  step.code = reinterpret_cast<PyObject*>(f.code);
  step.pc = in.pc;
  step.depth = t.frames.depth - 1;
  t.film.steps.push_back(std::move(step));
  t.film.changes.emplace_back();
  // What a frame starts with is told with its first instruction.
  if (entered) return {{}, Values(f.locals.size(), nullptr)};
  return {f.stack, f.locals};
}

void end_step(Tracer& t, VirtualFrame& f, const Instruction& in, const FilmState::Before& before) {
  FilmState::Change& change = t.film.changes[static_cast<size_t>(f.step)];
  const size_t shorter = std::min(before.stack.size(), f.stack.size());
  size_t same = 0;
  while (same < shorter && before.stack[same] == f.stack[same]) ++same;
  change.pop = static_cast<int>(before.stack.size() - same);
  change.push.assign(f.stack.begin() + static_cast<std::ptrdiff_t>(same), f.stack.end());
  for (size_t i = 0; i < f.locals.size() && i < before.locals.size(); ++i)
    if (f.locals[i] != before.locals[i])
      change.store.emplace_back(text_of(f.bytecode->local_name(static_cast<int>(i))), f.locals[i]);
  if (in.op == Op::StoreDeref && !before.stack.empty())
    change.store.emplace_back(text_of(f.bytecode->local_name(in.arg)), before.stack.back());
  if (in.op == Op::StoreGlobal && !before.stack.empty())
    change.store.emplace_back(text_of(f.bytecode->name(in.arg)), before.stack.back());
  StepRecord& step = t.film.steps[static_cast<size_t>(f.step)];
  const bool folds = change.pop > 0 && change.push.size() == 1 && change.push[0];
  if (step.event.empty() && folds && resolve(change.push[0])->is(ValueKind::Constant) &&
      !resolve(change.push[0])->source)
    step.event = "const";
}

static std::string film_text(Tracer& t, Value* v, const FilmState::NodeNames& names) {
  v = resolve(v);
  if (v->is(ValueKind::Cell) && !v->items().empty() && v->items()[0])
    return film_text(t, v->items()[0], names);
  if (v->is(ValueKind::Tensor) && t.lowering().is_traced(v->obj))
    if (auto name = names.find(t.lowering().captured_ref(v->obj).node); name != names.end())
      return name->second;
  return shortened(describe(t, v), kTextLimit);
}

static std::string film_value(Tracer& t, Value* v, const FilmState::NodeNames& names) {
  if (!v) return R"({"kind":"null","text":"NULL","type":"","source":""})";
  v = resolve(v);
  return "{\"kind\":\"" + std::string(kind_text(*v)) + "\",\"text\":" + json_text(film_text(t, v, names)) +
         ",\"type\":" + json_text(type_text(*v)) +
         ",\"source\":" + json_text(v->source ? v->source->text() : "") + "}";
}

// `captured` may be null: nothing was recorded.
std::vector<StepRecord> finish_film(Tracer& t, const ir::Graph* captured, const std::vector<Guard>& guards) {
  if (!t.options.record_steps) return {};
  FilmState::NodeNames names;
  const auto within = [&](int32_t step) {
    return step >= 0 && static_cast<size_t>(step) < t.film.steps.size();
  };
  if (captured) {
    for (const ir::Node& node : captured->nodes()) {
      names.emplace(node.id, node.name);
      if (!within(node.origin.step)) continue;
      StepRecord& step = t.film.steps[static_cast<size_t>(node.origin.step)];
      if (step.event == "node") continue;
      step.event = "node";
      step.text = node.name;
      step.node = node.id;
    }
  }
  for (size_t i = 0; i < guards.size(); ++i) {
    if (!within(guards[i].step)) continue;
    StepRecord& step = t.film.steps[static_cast<size_t>(guards[i].step)];
    if (step.guard < 0) step.guard = static_cast<int32_t>(i);
    if (!step.event.empty() && step.event != "const") continue;
    step.event = "guard";
    step.text = guards[i].source ? guards[i].source->text() : guards[i].expected;
  }
  for (size_t i = 0; i < t.film.steps.size(); ++i) {
    const FilmState::Change& change = t.film.changes[i];
    std::string push, store;
    for (Value* v : change.push) push += (push.empty() ? "" : ",") + film_value(t, v, names);
    for (const auto& [name, v] : change.store)
      store += (store.empty() ? "" : ",") + json_text(name) + ":" + film_value(t, v, names);
    t.film.steps[i].effect_json =
        "{\"pop\":" + std::to_string(change.pop) + ",\"push\":[" + push + "],\"store\":{" + store + "}}";
    const bool tells = t.film.steps[i].event == "const" || t.film.steps[i].event == "return";
    if (tells && !change.push.empty() && change.push[0])
      t.film.steps[i].text = film_text(t, change.push[0], names);
    if (t.film.steps[i].event == "return" && change.result)
      t.film.steps[i].text = film_text(t, change.result, names);
  }
  return std::move(t.film.steps);
}

void film_inlined(Tracer& t, PyCodeObject* code) {
  if (!t.options.record_steps || t.frame().step < 0) return;
  StepRecord& step = t.film.steps[static_cast<size_t>(t.frame().step)];
  step.event = "inline";
  step.text = text_of(code->co_qualname);
}

void film_returned(Tracer& t, VirtualFrame& f, Value* value) {
  t.film.steps[static_cast<size_t>(f.step)].event = "return";
  t.film.changes[static_cast<size_t>(f.step)].result = value;
}

}  // namespace vitrine::capture
