"""mode="reduce-overhead": calls become replays of a CUDA Graph, and nobody can tell but by the clock."""

import contextlib
import sqlite3
import subprocess
import sys

import pytest
import torch
import vitrine
from torch import nn

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)
    yield
    vitrine.reset()


def stack(width=64, depth=4):
    block = lambda: nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))  # noqa: E731
    return nn.Sequential(*(block() for _ in range(depth))).cuda().eval()


def close(got, expected):
    torch.testing.assert_close(got, expected, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_results_of_earlier_calls_stay():
    model = stack()
    compiled = vitrine.compile(model, mode="reduce-overhead")
    calls = []
    for _ in range(8):
        x = torch.randn(8, 64, device="cuda")
        calls.append((x, compiled(x)))
    for x, y in calls:
        close(y, model(x))


@torch.no_grad()
def test_a_weight_changed_in_place_or_moved_is_seen():
    model = stack()
    compiled = vitrine.compile(model, mode="reduce-overhead")
    for call in range(16):
        x = torch.randn(8, 64, device="cuda")
        if call % 5 == 4:
            model[0][0].weight.mul_(1.25)
        if call in (6, 9):
            model[1][0].weight.data = model[1][0].weight.data.clone() * 1.5
        close(compiled(x), model(x))


@torch.no_grad()
def test_another_stream_and_another_size():
    model = stack()
    compiled = vitrine.compile(model, mode="reduce-overhead")
    side = torch.cuda.Stream()
    for call in range(12):
        x = torch.randn(8 if call % 4 else 12, 64, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side if call % 3 == 2 else torch.cuda.current_stream()):
            close(compiled(x), model(x))
        torch.cuda.synchronize()


def test_training_and_random_numbers_run_as_always():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 4)).cuda()
    compiled = vitrine.compile(model, mode="reduce-overhead")
    for seed in range(6):
        x = torch.randn(16, 32, device="cuda")
        grads = []
        for run in (model, compiled):
            torch.manual_seed(seed)
            model.zero_grad()
            run(x).square().sum().backward()
            grads.append([p.grad.clone() for p in model.parameters()])
        torch.testing.assert_close(*grads)
    with torch.no_grad():
        for seed in range(6):
            torch.manual_seed(seed)
            expected = model(x)
            torch.manual_seed(seed)
            torch.testing.assert_close(compiled(x), expected)


@torch.no_grad()
def test_results_that_are_inputs_twice_the_same_or_share_memory():
    def program(x, y):
        z = torch.relu(x @ y) @ y + 1
        z = (z @ y).tanh() @ y
        return z, z, x, z[0]

    compiled = vitrine.compile(program, mode="reduce-overhead")
    for _ in range(6):
        x, y = torch.randn(16, 16, device="cuda"), torch.randn(16, 16, device="cuda")
        a, b, c, d = compiled(x, y)
        close(a, program(x, y)[0])
        assert a is b and c is x
        a[0].zero_()
        assert d.abs().sum() == 0


PROGRAM = """
import torch
torch.manual_seed(0)

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64), torch.nn.LayerNorm(64)

    def forward(self, x, y):
        h = self.a(torch.relu(x * y)) + y
        return self.norm(self.b(torch.tanh(h)) + x), h.sum(-1)

def get_model():
    return Block().cuda().eval()

def get_inputs():
    return torch.randn(32, 64, device="cuda"), torch.randn(32, 64, device="cuda")
"""


def test_what_only_our_kernels_touch_follows_the_call(tmp_path):
    file, session = tmp_path / "block.py", tmp_path / "s.vitrine"
    file.write_text(PROGRAM)
    words = [sys.executable, "-m", "vitrine._tools.run", str(file), "-o", str(session), "--mode", "reduce-overhead"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(session)) as db:
        db.row_factory = sqlite3.Row
        (row,) = db.execute("SELECT * FROM cuda_graph").fetchall()
    assert row["state"] == "recorded", row["reason"]
    assert row["inputs_followed"] >= 2 and row["results_followed"] == 2  # x and y, and what the kernels return
    assert row["inputs_copied"] == row["results_copied"] == row["bytes_copied"] == 0
    assert row["inputs_in_place"] >= 2  # weights of the products


def graph_row(tmp_path, program):
    file, session = tmp_path / "block.py", tmp_path / "s.vitrine"
    file.write_text(program)
    words = [sys.executable, "-m", "vitrine._tools.run", str(file), "-o", str(session), "--mode", "reduce-overhead"]
    assert subprocess.run(words, capture_output=True, text=True).returncode in (0, 3)
    with contextlib.closing(sqlite3.connect(session)) as db:
        (row,) = db.execute("SELECT state, reason FROM cuda_graph").fetchall()
    return row


def test_why_there_is_no_graph_is_recorded(tmp_path):
    state, reason = graph_row(tmp_path, PROGRAM.replace("h = self.a(torch.relu(x * y)) + y", "return x * y"))
    assert state == "none" and "few launches" in reason


def test_numbers_that_pytorch_draws_are_recorded(tmp_path):
    assert graph_row(tmp_path, PROGRAM.replace("torch.tanh(h)", "torch.randn_like(h)"))[0] == "recorded"


