"""Attention that a program writes out, trained on a GPU: the operators that it becomes, on a machine that may have none."""

import pytest
import torch
from tests.python.support.recorded_program import Program

INFINITY = float("inf")
LENGTH = 512
CUDNN, FLASH, EFFICIENT = (f"aten._scaled_dot_product_{name}_attention" for name in ("cudnn", "flash", "efficient"))


def places():
    return torch.arange(LENGTH)


def plain(q, k, v, _):
    return (q @ k.transpose(-1, -2) * 0.125).softmax(-1) @ v


def rounded_from_float(q, k, v, _):
    return torch.softmax((q @ k.transpose(-1, -2) * 0.125).float(), -1).to(q.dtype) @ v


def causal(q, k, v, _):
    return (q @ k.transpose(-1, -2)).masked_fill(places()[:, None] < places(), -INFINITY).softmax(-1) @ v


def causal_by_a_finite_number(q, k, v, _):
    least = torch.finfo(q.dtype).min
    return torch.where(places()[:, None] >= places(), q @ k.transpose(-1, -2), least).softmax(-1) @ v


def distance(q, k, v, slopes):
    bias = slopes * (places()[:, None] - places()).abs()
    scores = (q @ k.transpose(-1, -2) * 0.125 - bias).masked_fill(places()[:, None] < places(), -INFINITY)
    return torch.softmax(scores.float(), -1).to(q.dtype) @ v


def window(q, k, v, _):
    return (q @ k.transpose(-1, -2)).masked_fill(places()[:, None] > places() + 64, -INFINITY).softmax(-1) @ v


def inputs(dtype=torch.float16, heads=16, length=LENGTH, width=64):
    q, k, v = (torch.randn(2, heads, length, width, dtype=dtype, requires_grad=True) for _ in range(3))
    return q, k, v, torch.rand(heads, 1, 1, dtype=dtype)


def joint_text(function, args):
    joint = Program(function, args, as_if="cuda:0", architecture="sm_90", joints=("own",)).joints["own"]
    assert not isinstance(joint, str), joint
    return joint["graph"]["text"]


def calls(text, name):
    return [line for line in text.splitlines() if f"{name}.default(" in line]


@pytest.mark.parametrize("function", [plain, rounded_from_float, causal, causal_by_a_finite_number, distance, window], ids=lambda f: f.__name__)
def test_it_is_one_call_forward_and_one_backward(function):
    text = joint_text(function, inputs())
    assert len(calls(text, CUDNN)) == len(calls(text, CUDNN + "_backward")) == 1, text
    assert "aten._softmax" not in text and "aten.bmm" not in text, text


@pytest.mark.parametrize("function, flag", [(plain, False), (causal, True), (causal_by_a_finite_number, True), (window, False)])
def test_a_mask_up_to_the_place_is_no_tensor(function, flag):
    (call,) = calls(joint_text(function, inputs()), CUDNN)
    assert ("None, True, 0.0, True" in call) == flag, call


def test_a_query_whose_row_may_see_nothing_is_nan_there():
    text = joint_text(distance, inputs())
    assert "aten.amax.default" in text and "nan" in text, text
    assert "nan" not in joint_text(window, inputs())


@pytest.mark.parametrize("flash", [True, False])
def test_what_the_program_forbids_is_not_chosen(flash):
    backends = torch.backends.cuda
    try:
        backends.enable_cudnn_sdp(False), backends.enable_flash_sdp(flash)
        text = joint_text(plain, inputs())
    finally:
        backends.enable_cudnn_sdp(True), backends.enable_flash_sdp(True)
    assert (len(calls(text, FLASH)), len(calls(text, EFFICIENT))) == (int(flash), 0), text


def of_a_bias(q, k, v, bias):
    return (q @ k.transpose(-1, -2) + bias).softmax(-1) @ v


STAYS = {
    "of 32 bits": lambda: (plain, inputs(torch.float32)),
    "of few scores": lambda: (plain, inputs(heads=8)),
    "whose bias has a gradient": lambda: (of_a_bias, (*inputs()[:3], torch.randn(16, LENGTH, LENGTH, dtype=torch.float16, requires_grad=True))),
}


@pytest.mark.parametrize("case", STAYS)
def test_attention_stays_as_it_is_written(case):
    function, args = STAYS[case]()
    text = joint_text(function, args)
    assert "scaled_dot_product" not in text and "aten.bmm" in text, text


def test_sums_in_a_fixed_order_stay():
    torch.use_deterministic_algorithms(True)
    try:
        assert "scaled_dot_product" not in joint_text(plain, inputs())
    finally:
        torch.use_deterministic_algorithms(False)
