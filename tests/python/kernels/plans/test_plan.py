"""Plans against eager: what a compiled graph returns, writes, and leaves alone when it fails."""

import pytest
import torch

import vitrine
from vitrine import _engine


@pytest.fixture(scope="module", autouse=True)
def ready():
    assert _engine.bridge_init()["ready"]


def compiled(text, fuse=False):
    return _engine.plan_compile(text, fuse)


def run(text, *inputs):
    return _engine.plan_run(compiled(text), list(inputs))


LINEAR = """graph aten {
  %x = placeholder() : f32[8,64]
  %w = parameter() : f32[32,64]
  %b = parameter() : f32[32]
  %t = aten.t.default(%w) : f32[64,32]{1,64}
  %addmm = aten.addmm.default(%b, %x, %t) : f32[8,32]
  %relu = aten.relu.default(%addmm) : f32[8,32]
  return %relu
}"""


@pytest.mark.parametrize("fuse", [False, True])
def test_operators_run_in_order(fuse):
    x, w, b = torch.randn(8, 64), torch.randn(32, 64), torch.randn(32)
    (out,) = _engine.plan_run(compiled(LINEAR, fuse), [x, w, b])
    assert torch.equal(out, torch.relu(torch.nn.functional.linear(x, w, b)))
    assert not out.requires_grad


def test_other_sizes_than_the_rule_says_are_no_result():
    """They could be broadcast to what is expected, and every number would be wrong."""
    text = """graph aten {
  %x = placeholder() : f32[4,6]
  %unique = aten._unique2.default(%x) : f32[6], i64[0], i64[0]
  %add = aten.add.Tensor(%x, %unique) : f32[4,6]
  return %add
}"""
    with pytest.raises(RuntimeError, match="other sizes"):
        run(text, torch.ones(4, 6))
    x = torch.arange(24.0).view(4, 6) % 6
    assert torch.equal(run(text, x)[0], x + torch.arange(6.0))


def test_keywords_words_lists_and_several_outputs():
    text = """graph aten {
  %x = placeholder() : f32[4,6]
  %y = placeholder() : f32[4,6]
  %half = aten._to_copy.default(%x, dtype=f16) : f16[4,6]
  %cat = aten.cat.default([%x, %y], 1) : f32[4,12]
  %max = aten.max.dim(%cat, 1, True) : f32[4,1], i64[4,1]
  %add = aten.add.Tensor(%x, %y, alpha=2) : f32[4,6]
  %full = aten.full.default([2, 3], 1.5, dtype=f32, device=cpu, pin_memory=False) : f32[2,3]
  return %half, %max, %max.1, %add, %full
}"""
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    half, values, places, add, full = run(text, x, y)
    expected = torch.cat([x, y], 1).max(1, keepdim=True)
    assert half.dtype == torch.float16 and torch.equal(half, x.half())
    assert torch.equal(values, expected.values) and torch.equal(places, expected.indices)
    assert torch.equal(add, x + 2 * y)
    assert torch.equal(full, torch.full((2, 3), 1.5))


def test_an_input_may_be_a_result():
    x = torch.randn(3)
    assert run("graph aten {\n  %x = placeholder() : f32[3]\n  return %x\n}", x)[0] is x


INPLACE = """graph aten {
  %x = placeholder() : f32[4]
  %i = placeholder() : i64[2]
  %add_ = aten.add_.Tensor(%x, 1.0) : f32[4]
  %pick = aten.index_select.default(%x, 0, %i) : f32[2]
  return %pick
}"""


def test_a_write_to_an_input_is_seen():
    x = torch.zeros(4)
    before = x._version
    (out,) = run(INPLACE, x, torch.tensor([0, 3]))
    assert out.tolist() == [1, 1] and x.tolist() == [1, 1, 1, 1]
    assert x._version > before


def test_a_failing_call_takes_its_writes_back():
    x = torch.zeros(4)
    with pytest.raises(IndexError):
        run(INPLACE, x, torch.tensor([0, 9]))
    assert x.tolist() == [0, 0, 0, 0]


RANDOM = """graph aten {
  %x = placeholder() : f32[4]
  %i = placeholder() : i64[2]
  %rand = aten.rand_like.default(%x) : f32[4]
  %pick = aten.index_select.default(%rand, 0, %i) : f32[2]
  return %pick
}"""


def test_random_numbers_are_eagers_and_come_back_after_a_failure():
    x, good = torch.zeros(4), torch.tensor([1, 2])
    torch.manual_seed(3)
    expected = torch.rand_like(x)[good]
    torch.manual_seed(3)
    with pytest.raises(IndexError):
        run(RANDOM, x, torch.tensor([0, 9]))
    assert torch.equal(run(RANDOM, x, good)[0], expected)


def test_parameters_do_not_make_it_part_of_autograd():
    w = torch.randn(3, requires_grad=True)
    text = "graph aten {\n  %w = parameter() : f32[3]\n  %m = aten.mul.Tensor(%w, 2.0) : f32[3]\n  return %m\n}"
    assert torch.is_grad_enabled()
    (out,) = run(text, w)
    assert not out.requires_grad and torch.is_grad_enabled()


