// warnings.catch_warnings and simplefilter are Python code over lists, which is interpreted as any other.
// What they tell CPython's C half, that the filters have changed, is told once, behind the graph: a call that
// warns has no place in it.
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

constexpr const char* kMutated = "warnings._filters_mutated";

// warnings.warn(message, category, ...)
Value* warn(Tracer& t, const Arguments& a) {
  if (!t.ignores_warning(need(t, a, 0, "message"), need(t, a, 1, "category", t.none())))
    stop("side_effect", "a warning is given");
  return t.none();
}

constexpr BuiltinRow kRows[] = {
    {kMutated,
     [](Tracer& t, const Arguments&) {
       t.note_changed_filters();
       return t.none();
     }},
    {"warnings.warn", warn},
};

}  // namespace

std::span<const BuiltinRow> warning_builtins() {
  return kRows;
}

void Tracer::note_changed_filters() {
  if (pure_since_ >= 0 || differentiated_)
    stop("side_effect", "filters of warnings change in what PyTorch runs again");
  filters_changed_ = true;
}

// Whether the first filter ignores every warning of this class, whatever its text and place: such a warning
// leaves nothing behind.
bool Tracer::ignores_warning(Value* message, Value* category) {
  const Value* said = look(message);
  PyObject* cls = is_none(category) ? PyExc_UserWarning : const_object(category);
  if (!cls || !PyType_Check(cls) || said->kind != Kind::Constant || !PyUnicode_Check(said->obj)) return false;
  Value* filters = look(load_attr(pinned(find_object("warnings")), "filters"));
  if (filters->kind != Kind::List || length(filters) == 0) return false;
  Value* first = look(get_item(filters, integer(0)));
  if (first->kind != Kind::Tuple || length(first) != 5) return false;
  PyObject *action = const_object(get_item(first, integer(0))),
           *of = const_object(get_item(first, integer(2))), *line = const_object(get_item(first, integer(4)));
  return action && text_of(action) == "ignore" && is_none(get_item(first, integer(1))) && of &&
         PyType_Check(of) && is_none(get_item(first, integer(3))) && line && PyLong_Check(line) &&
         PyObject_IsTrue(line) == 0 && PyObject_IsSubclass(cls, of) == 1;
}

std::vector<Effect> Tracer::warning_filter_effects(RecipeMaker& make) {
  std::vector<Effect> out;
  if (!filters_changed_) return out;
  out.emplace_back();
  out.back().kind = Effect::Kind::Call;
  out.back().value = make.call(find_object(kMutated), {});
  return out;
}

}  // namespace vitrine::capture
