"""Programs whose sizes are expressions, found by later processes: for any sizes, with gradients, whole steps."""

import os
import random
import subprocess
import sys

import pytest
import torch
import vitrine
from tests.python.support.command_line import said
from tests.python.support.kept_programs import cache_in, entries, looked_up
from tests.python.support.recorded import recorded


@pytest.fixture(autouse=True)
def cache(tmp_path):
    with cache_in(tmp_path / "cache") as folder:
        yield folder


HEAD = """
import sys, torch, vitrine
from vitrine import _engine
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32))
sizes = [int(n) for n in sys.argv[1:]]
def same(a, b):
    torch.testing.assert_close(a, b)
"""

PROGRAMS = {
    "inference": """
compiled = vitrine.compile(model, dynamic=True)
with torch.no_grad():
    for n in sizes:
        x = torch.randn(n, 16)
        same(compiled(x), model(x))
""",
    "after a change": """
compiled = vitrine.compile(model)
with torch.no_grad():
    for n in sizes:
        x = torch.randn(2, n, 16)
        same(compiled(x), model(x))
""",
    "marked": """
def f(x):
    return torch.cat([x, x * 2]).softmax(0).sum(0)
compiled = vitrine.compile(f)
for n in sizes:
    x = torch.randn(n, 5)
    torch._dynamo.mark_dynamic(x, 0)
    same(compiled(x), f(x))
""",
    "gradients": """
compiled = vitrine.compile(model, dynamic=True)
for n in sizes:
    x = torch.randn(n, 16, requires_grad=True)
    grads = []
    for m in (model, compiled):
        model.zero_grad()
        x.grad = None
        (m(x) * x.repeat(1, 2)).tanh().sum().backward()
        grads.append([x.grad, *(p.grad.clone() for p in model.parameters())])
    for a, b in zip(*grads, strict=True):
        same(a, b)
""",
    "whole step": """
import copy
twin = copy.deepcopy(model)
def make(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3)
    def step(x):
        optimizer.zero_grad()
        loss = (model(x) * x.repeat(1, 2)).tanh().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step
eager, compiled = make(twin), vitrine.compile(make(model), dynamic=True)
for n in sizes:
    x = torch.randn(n, 16)
    same(compiled(x), eager(x))
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        same(a, b)
""",
    "sizes of data": """
def f(x):
    rows = x[x[:, 0] > 0]
    return (rows * 2).tanh(), rows.sum(0)
compiled = vitrine.compile(f)
for n in sizes:
    x = torch.randn(4 * n, 6)
    for a, b in zip(compiled(x), f(x), strict=True):
        same(a, b)
""",
}
TAIL = "\nprint(_engine.kept_programs())\n"


