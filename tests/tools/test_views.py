"""A view has a GUI test, as a pass has a golden."""

import re

from tests.tools import rules
from tests.tools.test_structure import FILES, ROOT

ROW = re.compile(r'\{"(\w+)",[^{}]*?\bmake(?:_table)?<(\w+)>\}')


def unseen(registry: str, declared: dict[str, str], tests: dict[str, str]) -> list[str]:
    """Rows of the registry that no GUI test shows. declared: header -> text; tests: file -> text."""
    problems = []
    for view, made in ROW.findall(registry):
        folder = next((path.split("/")[1] for path, text in declared.items() if re.search(rf"\b{made}\b", text)), None)
        own = f"tests/gui/views/tst_{folder}.cpp"
        if own not in tests:
            problems.append(f"{view}: there is no {own}")
        elif not any(re.search(rf"\b{made}\b", text) for text in tests.values()):
            problems.append(f"{view}: no test below tests/gui shows {made}")
    return problems


def read(files) -> dict[str, str]:
    return {f: (ROOT / f).read_text() for f in files}


def test_every_view_has_a_gui_test():
    registry = (ROOT / rules.REGISTRY).read_text()
    assert len(ROW.findall(registry)) == registry.count("ViewPlace::") > 20
    headers = read(f for f in FILES if re.fullmatch(r"views/(?!kit/)\w+/\w+\.h", f))
    problems = unseen(registry, headers, read(f for f in FILES if re.fullmatch(r"tests/gui/\w+/tst_\w+\.cpp", f)))
    assert not problems, "\n".join(problems)


def test_a_view_without_a_test_is_told():
    registry = '{"log", "Log", "log", ViewPlace::Bottom, "", make<LogView>},\n{"saved", "S", "swap", ViewPlace::Bottom, "", make_table<kSavedTable>},'
    declared = {"views/log/log_view.h": "class LogView {", "views/tables/tables.h": "extern const TableSpec kSavedTable;"}
    tests = {"tests/gui/views/tst_log.cpp": "Rig<LogView> rig", "tests/gui/views/tst_tables.cpp": "views::kSavedTable"}
    assert not unseen(registry, declared, tests)
    assert unseen(registry, declared, {**tests, "tests/gui/views/tst_tables.cpp": ""}) == ["saved: no test below tests/gui shows kSavedTable"]
    del tests["tests/gui/views/tst_log.cpp"]
    assert unseen(registry, declared, tests) == ["log: there is no tests/gui/views/tst_log.cpp"]
