"""Programs that earlier processes compiled: found again by what they were made of, each miss with its reason."""

import os
import subprocess
import sys

import pytest
import torch
import vitrine
from tests.python.support.command_line import said
from tests.python.support.kept_programs import cache_in, entries, looked_up
from tests.python.support.recorded import recorded
from vitrine import _engine


@pytest.fixture(autouse=True)
def cache(tmp_path):
    with cache_in(tmp_path / "cache") as folder:
        yield folder



def tiny(x):
    return (x * 3 + 1).relu().sum(-1)


def run(f=tiny, x=None, **options):
    x = torch.linspace(-2, 2, 32).view(4, 8) if x is None else x
    with torch.no_grad():
        result = vitrine.compile(f, **options)(x)
        torch.testing.assert_close(result, f(x))
    return result


def test_a_program_is_found_again():
    assert looked_up(run)[:2] == ({"missed": 1}, "nothing of this code is kept")
    assert looked_up(run)[0] == {"found": 1}


MODEL = """
import torch, vitrine
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32))
x = torch.randn(4, 16)
def step(m):
    m.zero_grad()
    loss = m(x).square().mean()
    loss.backward()
    return [loss.detach()] + [p.grad.clone() for p in model.parameters()]
eager = step(model)
compiled = vitrine.compile(model)
for _ in range(2):
    for a, b in zip(eager, step(compiled), strict=True):
        torch.testing.assert_close(a, b)
from vitrine import _engine
print(_engine.kept_programs())
"""


def test_a_later_process_finds_forward_and_backward(tmp_path, cache):
    (tmp_path / "model.py").write_text(MODEL)
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, tmp_path / "model.py"], env={**os.environ, "VITRINE_CACHE_DIR": str(cache)},
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, said(done)
        told.append(eval(done.stdout))
    assert (told[0]["missed"], told[0]["found"]) == (2, 0)
    assert (told[1]["missed"], told[1]["found"]) == (0, 2), told[1]


def test_operators_of_the_library_and_results_of_all_kinds_are_restored():
    w = torch.randn(8, 8)

    def f(x):
        y = torch.cumsum(x @ w, 0)
        z, where = y.sort(dim=-1)
        return z[:, ::2], where, y.t(), x.view(-1), 5, z.mean(), torch.zeros(0), x.add_(0)

    run_it = lambda: vitrine.compile(f)(torch.linspace(-2, 2, 32).view(4, 8))  # noqa: E731
    changed, _, first = looked_up(run_it)
    assert changed == {"missed": 1}
    changed, _, second = looked_up(run_it)
    assert changed == {"found": 1}
    for a, b in zip(first, second, strict=True):
        assert a == b if isinstance(a, int) else torch.equal(a, b) and a.stride() == b.stride()
    assert (second[6].numel(), second[7]._version) == (0, first[7]._version)


def other_code(x):
    return (x * 3 - 1).relu().sum(-1)


def test_other_code_is_missed():
    looked_up(run)
    other_code.__qualname__ = tiny.__qualname__
    other_code.__code__ = other_code.__code__.replace(co_qualname=tiny.__code__.co_qualname)
    assert looked_up(lambda: run(other_code))[:2] == ({"missed": 1}, "graph")


@pytest.mark.parametrize(
    "x",
    [torch.ones(8, 4), torch.ones(4, 8).double(), torch.ones(8, 4).t(), torch.ones(4, 8, 1)],
    ids=["sizes", "dtype", "strides", "dims"],
)
def test_another_layout_is_missed(x):
    looked_up(run)
    changed, why, _ = looked_up(lambda: run(x=x))
    assert changed == {"missed": 1}
    assert why.endswith("layouts")


def test_another_setting_is_missed_and_named():
    looked_up(run)
    changed, why, _ = looked_up(lambda: run(options={"disabled_passes": ["cse"]}))
    assert (changed, why) == ({"missed": 1}, "settings: disabled_passes cse, was none")
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        changed, why, _ = looked_up(run)
    finally:
        torch.set_num_threads(threads)
    assert (changed, why) == ({"missed": 1}, f"settings: threads {threads + 1}, was {threads}")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"verify": True}, "the graph is verified after each pass"),
        ({"target": "sm_90"}, "it is compiled for a GPU"),
    ],
)
def test_what_is_not_kept_says_why(options, why, cache):
    run_it = lambda: vitrine.compile(tiny, options=options)(torch.ones(4, 8))  # noqa: E731
    try:
        changed, said_why, _ = looked_up(run_it)
    except RuntimeError:  # a GPU's program does not run here
        changed, said_why = {"left_out": 1}, _engine.kept_programs()["why"]
    assert (changed, said_why) == ({"left_out": 1}, why)
    assert not entries(cache)


