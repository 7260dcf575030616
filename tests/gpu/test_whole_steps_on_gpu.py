"""Whole training steps on a GPU: values are eager's with a learning rate that changes and dropout; replays of a graph."""

import contextlib
import shutil
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
    yield
    vitrine.reset()


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_whole_steps_with_a_learning_rate_that_changes(name, mode):
    make = {
        "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    }[name]
    results = []
    for compile_it in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.2)) for _ in range(4))).cuda().train()
        optimizer = make(model.parameters())

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run = vitrine.compile(step, mode=mode) if compile_it else step
        losses = []
        for i in range(12):
            optimizer.param_groups[0]["lr"] = 0.01 / (i + 1)
            torch.manual_seed(i)
            versions = [p._version for p in model.parameters()]
            losses.append(run(torch.randn(16, 64, device="cuda")).detach())
            assert all(p._version > v for p, v in zip(model.parameters(), versions))
        state = [{k: torch.as_tensor(v).cpu() for k, v in optimizer.state[p].items()} for p in model.parameters()]
        results.append((losses, [p.detach().clone() for p in model.parameters()], state))
    torch.testing.assert_close(results[1], results[0], atol=1e-4, rtol=1e-3)


STEP = """
import torch, vitrine
torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()) for _ in range(4))).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
def step(x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss
compiled = vitrine.compile(step, mode="reduce-overhead")
for i in range(10):
    optimizer.param_groups[0]["lr"] = 0.01 / (i + 1)
    compiled(torch.randn(16, 64, device="cuda"))
"""


@pytest.mark.skipif(not shutil.which("vitrine-cc"), reason="without vitrine-cc PyTorch mixes the host's numbers with the GPU's tensors")
def test_a_whole_step_is_recorded(tmp_path):
    file, session = tmp_path / "train.py", tmp_path / "s.vitrine"
    file.write_text(STEP)
    done = subprocess.run([sys.executable, "-m", "vitrine._tools.run", str(file), "-o", str(session)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(session)) as db:
        rows = db.execute("SELECT state, reason FROM cuda_graph").fetchall()
        spaces = {space for (space,) in db.execute("SELECT space FROM kernel")}
    assert "recorded" in {state for state, _ in rows}, rows
    assert any(space.startswith("8 tensors of") for space in spaces)
