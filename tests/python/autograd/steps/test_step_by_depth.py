"""What a step of a deep model costs grows with its depth and no faster: counts, not times."""

import torch
from torch import nn

import vitrine

from tests.python.support.recorded import recorded


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def make(blocks, compile):
    torch.manual_seed(0)
    model = nn.Sequential(*[Block() for _ in range(blocks)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    @compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return model, step


X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


def same_steps(blocks, calls):
    expected, eager = make(blocks, lambda f: f)
    found, compiled = make(blocks, vitrine.compile)
    for _ in range(calls):
        torch.testing.assert_close(compiled(X), eager(X))
    for a, b in zip(found.parameters(), expected.parameters()):
        torch.testing.assert_close(a, b)


def rows_of_guards(tmp_path, blocks):
    with recorded(tmp_path, f"{blocks}.vitrine") as session:
        same_steps(blocks, calls=3)
    last = session.rows("compilation")[-1]["id"]
    return [g["kind"] for g in session.rows("guard", compilation=last)]


def test_the_second_step_captures_nothing(tmp_path):
    with recorded(tmp_path) as session:
        same_steps(6, calls=5)
    assert len(session.rows("compilation", status="ok")) == 1
    assert not session.rows("recompilation")


def test_guards_grow_with_the_parameters(tmp_path):
    few, some, many = (rows_of_guards(tmp_path, blocks) for blocks in (2, 4, 8))
    assert len(many) - len(some) == 2 * (len(some) - len(few))


def test_a_long_program_is_one_graph():
    def many_calls(x):
        for i in range(20_500):
            y = x + i
        return y

    explained = vitrine.explain(many_calls)(torch.ones(2))
    assert explained.graph_count == 1 and not explained.graph_breaks


def test_kernels_far_apart_are_fused_as_near_ones_are():
    # Long enough for the short ways that fusion takes in a long program.
    same_steps(48, calls=2)
