"""`vitrine run` of a program that changes what it holds: eager's run and the compiled one begin alike."""

import re

import pytest
from tests.python.support.command_line import said, vitrine, write

STEP = "o.zero_grad(); l = loss_of(x); l.backward(); o.step(); "
MADE = "m = torch.nn.Linear(4, 4); o = torch.optim.AdamW(m.parameters(), 0.1)"
PROGRAMS = {
    "closure": f"""
def get_model():
    {MADE}
    def loss_of(x): return m(x).square().mean()
    def step(x):
        {STEP}return l
    return step
def get_inputs(): return (torch.ones(2, 4),)
""",
    "globals": f"""
{MADE}
sched = torch.optim.lr_scheduler.StepLR(o, 2)
def loss_of(x): return m(x).square().mean()
def model(x):
    {STEP}sched.step(); return l
inputs = (torch.ones(2, 4),)
""",
    "a container and an object": """
class Counter:
    n = 1
counter, seen = Counter(), {"n": torch.zeros(())}
def model(x):
    counter.n += 1
    seen["n"] = seen["n"] + 1
    return x * seen["n"] * counter.n
inputs = (torch.ones(2, 4),)
""",
}


def run(folder, text):
    path = write(folder, "program.py", "import torch\ntorch.manual_seed(0)\n" + text)
    return vitrine("run", path, "-o", folder / "program.vitrine", "--repeats", 1)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_it_is_copied(tmp_path, kind):
    result = run(tmp_path, PROGRAMS[kind])
    assert result.returncode == 0, said(result)
    assert re.search("(equal|close) to eager|equal", result.stdout) and "differ" not in said(result)


def test_what_cannot_be_copied_is_said_to_be_the_programs(tmp_path):
    result = run(tmp_path, "def model(x):\n    torch.calls = getattr(torch, 'calls', 0) + 1\n    return x * torch.calls\ninputs = (torch.ones(2, 4),)\n")
    assert result.returncode == 0, said(result)
    assert "changes what could not be copied" in said(result) and "error:" not in said(result)
