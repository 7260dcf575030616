"""The CPU's attention kernel of our own, against PyTorch's operator and float64."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.recorded import recorded
from vitrine import _engine

SIZES = [(1, 2, 8, 8, 16), (2, 3, 72, 72, 40), (1, 2, 130, 700, 64), (2, 1, 300, 300, 96), (1, 4, 37, 519, 80), (2, 1, 121, 5, 33), (1, 1, 1, 50, 8), (1, 1, 700, 20, 256)]
MASKS = {
    "none": lambda b, h, t, s: None,
    "numbers": lambda b, h, t, s: torch.randn(t, s),
    "choices": lambda b, h, t, s: torch.rand(b, 1, t, s) < 0.3,
    "places": lambda b, h, t, s: torch.randn(b, 1, 1, s),
    "rows": lambda b, h, t, s: torch.randn(1, h, t, 1),
    "nothing is seen": lambda b, h, t, s: (torch.arange(t) % 3 > 0)[:, None].expand(t, s),
}


def attention(q, k, v, mask=None, causal=False):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


def compiled(args, folder):
    """The result, and the kernel that computed it: its text."""
    vitrine.reset()
    with recorded(folder) as session, torch.no_grad():
        result = vitrine.compile(attention)(*args)
    return result, [k["name"] for k in session.rows("kernel")]


@pytest.mark.parametrize("mask", [*MASKS, "causal"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values(sizes, mask, tmp_path):
    torch.manual_seed(0)
    b, h, t, s, d = sizes
    q, k, v = (torch.randn(b, h, n, d) for n in (t, s, s))
    m = None if mask == "causal" else MASKS[mask](b, h, t, s)
    args = (q, k, v, m, mask == "causal")
    result, kernels = compiled(args, tmp_path)
    assert "attention" in kernels
    eager = attention(*args)
    assert result.stride() == eager.stride()
    torch.testing.assert_close(result, eager, atol=2e-6, rtol=1e-4)
    exact = attention(*(x.double() if x is not None and x.is_floating_point() else x for x in (q, k, v, m)), causal=mask == "causal")
    assert (result - exact).abs().max() <= 2 * (eager - exact).abs().max() + 2e-7


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1e30, -1e30])
def test_extreme_scores(value, tmp_path):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 40, 16) for _ in range(3))
    mask = torch.zeros(40, 40)
    mask[3, 5] = mask[7, 39] = mask[39, 0] = value
    result, _ = compiled((q, k, v, mask), tmp_path)
    torch.testing.assert_close(result, (q @ k.mT / 4 + mask).softmax(-1) @ v, equal_nan=True, atol=2e-6, rtol=1e-4)


def test_heads_that_lie_beside_each_other_and_parts_of_a_cache(tmp_path):
    torch.manual_seed(0)
    x, cache = torch.randn(2, 50, 3 * 4 * 24), torch.randn(2, 2, 4, 90, 24)
    q = x.view(2, 50, 3, 4, 24)[:, :, 1].transpose(1, 2)
    args = (q, cache[0, :, :, 7:77], cache[1, :, :, 20:])
    result, kernels = compiled(args, tmp_path)
    assert "attention" in kernels
    torch.testing.assert_close(result, attention(*args), atol=2e-6, rtol=1e-4)
    assert result.stride() == attention(*args).stride()


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_heads_that_share_keys(groups, tmp_path):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, h, 70, 24) for h in (8, groups, groups))

    def grouped(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    vitrine.reset()
    with recorded(tmp_path) as session, torch.no_grad():
        result = vitrine.compile(grouped)(q, k, v)
    assert "attention" in [r["name"] for r in session.rows("kernel")]
    torch.testing.assert_close(result, grouped(q, k, v), atol=2e-6, rtol=1e-4)


def test_one_kernel_for_all_lengths(tmp_path):
    torch.manual_seed(0)
    vitrine.reset()
    function = vitrine.compile(attention, dynamic=True)
    with torch.no_grad():
        for length in (5, 64, 100, 255, 256, 257, 600):
            for causal in (False, True):
                args = (*(torch.randn(2, 3, length, 32) for _ in range(3)), None, causal)
                torch.testing.assert_close(function(*args), attention(*args), atol=2e-6, rtol=1e-4)


@pytest.mark.parametrize("why", ["a row is not in one piece", "wide", "backward"])
def test_what_pytorchs_kernel_computes(why, tmp_path):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 2, 70, 300 if why == "wide" else 32) for _ in range(3))
    if why == "a row is not in one piece":
        k = k.mT.contiguous().mT
    vitrine.reset()
    with recorded(tmp_path) as session:
        if why == "backward":
            q.requires_grad_()
        result = vitrine.compile(attention)(q, k, v)
    assert "attention" not in [r["name"] for r in session.rows("kernel")]
    torch.testing.assert_close(result, attention(q, k, v))


def widths():
    """AVX2's vectors everywhere, AVX-512's where this machine has them."""
    with open("/proc/cpuinfo") as cpu:
        return [16, 8] if "avx512f" in cpu.read() else [8]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(1, 2, 64, 64, 16), (2, 1, 37, 261, 40), (1, 1, 300, 300, 64), (1, 3, 5, 3, 8), (1, 1, 13, 70, 12)], ids=str)
@pytest.mark.parametrize("width", widths())
def test_vectors_of_each_width(width, sizes, causal, tmp_path):
    assert _engine.bridge_init()["ready"]
    torch.manual_seed(0)
    b, h, t, s, d = sizes
    q, k, v, mask = torch.randn(b, h, t, d), torch.randn(b, h, s, d), torch.randn(b, h, s, d), torch.randn(1, 1, t, s)
    inputs = [f"  %{n} = placeholder() : f32[{','.join(map(str, x.shape))}]" for n, x in zip("qkvm", (q, k, v, mask))]
    out = f"f32[{b},{h},{t},{d}], f32[{b},{h},{t}]{{{t * h},1,{h}}}"
    call = f"aten._scaled_dot_product_flash_attention_for_cpu.default(%q, %k, %v, 0.0, {causal}, attn_mask=%m, scale=0.5)"
    text = "\n".join(["graph aten {", *inputs, f"  %y = {call} : {out}", "  return %y", "}"])
    plan = _engine.plan_compile(text, True, str(tmp_path), "", "", "", width)
    assert _engine.plan_facts(plan)["kernels"] == 1 and _engine.plan_facts(plan)["problems"] == []
    (result,) = _engine.plan_run(plan, [q, k, v, mask])
    scores = (q @ k.mT * 0.5 + mask).masked_fill(torch.ones(t, s).triu(1).bool() & causal, float("-inf"))
    torch.testing.assert_close(result, scores.softmax(-1) @ v, atol=2e-6, rtol=1e-4)
