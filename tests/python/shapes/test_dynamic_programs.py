"""Programs over sizes: each keeps to one compilation for all of them, gives what eager gives, and is captured as the same
graph at any size."""

import math
import operator
import re

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.recorded import recorded

PROGRAMS = {
    "views": lambda x: x.view(x.shape[0], 1, 3).transpose(0, 1).flatten(0, 1) + 1,
    "view as": lambda x: (x * 1).reshape(-1).view_as(x) + 1,
    "minus one": lambda x: x.reshape(-1, 1) * 2,
    "sizes joined": lambda x: torch.zeros(x.shape[:1] + (3,)) + x.reshape(*x.shape[:-1], -1).sum(),
    "sizes compared": lambda x: x + 1 if x.shape == (x * 2).shape and x.shape != (1, 1) else x,
    "product of sizes": lambda x: x.reshape(math.prod(x.shape)) + x.shape.numel(),
    "sum of sizes": lambda x: x + sum(x.shape) + operator.mul(x.shape[0], 2),
    "largest and least": lambda x: x[: min(x.shape[0], 3)] + max(x.shape[0], 3) + abs(-x.shape[0]),
    "shifts": lambda x: x[: x.shape[0] >> 1] + (x.shape[0] << 1),
    "types of sizes": lambda x: x + 1 if isinstance(x.shape[0], int) and not isinstance(len(x), torch.Tensor) else x,
    "quotient and rest": lambda x: x + divmod(x.shape[0], 2)[0] + x.shape[0] % 7,
    "tensor of a size": lambda x: x * torch.tensor(x.shape[0]) + torch.tensor(x.shape[0], dtype=torch.float32),
    "arange": lambda x: torch.arange(x.shape[0]) + x.sum() + torch.arange(x.shape[0] - 2, x.shape[0]).sum(),
    "slices": lambda x: x[x.shape[0] // 2 :] .sum() + x[::2].sum() + x[1 : x.shape[0] - 1] + x[x.shape[0] - 1],
    "narrow": lambda x: x.narrow(0, 1, x.shape[0] - 1) + 1,
    "cat": lambda x: torch.cat([x, x[1:], x.new_zeros(x.shape[0], 3)]) + 1,
    "stack": lambda x: torch.stack(x.unbind(1)) + 1,
    "expand": lambda x: torch.ones(1, 3).expand(x.shape[0], 3) + x,
    "repeat": lambda x: x.repeat(2, 1) + 1,
    "roll": lambda x: x.roll(1, 0) + 1,
    "padding to eight": lambda x: F.pad(x, (0, 0, 0, 8 - x.shape[0] % 8)) + 1,
    "unfold": lambda x: x.unfold(0, 2, 1) + 1,
    "matmul": lambda x: x @ x.t() @ x + torch.eye(x.shape[0]) @ x,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x) + 1,
    "bmm": lambda x: torch.bmm(x[None].expand(2, -1, -1), x.t()[None].expand(2, -1, -1)) + 1,
    "reductions": lambda x: x.sum(0) + x.mean(0) + x.amax(0) + x.std(0) + x.numel(),
    "softmax": lambda x: F.softmax(x, 0) + F.log_softmax(x.sum(1), 0)[:, None],
    "norms": lambda x: F.layer_norm(x, (3,)) + F.normalize(x, dim=0),
    "cumulative": lambda x: x.cumsum(0) + x.flip(0),
    "sorted": lambda x: x.sort(0)[0] + x.topk(1, 0)[0] + x.argmax(0),
    "gather": lambda x: x.gather(0, torch.zeros(x.shape[0], 3, dtype=torch.int64)) + 1,
    "embedding": lambda x: F.embedding(torch.arange(x.shape[0]), torch.ones(64, 3)) + x,
    "mask by position": lambda x: x * (torch.arange(x.shape[0]) < 2)[:, None],
    "causal mask": lambda x: (x @ x.t()).masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -1e9).softmax(-1) @ x,
    "attention": lambda x: F.scaled_dot_product_attention(*[x.repeat(1, 2).view(1, len(x), 2, 3).transpose(1, 2)] * 3),
    "conv1d": lambda x: F.conv1d(x.t()[None], torch.ones(2, 3, 2), padding=1).relu(),
    "conv2d": lambda x: F.conv2d(x[None, None].expand(1, 1, -1, 3), torch.ones(1, 1, 3, 3), padding=1).relu(),
    "pooling": lambda x: F.max_pool1d(x.t()[None], 2) + F.adaptive_avg_pool1d(x.t()[None], 1),
    "interpolate": lambda x: F.interpolate(x[None, None], size=(x.shape[0] * 2, 6)) + 1,
    "meshgrid": lambda x: torch.meshgrid(torch.arange(len(x)), torch.arange(3), indexing="ij")[0] + 1,
    "linspace": lambda x: torch.linspace(0, 1, x.shape[0])[:, None] + x,
    "mean by count": lambda x: x.sum() / x.numel() + x.sum(0) / x.shape[0],
    "loop over another size": lambda x: sum(x[:, i] for i in range(x.shape[1])),
    "checked": lambda x: (torch._check(x.shape[0] > 1), x + 1)[1],
}


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def rows(n):
    return torch.randn(n, 3)