def run(path, cache, *sizes):
    done = subprocess.run(
        [sys.executable, path, *(str(n) for n in sizes)], env={**os.environ, "VITRINE_CACHE_DIR": str(cache)},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, said(done)
    return eval(done.stdout)


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_later_process_finds_what_serves_all_sizes(what, tmp_path, cache):
    path = tmp_path / "program.py"
    path.write_text(HEAD + PROGRAMS[what] + TAIL)
    first = run(path, cache, 4, 6, 9, 33)
    assert (first["found"], first["left_out"]) == (0, 0), first
    assert first["missed"] > 1
    again = run(path, cache, 4, 6, 9, 33, 4, 17)
    assert (again["missed"], again["refused"], again["left_out"]) == (0, 0, 0), again
    assert again["found"] == first["missed"]


def test_it_is_found_for_other_first_sizes(tmp_path, cache):
    path = tmp_path / "program.py"
    path.write_text(HEAD + PROGRAMS["gradients"] + TAIL)
    assert run(path, cache, 4, 6, 9)["missed"] == 4
    other = run(path, cache, 5, 12, 100)
    assert (other["missed"], other["found"]) == (2, 2)  # those of the numbers 5, and those of all sizes


def split(x):
    return x.view(x.shape[0] // 2, 2, x.shape[1]).sum(1).relu()


def calls(f, *sizes, **options):
    compiled = vitrine.compile(f, dynamic=True, **options)
    for n in sizes:
        x = torch.randn(n, 6)
        torch.testing.assert_close(compiled(x), f(x))


def test_another_setting_is_named():
    looked_up(lambda: calls(split, 4, 6))
    assert looked_up(lambda: calls(split, 4, 6))[0] == {"found": 2}
    changed, why, _ = looked_up(lambda: calls(split, 4, 6, options={"disabled_passes": ["cse"]}))
    assert (changed, why) == ({"missed": 2}, "settings: disabled_passes cse, was none")


def test_other_code_is_missed():
    def other(x):
        return x.view(x.shape[0] // 2, 2, x.shape[1]).sum(1).tanh()

    looked_up(lambda: calls(split, 4, 6))
    other.__qualname__ = split.__qualname__
    other.__code__ = other.__code__.replace(co_qualname=split.__code__.co_qualname)
    assert looked_up(lambda: calls(other, 4, 6))[:2] == ({"missed": 2}, "graph")


def test_other_ranges_are_missed_and_named():
    def f(x):
        return (x * 2).sum(0)

    def marked(**how):
        compiled = vitrine.compile(f)
        for n in (4, 6):
            x = torch.randn(n, 6)
            vitrine.mark_dynamic(x, 0, **how)
            torch.testing.assert_close(compiled(x), f(x))

    looked_up(lambda: marked())
    changed, why, _ = looked_up(lambda: marked(max=64))
    assert changed == {"found": 1, "missed": 1}
    assert why == "sizes: s0 [2, 64], was [2, inf]"


def sized_entries(cache):
    """Entries of programs with expressions: the others are those of the first sizes."""
    before = set(entries(cache))
    looked_up(lambda: calls(split, 4))
    first = set(entries(cache))
    looked_up(lambda: calls(split, 4, 6))
    return sorted(set(entries(cache)) - first - before)


def test_an_entry_with_a_changed_bit_is_refused_wherever_it_is(cache):
    seed = int(os.environ.get("VITRINE_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print("VITRINE_TEST_SEED", seed)
    rng = random.Random(seed)
    [entry] = sized_entries(cache)
    whole = entry.read_bytes()
    rounds = 12
    for round in range(rounds):  # one in each part of the file
        at = rng.randrange(round * len(whole) // rounds, (round + 1) * len(whole) // rounds)
        entry.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        changed, why, _ = looked_up(lambda: calls(split, 4, 6, 10))
        assert changed == {"found": 1, "refused": 1}, (seed, at)
        assert why.startswith("the entry is damaged or somebody else's: "), (seed, at)
    assert looked_up(lambda: calls(split, 4, 6, 10))[0] == {"found": 2}


def test_a_sealed_entry_that_is_no_program_is_refused(cache):
    """The seal fits, and the bytes end early or say other numbers."""
    from tests.python.support.kernel_cache import content, put

    [entry] = sized_entries(cache)
    whole = content(entry)
    for part in (whole[:-1], whole[: len(whole) // 2], whole + b"\0", b"\xff" * len(whole)):
        put(entry, part)
        changed, why, _ = looked_up(lambda: calls(split, 4, 6))
        assert changed == {"found": 1, "refused": 1}
        assert why.startswith("the entry is damaged or somebody else's: ")
        assert "seal" not in why


def test_a_session_tells_of_programs_for_all_sizes(tmp_path, cache):
    for state, reason in (("missed", "for all sizes: "), ("found", "for all sizes")):
        vitrine.reset()
        with recorded(tmp_path, f"{state}.vitrine") as session:
            calls(split, 4, 6)
        first, sized = session.rows("cache")
        assert (first["state"], sized["state"]) == (state, state)
        assert sized["reason"].startswith(reason)
        assert sized["compilation"] == first["compilation"]


def test_a_gpus_program_says_why_it_is_left_out():
    compiled = vitrine.compile(split, dynamic=True, options={"target": "sm_90"})

    def run_it():
        for n in (4, 6):
            try:
                compiled(torch.randn(n, 6))
            except RuntimeError:  # it does not run here
                pass

    changed, why, _ = looked_up(run_it)
    assert set(changed) == {"left_out"}
    assert why == "it is compiled for a GPU"
