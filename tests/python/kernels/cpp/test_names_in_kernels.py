"""What a program calls its tensors may mean something in C++ or in a kernel's own text: its kernels compile nevertheless."""

import re

import pytest
import torch
from vitrine import _engine

from tests.python.support.places import ROOT

CPP = ROOT / "core/codegen/cpp"
SPELLED = """inline explicit export friend concept requires mutable virtual volatile noexcept nullptr extern compl bitand xor_eq alignas
    typeid co_await wchar_t asm __bf16 _Float16 v16 w16 u16s INLINE VECTOR exp_sum p_x q_x row_exp acc inv_sum phase0 sum amax""".split()
# Whatever stands before "(" in the functions that kernels begin with.
CALLED = sorted(set(re.findall(r"\b([a-z]\w*)\(", (CPP / "prelude.cpp").read_text())))
NAMES = [*SPELLED, *CALLED, "x", "y"]

# Rows of another order than the result's, a mask, whole numbers, a bf16, and functions of the prelude.
GRAPH = """graph aten {
  %a = placeholder() [source="L['FIRST']"] : f32[5,19]
  %b = placeholder() [source="L['self'].SECOND"] : f32[5,19]
  %k = placeholder() [source="L['THIRD']"] : i64[19,5]
  %s = aten._softmax.default(%a, 1, False) : f32[5,19]
  %t = aten.t.default(%k) : i64[5,19]{1,5}
  %f = aten._to_copy.default(%t, dtype=f32) : f32[5,19]
  %m = aten.mul.Tensor(%s, %f) : f32[5,19]
  %g = aten.gt.Scalar(%b, 0) : bool[5,19]
  %w = aten.where.self(%g, %m, %b) : f32[5,19]
  %l = aten.log1p.default(%m) : f32[5,19]
  %h = aten._to_copy.default(%w, dtype=bf16) : bf16[5,19]
  return %w, %l, %h
}"""


@pytest.mark.parametrize("some", range(4))
def test_any_name_will_do(tmp_path, some):
    a, b, k = torch.randn(5, 19), torch.randn(5, 19), torch.randint(0, 9, (19, 5))
    m = a.softmax(1) * k.t()
    w = torch.where(b > 0, m, b)
    names = NAMES[some::4]
    for first, second, third in zip(names[::3], names[1::3], names[2::3]):
        graph = GRAPH.replace("FIRST", first).replace("SECOND", second).replace("THIRD", third)
        plan = _engine.plan_compile(graph, True, str(tmp_path))
        assert _engine.plan_facts(plan)["problems"] == [], (first, second, third)
        for found, expected in zip(_engine.plan_run(plan, [a, b, k]), (w, m.log1p(), w.bfloat16())):
            torch.testing.assert_close(found, expected)
