"""Functions stay short and folders small. What is larger today is listed in rules.py, and the list may only shrink."""

from collections import Counter
from pathlib import PurePath

import pytest
from tests.tools import rules
from tests.tools.function_lengths import cpp_functions, long_functions, python_functions
from tests.tools.test_structure import FILES, ROOT

SOURCES = [f for f in FILES if f.endswith(rules.SOURCE_ENDINGS)]


def grown(found: dict, listed: dict) -> list[str]:
    """What is larger than its row says, and rows of what is no longer too large."""
    problems = [f'"{name}": {size}, where rules.py has {listed.get(name, "nothing")}' for name, size in found.items() if not fits(size, listed.get(name, ()))]
    return problems + [f'"{name}" is small enough now: take its row from rules.py' for name in listed if name not in found]


def fits(size, listed) -> bool:
    return len(size) <= len(listed) and all(a <= b for a, b in zip(size, listed))


def test_functions_are_short():
    texts = {f: (ROOT / f).read_text(errors="replace") for f in SOURCES}
    found = {name: list(lengths) for name, lengths in long_functions(texts, rules.MAX_FUNCTION_LINES).items()}
    problems = grown(found, rules.LONG_FUNCTIONS)
    assert not problems, f"functions over {rules.MAX_FUNCTION_LINES} lines:\n" + "\n".join(problems)


def test_folders_are_small():
    files = Counter(str(PurePath(f).parent) for f in SOURCES)
    sources = Counter(str(PurePath(f).parent) for f in SOURCES if not f.endswith(".h"))
    found = {f: (sources[f], n) for f, n in sorted(files.items()) if sources[f] > rules.MAX_SOURCES or n > rules.MAX_FILES}
    problems = grown(found, rules.LARGE_FOLDERS)
    assert not problems, f"folders of more than {rules.MAX_SOURCES} sources, {rules.MAX_FILES} files:\n" + "\n".join(problems)


def test_a_list_of_exceptions_only_shrinks():
    assert not grown({"a": [70]}, {"a": [70]}) and not grown({"a": [65]}, {"a": [70]})
    assert grown({"a": [71]}, {"a": [70]}) and grown({"a": [70, 61]}, {"a": [70]}) and grown({"b": [61]}, {}) and grown({}, {"a": [70]})


CPP = """
namespace vitrine {{
class Tracer : public Base {{
 public:
  explicit Tracer(int n) : values_{{n}}, make_([] {{ return 1; }}) {{ {lines} }}
  bool operator()(const char* text = "}}", std::vector<int> more = {{}}) const override;
}};
bool Tracer::operator()(const char* text, std::vector<int> more) const {{
  for (int i = 0; i < 10'000; ++i) {{ {lines} }}  // }}
  static const std::vector<Row> table = {{
    {rows}
  }};
}}
const Row kRows[] = {{
  {{"add", [](const Call& c) {{ {lines} }}}},
}};
}}
"""


def test_functions_of_cpp_are_measured_without_their_tables():
    text = CPP.format(lines="\n" * 40, rows='{"}", 1},\n' * 100)
    assert cpp_functions(text) == [("[]", 1), ("Tracer::Tracer", 41), ("Tracer::operator()", 45), ("[]", 41)]


@pytest.mark.parametrize("body, lines", [("    x = 1\n" * 5, 6), ("    x = [\n" + "        1,\n" * 50 + "    ]\n", 3), ("    def g():\n        pass\n        return 2\n    return g\n", 2)])
def test_functions_of_python_are_measured_without_their_tables(body, lines):
    assert dict(python_functions("def f(a):\n" + body))["f"] == lines
