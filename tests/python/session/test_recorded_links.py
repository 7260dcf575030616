"""What a session says of its origins and costs: the user's lines behind kernels, what guards and breaks cost, calls."""

from pathlib import Path

import pytest
import torch

import vitrine

from tests.python.support.recorded import recorded

HERE = Path(__file__).read_text().splitlines()


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.fc = torch.nn.Linear(8, 8)

    def forward(self, x):
        h = self.norm(x)
        return x + torch.relu(self.fc(h))


def line_of(text):
    (line,) = [i for i, row in enumerate(HERE, 1) if row.strip() == text]
    return line


def origins_and_derived(session):
    links = {}
    for link in session.rows("link"):
        links.setdefault(link["origin"], set()).add(link["derived"])
    return links


def reached(links, start):
    seen, todo = set(), [start]
    while todo:
        for derived in links.get(todo.pop(), ()):
            if derived not in seen:
                seen.add(derived)
                todo.append(derived)
    return seen


def user_lines(session, wanted):
    """The lines of this file from whose expressions an entity of `wanted` descends."""
    links = origins_and_derived(session)
    (file,) = [f["id"] for f in session.rows("file") if f["path"] == __file__]
    return {s["line"] for s in session.rows("span", file=file) if reached(links, s["id"]) & wanted}


def test_every_node_leads_to_a_line_of_the_user(tmp_path):
    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(Block().eval())(torch.randn(2, 8))
    (captured,) = session.rows("graph", stage="captured")
    nodes = session.rows("node", graph=captured["id"], kind="op")
    assert len(nodes) >= 4
    norm, out = line_of("h = self.norm(x)"), line_of("return x + torch.relu(self.fc(h))")
    for node in nodes:
        expected = {norm} if "norm" in node["op"] else {out}
        assert user_lines(session, {node["id"]}) == expected, node["op"]
        (span,) = session.rows("span", id=node["span"])
        assert span["line"] in expected
    launches = {row["id"] for row in session.rows("launch")}
    assert launches and user_lines(session, launches) >= {norm, out}
    for launch in launches:
        assert user_lines(session, {launch}), "a launch without a line of the user's"


def test_chain_of_a_node(tmp_path):
    """expression -> instruction -> step -> node, and the step says so itself."""
    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(lambda x: torch.sin(x))(torch.randn(3))
    (graph,) = session.rows("graph", stage="captured")
    (node,) = session.rows("node", graph=graph["id"], kind="op")
    links = origins_and_derived(session)
    (step,) = session.rows("step", event="node")
    assert step["entity"] == node["id"] and node["id"] in links[step["id"]]
    assert step["id"] in links[step["instruction"]]
    (instruction,) = session.rows("instruction", id=step["instruction"])
    assert instruction["id"] in links[instruction["span"]]


