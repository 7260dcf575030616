"""Once torch.compile was used in the process, PyTorch notes every new module in weak dicts and marks functions of its own
library. Programs are captured as before; what the user marked stays marked."""

import subprocess
import sys

import pytest
import torch
from tests.python.autograd.steps.test_whole_step import X, Y, network, training
from torch import nn

import vitrine


@pytest.fixture(scope="module", autouse=True)
def torch_compile_was_used():
    model = nn.Linear(8, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    torch.compile(training(model, optimizer), backend="eager")(X, Y)


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.AdamW, torch.optim.Adam], ids=lambda o: o.__name__)
def test_optimizers_break_no_more_often(make):
    model = network()
    optimizer = make(model.parameters(), lr=0.1)
    step = training(model, optimizer)
    assert hasattr(type(optimizer)._init_group, "_torchdynamo_disable")
    reasons = [str(reason) for reason in vitrine.explain(step)(X, Y).graph_break_reasons]
    assert not any("marked" in reason or "noticed" in reason for reason in reasons), reasons


def test_a_new_module_is_let_go():
    def program(x):
        model = nn.Linear(8, 4)
        y = model(x)
        model = None
        return y + 1

    def swapped(x, model):
        y = model(x)
        model = None
        return y + 1

    assert not any("noticed" in str(r) for r in vitrine.explain(program)(X).graph_break_reasons)
    assert vitrine.explain(swapped)(X, nn.Linear(8, 4)).graph_break_count == 0


def test_what_the_user_disabled_stays():
    @torch._dynamo.disable
    def island(x):
        return x * 2

    clip = torch._dynamo.disable(nn.functional.gelu)

    def program(x):
        return clip(island(x + 1) + 1) + 1

    reasons = vitrine.explain(program)(X).graph_break_reasons
    assert len(reasons) == 2 and all("is marked torch.compiler.disable" in str(reason) for reason in reasons)


COUNTING = """
import sys
import torch
import vitrine
from torch.nn.attention.flex_attention import flex_attention

def program(q, k, v):
    seen = []

    def score(s, b, h, i, j):
        seen.append(1)
        return s * 2

    return flex_attention(q, k, v, score_mod=score), len(seen) > 0

for function in (program, vitrine.compile(program)):
    try:
        function(*(torch.ones(1, 2, 16, 8) for _ in range(3)))
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""


def test_what_flex_attention_refuses_is_refused():
    """In a process of its own: PyTorch's compiler, which flex_attention calls, leaves its frame hook behind then."""
    said = subprocess.run([sys.executable, "-c", COUNTING], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == 2 and said[0] == said[1] and "side effect" in said[0], said