def test_autocast_does_not_cast_again():
    text = """graph aten {
  %x = placeholder() : f32[4,4]
  %mm = aten.mm.default(%x, %x) : f32[4,4]
  return %mm
}"""
    x = torch.randn(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (out,) = run(text, x)
        assert torch.is_autocast_enabled("cpu")
    assert torch.equal(out, x @ x)


def test_a_returned_view_belongs_to_its_base():
    text = "graph aten {\n  %x = placeholder() : f32[2,3]\n  %v = aten.view.default(%x, [6]) : f32[6]\n  return %v\n}"
    x = torch.randn(2, 3)
    (view,) = run(text, x)
    view.add_(1)
    assert view.data_ptr() == x.data_ptr() and view._version == x._version
    (view,) = run(text, x)
    view.mul_(torch.ones(6, requires_grad=True))  # refused for a view that was made with gradients off
    assert x.requires_grad


def test_unknown_operators_are_named():
    text = "graph aten {\n  %x = placeholder() : f32[2]\n  %n = aten.no_such_op.default(%x) : f32[2]\n  return %n\n}"
    with pytest.raises(RuntimeError, match="aten.no_such_op.default"):
        compiled(text)


def test_wrong_number_of_inputs():
    with pytest.raises(RuntimeError, match="number of inputs"):
        run(LINEAR, torch.randn(8, 64))


def test_times_follow_each_other():
    plan = compiled(LINEAR)
    times = _engine.plan_times(plan, [torch.randn(8, 64), torch.randn(32, 64), torch.randn(32)])
    assert [t[0] for t in times] == [0, 1, 2] == list(range(_engine.plan_facts(plan)["launches"]))
    assert all(start <= end for _, start, end in times)
    assert all(a[2] <= b[1] for a, b in zip(times, times[1:]))


def test_a_plan_keeps_nothing_alive():
    import gc
    import weakref

    plan = compiled(LINEAR)
    x, w, b = torch.randn(8, 64), torch.randn(32, 64), torch.randn(32)
    (out,) = _engine.plan_run(plan, [x, w, b])
    seen = [weakref.ref(t) for t in (x, w, b, out)]
    del x, w, b, out
    gc.collect()
    assert [r() for r in seen] == [None] * 4


MIXED = """graph aten {
  %x = placeholder() : f32[6,8]
  %w = parameter() : f32[8,8]
  %exp = aten.exp.default(%x) : f32[6,8]
  %mm = aten.mm.default(%exp, %w) : f32[6,8]
  %tanh = aten.tanh.default(%mm) : f32[6,8]
  %cumsum = aten.cumsum.default(%tanh, 1) : f32[6,8]
  %add = aten.add.Tensor(%cumsum, %exp) : f32[6,8]
  %mul = aten.mul.Tensor(%add, 2.0) : f32[6,8]
  %split = aten.split.Tensor(%tanh, 3) : f32[3,8], f32[3,8]@24
  %neg = aten.neg.default(%split.1) : f32[3,8]
  %t = aten.transpose.int(%mul, 0, 1) : f32[8,6]{1,8}
  return %mul, %t, %neg, %split.1, %w
}"""


@pytest.mark.parametrize("fuse", [False, True])
def test_kernels_libraries_views_and_operators_together(fuse, tmp_path):
    plan = _engine.plan_compile(MIXED, fuse, str(tmp_path))
    for seed in range(3):  # memory is used again
        torch.manual_seed(seed)
        x, w = torch.randn(6, 8), torch.randn(8, 8)
        exp = x.exp()
        tanh = (exp @ w).tanh()
        mul = (tanh.cumsum(1) + exp) * 2
        out = _engine.plan_run(plan, [x, w])
        again = _engine.plan_run(plan, [x * 0, w])  # must not reach into what the first call gave
        torch.testing.assert_close(out, [mul, mul.t(), -tanh[3:], tanh[3:], w])
        assert out[1].data_ptr() == out[0].data_ptr() and out[1]._is_view()
        assert out[4] is w and again[0].data_ptr() != out[0].data_ptr()


def test_an_operator_that_fails_in_the_middle_frees_what_came_before(tmp_path):
    text = """graph aten {
  %x = placeholder() : f32[4]
  %i = placeholder() : i64[2]
  %exp = aten.exp.default(%x) : f32[4]
  %pick = aten.index_select.default(%exp, 0, %i) : f32[2]
  %neg = aten.neg.default(%pick) : f32[2]
  return %exp, %neg
}"""
    plan = _engine.plan_compile(text, True, str(tmp_path))
    x = torch.randn(4)
    for _ in range(3):
        with pytest.raises(IndexError):
            _engine.plan_run(plan, [x, torch.tensor([0, 9])])
    exp, neg = _engine.plan_run(plan, [x, torch.tensor([0, 3])])
    torch.testing.assert_close((exp, neg), (x.exp(), -x.exp()[[0, 3]]))


def test_nothing_leaks(tmp_path):
    import resource

    plan = _engine.plan_compile(MIXED, True, str(tmp_path))
    x, w = torch.randn(6, 8), torch.randn(8, 8)
    for _ in range(2000):
        _engine.plan_run(plan, [x, w])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        _engine.plan_run(plan, [x, w])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000  # KB; one tensor a call is 10 MB


LARGE = """graph aten {
  %x = placeholder() : f32[64,1024]
  %add = aten.add.Tensor(%x, 1.0) : f32[64,1024]
  %t = aten.transpose.int(%add, 0, 1) : f32[1024,64]{1,1024}
  return %add, %t
}"""


def views_that_keep_memory():
    return [
        lambda out: out[0],
        lambda out: out[1][3:],
        lambda out: out[0].numpy(),
        lambda out: out[0].untyped_storage(),
        lambda out: out[0].detach(),
        lambda out: torch.from_dlpack(out[0]),
        lambda out: torch._lazy_clone(out[0]),
        lambda out: memoryview(out[0].numpy()),
    ]


@pytest.mark.parametrize("hold", views_that_keep_memory())
def test_memory_of_an_output_stays_while_anybody_has_it(hold, tmp_path):
    plan = _engine.plan_compile(LARGE, True, str(tmp_path))
    for _ in range(3):
        held = hold(_engine.plan_run(plan, [torch.ones(64, 1024)]))
        for other in range(3):
            _engine.plan_run(plan, [torch.full((64, 1024), float(other + 7))])
        values = torch.frombuffer(held, dtype=torch.float32) if isinstance(held, memoryview) else torch.as_tensor(held)
        if isinstance(held, torch.UntypedStorage):
            values = torch.empty(0).set_(held)
        assert (values == 2).all()


def test_memory_of_an_output_that_is_gone_serves_the_next_call(tmp_path):
    plan = _engine.plan_compile(LARGE, True, str(tmp_path))
    x = torch.zeros(64, 1024)
    places = set()
    for i in range(4):
        out = _engine.plan_run(plan, [x + i])
        fresh = torch.empty(64, 1024)
        assert (out[0] == i + 1).all() and out[0]._version == 0 and not out[0]._is_view()
        assert torch._C._dispatch_keys(out[0]) == torch._C._dispatch_keys(fresh)
        out[0].mul_(3)  # counts on the tensor's own version only
        places.add(out[0].data_ptr())
        del out
    assert len(places) == 1


def test_an_output_whose_storage_was_taken_away_is_not_used_again(tmp_path):
    plan = _engine.plan_compile(LARGE, True, str(tmp_path))
    x = torch.zeros(64, 1024)
    for change in (lambda s: s.resize_(0), lambda s: s.resize_(64), lambda s: s.resize_(1 << 20)):
        out = _engine.plan_run(plan, [x])
        change(out[0].untyped_storage())
        del out
        assert (_engine.plan_run(plan, [x])[0] == 1).all()


def test_an_input_that_starts_elsewhere_is_not_written_twice():
    def f(whole, row, other):
        torch.add(row, 3, out=row)
        first, second = other.unbind(0)
        return second

    compiled = vitrine.compile(f)
    with torch.no_grad():
        for start in (0, 0, 1):
            whole, base = torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4)
            other = base[start : start + 2]
            assert torch.equal(compiled(whole, whole[2], other), other[1])
            assert whole[2].tolist() == [3.0] * 4


