"""Tensors seen without PyTorch's Python interface, against PyTorch's own answers."""

import threading

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from vitrine import _engine


@pytest.fixture(scope="module", autouse=True)
def facts():
    facts = _engine.bridge_init()
    assert facts["ready"], facts
    return facts


def test_every_self_test_passes(facts):
    assert [row for row in facts["tests"] if row[1] != "ok"] == []
    assert facts["version"] == str(torch.__version__)


def tensors():
    base = torch.randn(4, 6, 2)
    leaf = torch.randn(3, 3, requires_grad=True)
    frozen = torch.nn.Parameter(torch.randn(2, 2)).requires_grad_(False)
    with torch.no_grad():
        silent = leaf[0]
    with torch.inference_mode():
        inference = torch.ones(2, 3)
    yield from (base, base[1:, ::2, 1], base.permute(2, 0, 1), base.expand(5, 4, 6, 2), torch.ones(()), torch.ones(0, 3))
    yield from (leaf, leaf * 2, leaf[1], leaf.detach(), silent, frozen, frozen[0], torch.nn.Parameter(torch.ones(2)))
    yield from (torch.ones(3, dtype=dtype) for dtype in (torch.bool, torch.int64, torch.bfloat16, torch.complex64))
    yield from (torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), inference)
    yield torch.randn(3, dtype=torch.complex64).conj()
    yield torch.randn(2, 3, device="meta")
    yield base[1:, 1:][:0]
    yield torch.zeros(2, 1, 3, 1, 2).transpose(0, 2)
    yield torch.zeros(1, 2, 1, 3, 1, 2, dtype=torch.float16)
    yield torch.zeros(8, dtype=torch.uint8).view(torch.float64)
    yield torch.zeros(16, dtype=torch.float8_e5m2)[3:]
    yield type("Sub", (torch.Tensor,), {})(torch.randn(2))


@pytest.mark.parametrize("tensor", list(tensors()))
def test_facts_are_pytorchs(tensor):
    facts = _engine.tensor_facts(tensor)
    assert facts["sizes"] == tuple(tensor.shape)
    assert facts["strides"] == tensor.stride()
    assert facts["offset"] == tensor.storage_offset()
    assert facts["keys"] == torch._C._dispatch_keys(tensor).raw_repr()
    assert facts["requires_grad"] == tensor.requires_grad
    assert facts["storage"] == tensor.untyped_storage()._cdata
    assert facts["data"] == tensor.data_ptr()
    assert facts["plain"] == (type(tensor) in (torch.Tensor, torch.nn.Parameter))


def test_a_lazy_copy_has_memory_of_its_own():
    base = torch.randn(3, 4)
    copy = torch._lazy_clone(base)
    assert _engine.tensor_facts(copy)["data"] not in (0, _engine.tensor_facts(base)["data"])


def test_facts_follow_changes_in_place():
    tensor = torch.arange(12.0)
    for change in (
        lambda: tensor.resize_(3, 4),
        lambda: tensor.t_(),
        lambda: tensor.set_(torch.ones(7)[2:]),
        lambda: setattr(tensor, "data", torch.ones(2, 2, dtype=torch.int8)),
        lambda: tensor.resize_(1, 1, 1, 1, 1, 2),
        lambda: tensor.resize_(1),
        lambda: tensor.resize_(0),
    ):
        change()
        test_facts_are_pytorchs(tensor)


def test_requires_grad_follows_changes():
    tensor = torch.ones(3)
    for wanted in (True, False, True, False):
        tensor.requires_grad_(wanted)
        assert _engine.tensor_facts(tensor)["requires_grad"] is wanted


def test_view_shares_memory():
    base = torch.arange(12.0)
    view = _engine.tensor_view(base[2:], (2, 3), (1, 2), 5)
    assert torch.equal(view, base.as_strided((2, 3), (1, 2), 5))
    view.fill_(7)
    assert base[5] == 7 and base[4] == 4


def test_new_tensor_has_the_type():
    like = torch.empty(2, 3, 4, dtype=torch.float64).transpose(0, 2)
    new = _engine.tensor_empty_like(like)
    assert (new.shape, new.stride(), new.dtype) == (like.shape, like.stride(), like.dtype)
    assert new.data_ptr() != like.data_ptr() and not new.requires_grad


def test_bump_version():
    tensor = torch.ones(2)
    view = tensor[0]
    before = tensor._version
    assert _engine.tensor_bump_version(view)
    assert tensor._version == before + 1


def flags():
    return _engine.global_state()[0]


@pytest.mark.parametrize(
    "change",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: torch.autograd.detect_anomaly(check_nan=False),
        lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        torch.autograd.forward_ad.dual_level,
        lambda: torch.device("cpu"),
        lambda: sdpa_kernel(SDPBackend.MATH),
        lambda: sdpa_kernel([each for name, each in SDPBackend.__members__.items() if name not in ("ERROR", "MATH")]),
    ],
)
def test_global_state_sees(change):
    before = _engine.global_state()
    with change():
        assert _engine.global_state() != before
    assert _engine.global_state() == before


def test_global_state_sees_autocast_type():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = flags()
    with torch.autocast("cpu", dtype=torch.float16):
        assert flags() != first


def test_global_state_sees_settings():
    before = _engine.global_state()
    try:
        torch.set_default_dtype(torch.float64)
        assert _engine.global_state()[1] != before[1]
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("medium")
        assert _engine.global_state()[2] != before[2]
        torch.set_float32_matmul_precision("highest")
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert _engine.global_state()[0] != before[0]
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")
        torch.use_deterministic_algorithms(False)
    assert _engine.global_state() == before


def why():
    return _engine.global_state()[3]


def test_unsupported_states_are_named():
    seen = []
    torch.func.vmap(lambda x: seen.append(why()) or x)(torch.ones(3))
    torch.func.grad(lambda x: seen.append(why()) or x)(torch.tensor(3.0))
    assert all("functorch" in text for text in seen) and len(seen) == 2
    with torch.autograd.forward_ad.dual_level():
        assert "forward-mode" in why()
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        assert "saved-tensor" in why()
    with torch.overrides.BaseTorchFunctionMode():
        assert "function mode" in why()
    with torch.device("cpu"):
        assert why() == ""
    with torch.no_grad():
        assert why() == ""
    assert why() == ""


def test_state_is_per_thread():
    result = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: result.append(flags()))
        thread.start()
        thread.join()
        assert result[0] != flags()


@pytest.mark.parametrize("n,grain", [(0, 1), (1, 1), (1000, 1), (1000, 10000), (100_003, 64)])
def test_parallel_loop_visits_once(n, grain):
    assert _engine.parallel_visits(n, grain) == b"\1" * n
