"""What a recompilation says of its cause."""

import collections
import inspect

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def test_the_call_site_is_the_users_line(tmp_path):
    """A module is called through PyTorch's own frames; the line that counts is the user's."""
    model = vitrine.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), dynamic=False)
    with recorded(tmp_path) as session, torch.no_grad():
        model(torch.randn(2, 4))
        line = inspect.currentframe().f_lineno + 1
        model(torch.randn(3, 4))
    assert session.one("recompilation")["call_site"] == f"{__file__}:{line}"


def hints(session):
    return [(row["failed"], row["new_value"], row["hint"]) for row in session.rows("recompilation")]


def test_the_hint_fits_what_happened(tmp_path):
    automatic = vitrine.compile(lambda x: x * 2)
    fixed = vitrine.compile(lambda x: x + 2, dynamic=False)
    with recorded(tmp_path) as session:
        for n in (4, 5, 1):
            automatic(torch.ones(n))
        for n in (4, 5):
            fixed(torch.ones(n))
        with torch.no_grad():
            fixed(torch.ones(5))
    changed, below, anew, mode = hints(session)
    assert changed[0] == "L['x'].size(0) == 4" and "is a symbol from then on" in changed[2]
    assert below[:2] == ("(s0 >= 2, s0: L['x'].size(0)) == True", "False: it is 1") and "Sizes 0 and 1" in below[2]
    assert "dynamic=False compiles each size by itself" in anew[2]
    assert mode[:2] == ("torch.is_grad_enabled() == True", "False") and "grad mode" in mode[2]


def test_a_first_training_step_is_nothing_to_mend(tmp_path):
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], momentum=0.9, dampening=0.1)  # its state is not made before the step

    def step(x):
        if w.grad is not None:
            w.grad = None
        loss = (w * x).sum()
        if loss > 1e9:
            print("diverged")
        loss.backward()
        optimizer.step()

    compiled = vitrine.compile(step)
    with recorded(tmp_path) as session:
        for _ in range(3):
            compiled(torch.ones(3))
    found = hints(session)
    assert len(found) == 2 and all("Nothing to mend" in hint for *_, hint in found), found
    (kind, hint) = next((r["kind"], r["hint"]) for r in session.rows("graph_break") if "backward" in r["reason"])
    assert kind == "real_backward" and "without a break between" in hint


class Layer(torch.nn.Module):
    """Each is another program: the loop has as many turns as the layer's number."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        for _ in range(self.number):
            x = x.sin() + 1
        return x * 2


def train(layers, steps=2):
    x = torch.linspace(-1, 1, 6)
    for _ in range(steps):
        for layer in layers:
            torch.testing.assert_close(layer(x), getattr(layer, "_orig_mod", layer).forward(x))


def test_modules_of_one_class_have_a_limit_each(tmp_path):
    """Twelve layers compiled one by one share their code; each is compiled once, none runs eagerly."""
    layers = [vitrine.compile(Layer(i), dynamic=False, recompile_limit=2) for i in range(12)]
    with recorded(tmp_path) as session:
        train(layers)
    assert len(session.rows("compilation", status="ok")) == 12
    assert {row["kind"] for row in session.rows("call")} == {"compile", "hit"}


def test_layers_made_at_each_call_share_a_limit(tmp_path):
    """What was compiled for a module that is gone counts against the next one's limit: no storm."""
    with recorded(tmp_path) as session, pytest.warns(vitrine.VitrineWarning, match="was compiled 3 times"):
        for i in range(12):
            vitrine.compile(Layer(i), dynamic=False, recompile_limit=3)(torch.ones(2))
    places = collections.Counter(row["segment"] for row in session.rows("compilation", status="ok"))
    assert max(places.values()) == 3


def test_isolated_callables_share_nothing(tmp_path):
    def powers(x, n):
        return [x**i for i in range(n)]

    def compilations(**how):
        vitrine.reset()
        one, other = (vitrine.compile(powers, dynamic=False, recompile_limit=3, **how) for _ in range(2))
        with recorded(tmp_path) as session:
            for n in (2, 3):
                for compiled in (one, other):
                    torch.testing.assert_close(compiled(torch.ones(2), n), powers(torch.ones(2), n))
        return len(session.rows("compilation", status="ok"))

    assert compilations() == 2
    assert compilations(isolate_recompiles=True) == 4


def test_what_is_left_of_a_loop_is_told(tmp_path):
    layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def program(x):
        for layer in layers:
            x = layer(x)
            print(end="")
        return x

    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(program)(torch.ones(2, 4))
    ((failed, now, hint),) = [row for row in hints(session) if "rest(" in row[0]]
    assert now == "0" and "A graph break inside a loop" in hint, (failed, now, hint)


def test_a_size_that_was_asked_of_a_result_is_named_as_its_node(tmp_path):
    def program(x):
        y = torch.cat([x, x * 2])
        return y.reshape(-1) * y.shape[0]

    compiled = vitrine.compile(program, dynamic=True)
    with recorded(tmp_path) as session:
        compiled(torch.ones(3, 4))
    asked = [row["source"] for row in session.rows("symbol") if row["origin"].startswith("computed")]
    assert asked and set(asked) <= {"cat.size(0)", "cat.size(1)"}, asked