@torch.no_grad()
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_compilation_for_all_sizes(name, tmp_path):
    program = PROGRAMS[name]
    compiled = vitrine.compile(program)
    with recorded(tmp_path) as session:
        for n in (6, 7, 9, 12, 7, 30):
            x = rows(n)
            torch.testing.assert_close(compiled(x), program(x), check_stride=True)
    # one for the first size, one with symbols
    assert len([c for c in session.rows("compilation") if c["status"] == "ok"]) == 2
    assert not [s["fixed_by"] for s in session.rows("symbol") if s["fixed_by"] and s["hint"] == 7]


def without_numbers(text):
    return re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "#", text)


def graphs_at(program, args, folder, name):
    """All nodes and edges of all graphs of a compilation, but for their numbers."""
    vitrine.reset()
    with recorded(folder, name) as session:
        vitrine.compile(program, dynamic=True)(*args)
    out = []
    for graph in session.rows("graph"):
        out.append((graph["stage"], graph["name"] if "name" in graph else ""))
        for node in session.rows("node", graph=graph["id"]):
            out.append((node["kind"], node["op"], without_numbers(str(node.get("type", "")))))
    edges = len(session.rows("edge"))
    guards = [without_numbers(g["source"] + g["kind"] + g["expected"]) for g in session.rows("guard")]
    asked = [without_numbers(g["text"]) for g in session.rows("symbol_guard")]
    return out, edges, guards, asked


@torch.no_grad()
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_hints_give_the_same_graphs(name, tmp_path):
    at = [graphs_at(PROGRAMS[name], (rows(n),), tmp_path, f"{n}.vitrine") for n in (24, 40)]
    assert at[0] == at[1]


def test_training_with_changing_batches(tmp_path):
    def make():
        torch.manual_seed(1)
        return torch.nn.Sequential(
            torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)
        )

    models = make(), make()
    steps = [torch.optim.SGD(m.parameters(), lr=0.1) for m in models]
    compiled = vitrine.compile(models[0])
    with recorded(tmp_path) as session:
        for n in (8, 5, 13, 1, 8, 21, 2, 5, 34, 13):
            x, target = torch.randn(n, 6), torch.arange(n) % 3
            losses = []
            for run, step in zip((compiled, models[1]), steps):
                step.zero_grad()
                loss = F.cross_entropy(run(x), target)
                loss.backward()
                step.step()
                losses.append(loss.detach())
            torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-5)
    for mine, eager in zip(models[0].parameters(), models[1].parameters()):
        torch.testing.assert_close(mine, eager, rtol=1e-4, atol=1e-5)
    assert len(session.rows("recompilation")) == 2  # sizes that change, and one row


def test_more_sizes_than_are_kept(tmp_path):
    """Each size comes once, then each again: few compilations, and never anything but eager's result."""

    class Below(torch.nn.Module):
        def forward(self, x):
            return x.exp() + 1

    below = Below()

    def program(x):
        return below(x) * 2

    compiled = vitrine.compile(program)
    with torch.no_grad(), recorded(tmp_path) as session:
        for _ in range(3):
            for n in range(2, 90):
                x = rows(n)
                torch.testing.assert_close(compiled(x), program(x))
    assert len(session.rows("compilation")) == 2
    assert {"compile", "sizes"} <= {row["kind"] for row in session.rows("call")}


@pytest.mark.parametrize("grad", [False, True])
def test_results_that_are_views_at_some_sizes_alone(grad):
    """Of more than 25 rows cdist gives a view of what it computed, of fewer ones it does not."""

    def program(x):
        return torch.cdist(x, x + 1)

    compiled = vitrine.compile(program)
    for n in (33, 35, 16, 40, 3, 31):
        x = rows(n).requires_grad_(grad)
        torch.testing.assert_close(compiled(x), program(x))


def test_generation_with_a_growing_cache(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=40, n_positions=64, bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config).eval()

    def generate(step, count):
        cache, ids, out = None, torch.arange(5)[None], []
        for _ in range(count):
            result = step(ids, past_key_values=cache, use_cache=True)
            cache, ids = result.past_key_values, result.logits[:, -1:].argmax(-1)
            out.append(ids)
        return torch.cat(out, 1)

    compiled = vitrine.compile(model)
    with torch.no_grad(), recorded(tmp_path) as session:
        expected = generate(model, 12)
        assert torch.equal(generate(compiled, 12), expected)
        assert torch.equal(generate(compiled, 12), expected)
    # the prompt, the first token, the others
    assert len([c for c in session.rows("compilation") if c["status"] == "ok"]) == 3
