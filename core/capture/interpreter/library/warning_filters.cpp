// warnings.catch_warnings and simplefilter are Python code over lists, which is interpreted as any other.
// What they tell CPython's C half, that the filters have changed, is told once, behind the graph: a call that
// warns has no place in it.
#include "core/capture/interpreter/library/warning_filters.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

static void note_changed_filters(Tracer& t);
static bool ignores_warning(Tracer& t, Value* message, Value* category);

namespace {

constexpr const char* kMutated = "warnings._filters_mutated";

// warnings.warn(message, category, ...)
Value* warn(Tracer& t, const Arguments& a) {
  if (!ignores_warning(t, need(t, a, 0, "message"), need(t, a, 1, "category", t.none())))
    stop("side_effect", "a warning is given");
  return t.none();
}

constexpr BuiltinRow kRows[] = {
    {kMutated,
     [](Tracer& t, const Arguments&) {
       note_changed_filters(t);
       return t.none();
     }},
    {"warnings.warn", warn},
};

}  // namespace

std::span<const BuiltinRow> warning_builtins() {
  return kRows;
}

void note_changed_filters(Tracer& t) {
  if (t.pure.since >= 0 || t.pure.differentiated)
    stop("side_effect", "filters of warnings change in what PyTorch runs again");
  t.modes.filters_changed = true;
}

// Whether the first filter ignores every warning of this class, whatever its text and place: such a warning
// leaves nothing behind.
bool ignores_warning(Tracer& t, Value* message, Value* category) {
  const Value* said = t.look(message);
  PyObject* cls = is_none(t, category) ? PyExc_UserWarning : const_object(t, category);
  if (!cls || !PyType_Check(cls) || !said->is(ValueKind::Constant) || !PyUnicode_Check(said->obj))
    return false;
  Value* filters = t.look(load_attr(t, t.pinned(find_object("warnings")), "filters"));
  if (!filters->is(ValueKind::List) || length(t, filters) == 0) return false;
  Value* first = t.look(get_item(t, filters, t.integer(0)));
  if (!first->is(ValueKind::Tuple) || length(t, first) != 5) return false;
  PyObject *action = const_object(t, get_item(t, first, t.integer(0))),
           *of = const_object(t, get_item(t, first, t.integer(2))),
           *line = const_object(t, get_item(t, first, t.integer(4)));
  return action && text_of(action) == "ignore" && is_none(t, get_item(t, first, t.integer(1))) && of &&
         PyType_Check(of) && is_none(t, get_item(t, first, t.integer(3))) && line && PyLong_Check(line) &&
         PyObject_IsTrue(line) == 0 && PyObject_IsSubclass(cls, of) == 1;
}

std::vector<Effect> warning_filter_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  if (!t.modes.filters_changed) return out;
  out.emplace_back();
  out.back().kind = Effect::Kind::Call;
  out.back().value = make.call(find_object(kMutated), {});
  return out;
}

}  // namespace vitrine::capture
