"""Each family of generated CUDA kernels once, on small tensors: what compute-sanitizer watches (test_sanitizers.py).

    python -m tests.gpu.kernels.every_family [NAME ...]     says how many kernels ran at the end
"""

import sys

import torch
import torch.nn.functional as F
from tests.gpu.kernels.test_cuda_kernels import compiled
from vitrine import _engine


def random(*shape, dtype=torch.float32):
    return torch.randn(shape, device="cuda").to(dtype)


def norm_backward(grad, x, mean, rstd, weight, bias):
    return torch.ops.aten.native_layer_norm_backward(grad, x, [x.shape[-1]], mean, rstd, weight, bias, [True, True, True])


def norm_inputs(rows, columns, dtype):
    x, weight, bias = random(rows, columns, dtype=dtype), random(columns, dtype=dtype), random(columns, dtype=dtype)
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [columns], weight, bias, 1e-5)
    return random(rows, columns, dtype=dtype), x, mean, rstd, weight, bias


def dropped(x):
    return F.dropout(x * 2, 0.25)


def softmax(x):
    return torch.softmax(x * 0.5, -1)


def log_softmax(x):
    return torch.log_softmax(x, -1)


def several_updates(*tensors):
    return tuple(torch.tanh(t * 0.5) + 1 for t in tensors)


def places(count, *shape):
    return torch.randint(0, count, shape, device="cuda")


def words_gradient(gradient, which):
    return torch.ops.aten.embedding_dense_backward(gradient * 2, which, 3000, 7, False)


def few_words_gradient(gradient, which):
    return torch.ops.aten.embedding_dense_backward(gradient * 2, which, 5, -1, False)


def whole(*shape):
    """Small whole numbers, whose sums are the same in any order."""
    return torch.randint(-2, 3, shape, device="cuda").float()


def turned_norm(x, w):
    return F.layer_norm(x.transpose(1, 2), w.shape, w, w).contiguous()