def damage(path, change):
    whole = bytearray(path.read_bytes())
    path.write_bytes(bytes(change(whole)))


def flip(at):
    def change(content):
        content[at] ^= 1
        return content

    return change


DAMAGE = {
    "first bit": (flip(0), "its seal is not of its name and content"),
    "middle": (lambda c: flip(len(c) // 2)(c), "its seal is not of its name and content"),
    "seal's code": (flip(-48), "its seal is not of its name and content"),
    "seal's length": (flip(-16), "its seal is of another length"),
    "seal's name": (flip(-1), "no seal stands at its end"),
    "cut": (lambda c: c[:-7], "no seal stands at its end"),
    "empty": (lambda c: b"", "it is too short"),
    "longer": (lambda c: c + bytes(100), "no seal stands at its end"),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_entry_is_refused_with_its_reason_and_made_again(how, cache):
    change, why = DAMAGE[how]
    looked_up(run)
    damage(entries(cache)[0], change)
    assert looked_up(run)[:2] == ({"refused": 1}, f"the entry is damaged or somebody else's: {why}")
    assert looked_up(run)[0] == {"found": 1}


def test_the_entry_of_another_program_is_refused(cache):
    looked_up(run)
    [first] = entries(cache)
    looked_up(lambda: run(other_code))
    [other] = set(entries(cache)) - {first}
    first.write_bytes(other.read_bytes())
    changed, why, _ = looked_up(run)
    assert changed == {"refused": 1}
    assert why.endswith("its seal is not of its name and content")


def test_entries_of_another_key_are_not_read(cache, tmp_path):
    """Names and seals are of the user's secret: with another one nothing is found, and nothing is run."""
    (tmp_path / "model.py").write_text(MODEL)
    for state in ("a", "b"):
        env = {**os.environ, "VITRINE_CACHE_DIR": str(cache), "XDG_STATE_HOME": str(tmp_path / state)}
        done = subprocess.run(
            [sys.executable, tmp_path / "model.py"], env=env, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, said(done)
        assert eval(done.stdout)["found"] == 0


def test_a_sealed_entry_that_says_nothing_is_refused(cache):
    """The seal fits, and the bytes are not a program: lengths beyond the file, too."""
    from tests.python.support.kernel_cache import put

    looked_up(run)
    [entry] = entries(cache)
    for content in (b"x", b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", b"\xff" * 40, bytes(1000)):
        put(entry, content)
        changed, why, _ = looked_up(run)
        assert changed == {"refused": 1}
        assert why.startswith("the entry is damaged or somebody else's: ")
        assert "seal" not in why


def test_a_kernel_that_is_gone_is_compiled_again(cache):
    looked_up(run)
    for path in (cache / "kernels").glob("*.so"):
        path.unlink()
    assert looked_up(run)[0] == {"found": 1}


def test_keys_of_misses_may_be_damaged(cache):
    looked_up(run)
    for path in (cache / "programs").glob("*.keys"):
        path.write_bytes(b"?")
    assert looked_up(lambda: run(x=torch.ones(8, 4)))[:2] == ({"missed": 1}, "nothing of this code is kept")


def test_a_session_tells_what_was_found_and_in_what_the_key_differs(tmp_path, cache):
    vitrine.reset()
    with recorded(tmp_path, "first.vitrine") as session:
        run()
    row = session.one("cache")
    assert (row["state"], row["reason"], row["saved_ns"]) == ("missed", "nothing of this code is kept", 0)
    assert row["bytes"] > 100
    vitrine.reset()
    with recorded(tmp_path, "second.vitrine") as session:
        run()
        run(x=torch.ones(2, 3, 8).double())
    found, missed = session.rows("cache")
    assert (found["state"], found["reason"]) == ("found", "")
    assert found["bytes"] > 100
    assert found["saved_ns"] > 0
    assert (missed["state"], missed["reason"]) == ("missed", "layouts")
    shown = subprocess.run(["vitrine", "show", session.path, "cache"], capture_output=True, text=True, timeout=60)
    assert "found" in shown.stdout, said(shown)
    assert "layouts" in shown.stdout


def test_what_is_recorded_is_found_by_what_is_not_recorded(tmp_path):
    vitrine.reset()
    with recorded(tmp_path):
        run()
    assert looked_up(run)[0] == {"found": 1}