def test_a_librarys_module_leads_to_the_call(tmp_path):
    """Nothing inside a library's module is the user's: the line is the one that calls it."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()).eval()
    compiled = vitrine.compile(net)
    with recorded(tmp_path) as session, torch.no_grad():
        compiled(torch.randn(2, 8))  # the line of the call
    files = {f["path"]: f["user"] for f in session.rows("file")}
    assert files[__file__] == 1
    assert [user for path, user in files.items() if "/torch/" in path] and not any(user for path, user in files.items() if path != __file__)
    launches = {row["id"] for row in session.rows("launch")}
    assert user_lines(session, launches) == {line_of("compiled(torch.randn(2, 8))  # the line of the call")}


def test_a_copy_that_its_kernel_makes_superfluous_is_part_of_it(tmp_path):
    """The launches that are told are those that run, and nothing is missed where nothing is copied."""

    def update(weight, gradient):
        weight.mul_(0.9).sub_(gradient.tanh())

    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(update)(torch.ones(64), torch.ones(64))
    (kernel,) = session.rows("kernel")
    assert len(session.rows("launch", kernel=kernel["id"])) == 1
    (fused,) = session.rows("graph", stage="fused")
    assert fused["sentence"].endswith("become 1 launch"), fused["sentence"]
    nodes = session.rows("node", graph=fused["id"], kind="op")
    copies = [node for node in nodes if node["op"] == "aten.copy_.default"]
    assert copies and {node["group_label"] for node in nodes} == {kernel["label"]}
    assert all(kernel["id"] in reached(origins_and_derived(session), node["id"]) for node in copies)
    (made,) = [row for row in session.rows("fusion_decision") if row["b"] in {node["id"] for node in copies}]
    assert (made["verdict"], made["kernel"]) == ("fused", kernel["id"])
    assert made["bytes_saved"] == 2 * 64 * 4


def test_what_guards_cost(tmp_path):
    compiled = vitrine.compile(Block().eval())
    x = torch.randn(2, 8)
    with recorded(tmp_path) as session, torch.no_grad():
        for _ in range(5):
            compiled(x)
    guards = session.rows("guard")
    assert all(g["cost_ns"] > 0 for g in guards), [g for g in guards if not g["cost_ns"]]
    assert all(g["checks"] >= 4 for g in guards) and not any(g["fails"] for g in guards)


def test_a_break_costs_nothing_that_other_rows_tell(tmp_path):
    import time

    class Inner(torch.nn.Module):
        def forward(self, x):
            y = x.sin()
            time.sleep(0.2)
            return y.cos()

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x * 2) + 1

    compiled = vitrine.compile(Outer().eval())
    with recorded(tmp_path) as session, torch.no_grad():
        for _ in range(3):  # the first calls compile, and have no price
            compiled(torch.ones(2))
    price = {row["expression"]: row["ns_per_call"] for row in session.rows("graph_break")}
    assert set(price) == {"self.inner(x * 2)", "time.sleep(0.2)"}, price
    assert price["self.inner(x * 2)"] < 2e8 <= price["time.sleep(0.2)"]  # the call of inner holds the sleep


def test_what_a_break_costs_and_calls(tmp_path, capsys):
    import time

    def f(x):
        y = x + 1
        time.sleep(0.002)
        return y * 2

    compiled = vitrine.compile(f)
    with recorded(tmp_path) as session:
        for _ in range(5):
            compiled(torch.ones(2))
    row = session.one("graph_break")
    assert row["calls"] == 5 and row["ns_per_call"] >= 2e6
    assert row["next_segment"] and "sleep" in row["expression"]
    calls = session.rows("call")
    assert [c["kind"] for c in calls] == ["compile"] * 2 + ["hit"] * 8
    assert [c["ordinal"] for c in calls] == list(range(1, 11))
    assert all(c["duration_ns"] > 0 for c in calls) and calls[0]["duration_ns"] > min(c["duration_ns"] for c in calls[2:])


PACKAGE = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)

    def forward(self, x):
        h = self.first(x)
        return torch.sin(h)
"""


def test_a_packages_model_leads_to_its_own_lines(tmp_path, monkeypatch):
    """Of a model that was installed, its own lines tell more than the one line that calls all of it."""
    package = tmp_path / "site-packages" / "installed_net.py"
    package.parent.mkdir()
    package.write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(package.parent))
    import installed_net

    compiled = vitrine.compile(installed_net.Net().eval())
    with recorded(tmp_path) as session, torch.no_grad():
        compiled(torch.randn(2, 8))
    (captured,) = session.rows("graph", stage="captured")
    files = {f["id"]: f["path"] for f in session.rows("file")}
    spans = {s["id"]: (files[s["file"]], s["line"]) for s in session.rows("span")}
    lines = PACKAGE.split("\n")
    told = [lines[spans[n["span"]][1] - 1].strip() for n in session.rows("node", graph=captured["id"], kind="op") if spans[n["span"]][0] == str(package)]
    assert told == ["h = self.first(x)", "return torch.sin(h)"]


def test_a_view_has_no_memory_of_its_own(tmp_path):
    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(torch.nn.Linear(256, 256))(torch.randn(64, 256))
    kinds = {row["kind"]: row["bytes"] for row in session.rows("buffer")}
    views = [row for row in session.rows("launch") if row["kind"] == "view"]
    assert bool(views) == ("view" in kinds) and kinds.get("view", 0) == 0
    assert kinds["parameter"] > 0


def test_operations_are_those_of_the_operator_whatever_memory_it_reads(tmp_path):
    """What a product is given is a view of memory of other sizes: a number spread out, a transposed matrix."""

    def program(x, w):
        return (x @ w).sum() * 2

    with recorded(tmp_path) as session:
        x, w = torch.randn(6, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
        vitrine.compile(program)(x.bfloat16(), w.bfloat16()).backward()
    products = [row for row in session.rows("node", kind="op") if row["op"] == "aten.mm.default"]
    assert len(products) > 6 and {row["flops"] for row in products} == {2 * 6 * 4 * 5}