@torch.no_grad()
def test_slices_of_a_larger_tensor_follow_too():
    """Inputs that begin anywhere in their storage, some not at a multiple of 16 bytes."""

    def program(x, w, v):
        return torch.relu((x.sin() @ w).cos() @ v).exp() + x

    w, v = torch.randn(48, 48, device="cuda"), torch.randn(48, 48, device="cuda")
    compiled = vitrine.compile(program, mode="reduce-overhead")
    store = torch.randn(40, 48 * 20, device="cuda")
    for call in range(12):
        x = store[call : call + 8].reshape(-1)[call : call + 8 * 48].view(8, 48)
        close(compiled(x, w, v), program(x, w, v))


def trained(model, run, rounds, step):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    seen = []
    for seed in range(rounds):
        torch.manual_seed(seed)
        optimizer.zero_grad()
        seen.append(step(run, seed))
        optimizer.step()
    return seen, [p.detach().clone() for p in model.parameters()]


def once(run, seed):
    loss = run(torch.randn(16, 64, device="cuda")).square().mean()
    loss.backward()
    return loss.detach()


def two_forwards_then_two_backwards(run, seed):
    losses = [run(torch.randn(16, 64, device="cuda")).square().mean() for _ in range(2)]
    for loss in losses:
        loss.backward()
    return sum(losses).detach()


def backward_twice(run, seed):
    loss = run(torch.randn(16, 64, device="cuda")).square().mean()
    loss.backward(retain_graph=True)
    loss.backward()
    return loss.detach()


def some_forwards_without_backward(run, seed):
    for _ in range(seed % 3):
        run(torch.randn(16, 64, device="cuda"))
    return once(run, seed)


def several_sizes(run, seed):
    loss = run(torch.randn(16 if seed % 4 else 24, 64, device="cuda")).square().mean()
    loss.backward()
    return loss.detach()


def gradients_kept_from_round_to_round(run, seed):
    x = torch.randn(16, 64, device="cuda", requires_grad=True)
    loss = run(x).square().mean()
    loss.backward()
    kept.append((x, x.grad))
    return loss.detach() + sum(g.sum() for _, g in kept)


kept: list = []
STEPS = [once, two_forwards_then_two_backwards, backward_twice, some_forwards_without_backward, several_sizes, gradients_kept_from_round_to_round]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.__name__)
def test_training_steps_are_eagers(step):
    results = []
    for compile_it in (False, True):
        kept.clear()
        torch.manual_seed(0)
        model = stack().train()
        run = vitrine.compile(model, mode="reduce-overhead") if compile_it else model
        results.append(trained(model, run, 14, step))
    close(results[1][0], results[0][0])
    torch.testing.assert_close(results[1][1], results[0][1], atol=1e-4, rtol=1e-3)


SCRIPT = """
import torch, vitrine
torch.manual_seed(0)
block = lambda: torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
model = torch.nn.Sequential(*(block() for _ in range(4))).cuda()
compiled = vitrine.compile(model, mode="reduce-overhead")
for _ in range(24):
    model.zero_grad()
    compiled(torch.randn(16, 64, device="cuda")).square().mean().backward()
"""


ATTENTION = """
import torch, vitrine
torch.manual_seed(0)

class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = torch.nn.LayerNorm(64), torch.nn.Linear(64, 192), torch.nn.Linear(64, 64)

    def forward(self, x):
        q, k, v = (t.view(4, 32, 4, 16).transpose(1, 2) for t in self.qkv(self.norm(x)).split(64, dim=2))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(4, 32, 64))

model = torch.nn.Sequential(Attention(), Attention()).cuda()
compiled = vitrine.compile(model, mode="reduce-overhead")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(12):
    optimizer.zero_grad()
    compiled(torch.randn(4, 32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("program", [SCRIPT, ATTENTION], ids=["linear layers", "attention whose inputs are split"])
def test_forward_and_backward_are_recorded(program, tmp_path):
    file, session = tmp_path / "train.py", tmp_path / "s.vitrine"
    file.write_text(program)
    done = subprocess.run([sys.executable, "-m", "vitrine._tools.run", str(file), "-o", str(session)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(session)) as db:
        db.row_factory = sqlite3.Row
        rows = db.execute("SELECT * FROM cuda_graph").fetchall()
    assert [row["state"] for row in rows] == ["recorded"] * 2, [row["reason"] for row in rows]
    assert all(row["results_lent"] > 0 for row in rows)  # what is kept for backward, and gradients
    assert all(row["results_copied"] == 0 for row in rows)


@torch.no_grad()
def test_numbers_are_drawn_after_a_recording_that_failed():
    """An operator that waits for the GPU cannot be recorded; the generator is left as it was."""

    def program(x):
        y = x * 2 + 1
        return torch.linalg.svdvals(y[:5, :5]) * 2, nn.functional.dropout(y.sin() @ y, 0.5)

    results = []
    for run in (program, vitrine.compile(program, mode="reduce-overhead")):
        torch.manual_seed(0)
        results.append([v for _ in range(5) for v in (*run(torch.randn(8, 8, device="cuda")), torch.rand(3, device="cuda"))])
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-4)