def test_a_view_that_cannot_be_made_takes_back_the_last_write():
    def f(row, other):
        other.fill_(0)
        torch.add(row, 3, out=row)
        for last in other:
            pass
        return last

    compiled = vitrine.compile(f)
    with torch.no_grad():
        for start in (1, 0, 1):
            row, base = torch.zeros(4), torch.ones(3, 4)
            other = base[start : start + 2]
            assert torch.equal(compiled(row, other), torch.zeros(4))
            assert row.tolist() == [3.0] * 4


def test_what_python_and_a_library_both_read_is_there_in_the_next_call():
    """One buffer of the arena as an object (index), then as a handle (mm): the object goes after the call, the handle stays."""
    w, x, rows = torch.randn(8, 8), torch.randn(6, 8), torch.tensor([0, 0, 3, 5])

    def f(x, rows):
        x = torch.relu(x @ w)
        total = torch.zeros_like(x).index_add_(0, rows, x[rows])
        return x @ w + (total / 2) @ w

    plan = vitrine.compile(f)
    with torch.no_grad():
        for _ in range(5):
            torch.testing.assert_close(plan(x, rows), f(x, rows))


def test_an_empty_buffer_that_a_library_and_then_python_reads():
    """Its memory is none of the arena's: the handle becomes the object's."""
    x, y = torch.empty(0, 0), torch.empty(0, 0)

    def f(x, y):
        return (x @ y).neg()

    plan = vitrine.compile(f)
    with torch.no_grad():
        for _ in range(3):
            assert plan(x, y).shape == (0, 0)
