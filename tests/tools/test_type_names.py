"""One meaning a type name: what a reader meets in two places is one thing."""

import pytest
from tests.tools import rules
from tests.tools.test_structure import CPP, ROOT, within
from tests.tools.type_names import type_names


def meanings(texts: dict[str, str]) -> dict[str, dict[str, str]]:
    """name -> place -> meaning. An alias that is written again with the same meaning counts once."""
    found = {}
    for path, text in texts.items():
        for name, meaning in type_names(text):
            places = found.setdefault(name, {})
            if not (meaning and meaning in places.values()):
                places[f"{path} ({len(places)})" if path in places else path] = meaning
    return found


def several(texts: dict[str, str]) -> dict[str, list[str]]:
    return {name: list(places) for name, places in meanings(texts).items() if len(places) > 1}


def test_a_type_name_has_one_meaning():
    found = several({f: (ROOT / f).read_text(errors="replace") for f in CPP if any(within(f, folder) for folder in rules.TYPE_FOLDERS)})
    problems = [f"{name}: {', '.join(places)}" for name, places in sorted(found.items()) if name not in rules.SHARED_TYPE_NAMES]
    problems += [f"{name} has one meaning now: take its row from rules.py" for name in rules.SHARED_TYPE_NAMES if name not in found]
    assert not problems, "a second thing needs a name of its own:\n" + "\n".join(problems)


@pytest.mark.parametrize(
    "text",
    [
        "class Step {};",
        "enum class Step : uint8_t { Next };",
        "template <class T>\nstruct alignas(16) Step : Base<T> { int a; };",
        "class Step final : public Base { struct Kind {}; };",
        "using Step = int;",
        'const char* kText = R"(class Other {};)"; namespace { struct Step { int n = 10\'000; }; }',
    ],
)
def test_a_type_is_found_where_it_is_defined(text):
    assert [name for name, _ in type_names(f"namespace vitrine::kit {{\n{text}\n}}")] == ["Step"]


@pytest.mark.parametrize(
    "text",
    ["class Step;", "struct Outer::Step {};", "void f(struct Step s) { class Step {}; }", "template <>\nstruct std::hash<Step> {};", "using ir::Step;", "using namespace ir;", "struct { int n; } step;"],
)
def test_what_defines_no_type_of_a_namespace_is_left_out(text):
    assert [name for name, _ in type_names(f"namespace vitrine {{\n{text}\n}}") if name == "Step"] == []


def test_an_alias_may_be_written_again_with_the_same_meaning():
    same = {"a.cpp": "using Kind = codegen::Buffer::Kind;", "b.cpp": "namespace { using Kind = Buffer::Kind; }"}
    assert not several(same)
    assert several({**same, "c.cpp": "using Kind = Effect::Kind;"})
    assert several({"a.h": "struct Row {};", "b.cpp": "namespace { struct Row {}; }"}) == {"Row": ["a.h", "b.cpp"]}