# name: program, its inputs. The last elements of each lie in no whole run, row or tile.
FAMILIES = {
    "elements": (lambda x: torch.tanh(x) + x.abs(), lambda: [random(37, 129)]),
    "runs of elements": (lambda x: F.gelu(x) * 2, lambda: [random(33, 256, dtype=torch.bfloat16)]),
    "a slice that is not aligned": (lambda x: F.gelu(x) * 2, lambda: [random(33 * 256 + 1)[1:].view(33, 256)]),
    "drawn numbers": (dropped, lambda: [random(100, 65)]),
    "tiles": (lambda x, y: x.t() * 2 + y, lambda: [random(70, 101), random(101, 70)]),
    "tiles of halves": (lambda x, y: x.transpose(1, 2) + y, lambda: [random(2, 70, 96, dtype=torch.float16), random(2, 96, 70, dtype=torch.float16)]),
    "turned rows": (lambda x: torch.softmax(x.transpose(1, 2) * 2, -1).contiguous(), lambda: [random(2, 260, 528)]),
    "turned rows of halves": (turned_norm, lambda: [random(3, 520, 176, dtype=torch.float16), random(520, dtype=torch.float16)]),
    "several rows a block": (softmax, lambda: [random(61, 24)]),
    "a row a warp": (softmax, lambda: [random(61, 256)]),
    "a row a block": (softmax, lambda: [random(11, 4096)]),
    "odd rows": (softmax, lambda: [random(11, 1153)]),
    "rows in shared memory": (log_softmax, lambda: [random(140, 20000, dtype=torch.bfloat16)]),
    "odd rows in shared memory": (log_softmax, lambda: [random(140, 20001)]),
    "long rows": (softmax, lambda: [random(140, 50304)]),
    "long odd rows": (log_softmax, lambda: [random(140, 50257)]),
    "rows longer than a multiprocessor": (softmax, lambda: [random(140, 130001)]),
    "rows longer than all shared memory": (softmax, lambda: [random(140, 700001)]),
    "few long rows": (softmax, lambda: [random(3, 300001)]),
    "variances of long rows": (lambda x: F.layer_norm(x, x.shape[-1:]), lambda: [random(140, 40000)]),
    "columns": (lambda x: x.sum(0), lambda: [random(1001, 77)]),
    "softmax of columns": (lambda x: torch.softmax(x, 0), lambda: [random(301, 77)]),
    "all of it": (lambda x: x.float().sum(), lambda: [random(1 << 20, dtype=torch.float16)]),
    "a norm's gradients": (norm_backward, lambda: norm_inputs(333, 768, torch.float16)),
    "a wide norm's gradients": (norm_backward, lambda: norm_inputs(130, 4096, torch.float32)),
    "an odd norm's gradients": (norm_backward, lambda: norm_inputs(75, 1030, torch.bfloat16)),
    "what is joined": (lambda x, y: torch.cat([x * 2, y], 1) + 1, lambda: [random(33, 40), random(33, 27)]),
    "what is padded": (lambda x: F.pad(x, (3, 5)) * 2, lambda: [random(33, 41)]),
    "what is picked": (lambda i, w: F.embedding(i, w) * 2, lambda: [torch.randint(0, 50, (9, 7), device="cuda"), random(50, 65)]),
    "what is written by index": (lambda x, i, v: x.index_put((i,), v * 2), lambda: [random(70, 33), torch.randperm(70, device="cuda")[:41], random(41, 33)]),
    "what is added by index": (lambda x, i, v: x.index_add(0, i, v * 2), lambda: [whole(70, 33), places(70, 300), whole(300, 33)]),
    "whole runs added by index": (lambda x, i, v: x.index_add(0, i, v * 2), lambda: [whole(70, 64), places(70, 300), whole(300, 64)]),
    "elements added by index": (lambda x, i, v: x.scatter_add(1, i, v), lambda: [whole(70, 33), places(33, 70, 20), whole(70, 20)]),
    "added in order": (lambda x, i, v: x.index_put((i,), v, accumulate=True), lambda: [whole(500, 24), places(500, 701), whole(701, 24)]),
    "a table's gradient": (words_gradient, lambda: [random(5, 301, 130), places(3000, 5, 301)]),
    "a gradient of mostly one row": (words_gradient, lambda: [whole(1501, 33), places(3000, 1501) * (torch.rand(1501, device="cuda") < 0.2)]),
    "a small table's gradient": (few_words_gradient, lambda: [whole(4003, 130), places(5, 4003)]),
    "running sums of rows": (lambda x: (x * 2).cumsum(1), lambda: [random(301, 33)]),
    "running sums of long rows": (lambda x: x.cumsum(1), lambda: [random(140, 4999)]),
    "running products of columns": (lambda x: (x * 0.1 + 1).cumprod(0), lambda: [random(301, 77)]),
    "where the largest is": (lambda x: (*x.max(1), x.argmin(0)), lambda: [random(301, 77)]),
    "the same on many tensors": (several_updates, lambda: [random(n) for n in (5, 300, 1025, 64)]),
}


def run(name: str) -> int:
    """Kernels of the family; its results are eager's."""
    program, make = FAMILIES[name]
    inputs = make()
    plan, constants = compiled(program, *inputs)
    facts = _engine.plan_facts(plan)
    assert facts["kernels"] > 0 and not facts["problems"], facts
    got = _engine.plan_run(plan, [*inputs, *constants])
    torch.cuda.synchronize()
    if program is not dropped:
        expected = program(*inputs)
        for g, e in zip(got, expected if isinstance(expected, (tuple, list)) else [expected]):
            torch.testing.assert_close(g, e, rtol=2e-2, atol=2e-2)
    return facts["kernels"]


def main() -> int:
    kernels, failed = 0, 0
    for name in sys.argv[1:] or FAMILIES:
        try:
            kernels += run(name)
        except Exception as problem:
            failed += 1
            print(f"{name}: {type(problem).__name__}: {problem}", flush=True)
    print(f"done: {kernels} kernels, {failed} failed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
