"""What a program writes to is told apart from all else that it reads by one guard, however much there is."""

import numpy as np
import pytest
import torch
import vitrine
from torch import nn

from tests.python.support.recorded import recorded


class Counters(nn.Module):
    """Writes to every second buffer, and reads all of them."""

    def __init__(self, n):
        super().__init__()
        for i in range(n):
            self.register_buffer(f"b{i}", torch.full((4,), float(i)))
        self.n = n

    def forward(self, x):
        total = x
        for i in range(self.n):
            b = getattr(self, f"b{i}")
            if i % 2:
                b.add_(x)
            total = total + b
        return total


def run_both(make, change):
    """Calls with the buffers apart, then as `change` leaves them, eager and compiled: results and buffers are equal."""
    eager, module = make(), make()
    compiled = vitrine.compile(module)
    for step in range(4):
        if step == 2:
            change(eager), change(module)
        x = torch.full((4,), float(step + 1))
        assert torch.equal(compiled(x), eager(x)), step
        for (name, a), (_, b) in zip(eager.named_buffers(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
            assert torch.equal(a, b), (step, name)


def same_tensor(m):
    m.b3 = m.b2


def same_storage(m):
    m.b3 = m.b2.view(4)


def parts_that_overlap(m):
    whole = torch.arange(6.0)
    m.b3, m.b4 = whole[:4], whole[2:]


def parts_side_by_side(m):
    whole = torch.arange(8.0)
    m.b3, m.b4 = whole[:4], whole[4:]


def one_memory_of_two_storages(m):
    whole = np.arange(6, dtype=np.float32)
    m.b1, m.b8 = torch.from_numpy(whole[:4]), torch.from_numpy(whole[2:])


def two_that_are_only_read(m):
    m.b2 = m.b4


@pytest.mark.parametrize(
    "change", [same_tensor, same_storage, parts_that_overlap, parts_side_by_side, one_memory_of_two_storages, two_that_are_only_read]
)
def test_buffers_that_come_to_share_memory_are_noticed(change):
    run_both(lambda: Counters(12), change)


def test_guards_grow_with_the_buffers_and_no_faster(tmp_path):
    alias = {}
    for n in (10, 80):
        module = Counters(n)
        with recorded(tmp_path, f"{n}.vitrine") as session:
            vitrine.compile(module)(torch.ones(4))
        guards = session.rows("guard")
        alias[n] = [g for g in guards if g["kind"] == "alias"]
        assert len(guards) < 20 * n
    assert len(alias[10]) == len(alias[80])
    storages = [g for g in alias[80] if "memory" in g["expected"]]
    assert len(storages) == 1 and storages[0]["changed"] == 40
    assert len(storages[0]["members"].split("\n")) == 81  # with the argument


def test_objects_that_a_program_changes_are_told_apart():
    def f(states, x):
        for state in states:
            state["n"] = state["n"] + 1
            state["x"] = x * state["n"]
        return x

    compiled = vitrine.compile(f)
    for same in (False, False, True, False):
        made = [[{"n": i} for i in range(30)] for _ in range(2)]
        if same:
            for states in made:
                states[7] = states[23]
        x = torch.ones(2)
        compiled(made[0], x), f(made[1], x)
        for a, b in zip(*made):
            assert a["n"] == b["n"] and torch.equal(a["x"], b["x"])
