"""Each value of a compiled graph beside eager's and float64's: where it comes from, which differs first, who makes a NaN."""

import pytest
import torch

import vitrine
from vitrine import _engine
from vitrine._tools import distances
from vitrine._tools.numerics import graph_text, walk
from vitrine._tools.numerics import programs as numerics_programs
from vitrine._tools.numerics.budget import Budget
from vitrine._tools.numerics.programs import Judge, Program, chunks, watching
from vitrine._tools.numerics.rows import ULP_STEPS, numerics_rows


@pytest.fixture(autouse=True)
def afresh(tmp_path):
    cache, vitrine.config.cache_dir = vitrine.config.cache_dir, str(tmp_path)
    yield
    vitrine.config.cache_dir = cache
    _engine.inject_fault()
    _engine.opt_bisect()
    _engine.observe_plans(None)
    vitrine.reset()


def seen(function, *args):
    with watching() as programs, torch.no_grad():
        vitrine.compile(function)(*args)
    return programs


def rows_of(function, *args) -> dict:
    (program,) = seen(function, *args)
    return {row["name"]: row for row in numerics_rows(program)}


def gelu_sum(x, y):
    b = x * y + 1
    return torch.nn.functional.gelu(b * x).sum(1), b @ y


def two(n=48):
    torch.manual_seed(3)
    return torch.randn(n, n), torch.randn(n, n)


def test_a_value_in_memory_is_the_programs_own_and_a_fused_one_is_compiled_again():
    rows = rows_of(gelu_sum, *two())
    assert list(rows) == ["mul", "add", "mul_1", "gelu", "sum", "mm"]
    assert rows["sum"]["source"] == "buffer" and rows["sum"]["step"].startswith("K")
    assert rows["mm"]["source"] == "buffer"
    assert rows["gelu"]["source"] == "output" and rows["gelu"]["step"] == ""
    assert all(row["verdict"] in ("equal", "close") and not row.get("first") for row in rows.values())


def test_errors_are_those_of_eager_and_compiled_from_float64():
    x, y = two()
    row = rows_of(gelu_sum, x, y)["sum"]
    exact = gelu_sum(x.double(), y.double())[0]
    assert row["eager_error"] == pytest.approx(float((gelu_sum(x, y)[0].double() - exact).abs().max()))
    assert 0 < row["compiled_error"] < 1e-4 and row["count"] == 48


def test_each_element_stands_in_one_class_of_the_histogram():
    for row in rows_of(gelu_sum, *two()).values():
        classes = [int(n) for n in row["histogram"].split(",")]
        assert len(classes) == len(ULP_STEPS) + 2 and 0.9 * row["count"] < sum(classes) <= row["count"]  # but for those next to zero
        assert (classes[0] == sum(classes)) == (row["max_ulp"] == 0)


def test_the_first_value_that_a_wrong_kernel_computes_is_named():
    _engine.inject_fault("mul sum", "* 0.707106769f", "* 0.7f")
    rows = rows_of(gelu_sum, *two())
    assert [name for name, row in rows.items() if row.get("first")] == ["gelu"]
    assert rows["gelu"]["source"] == "alone"  # it was fused away, and asked for alone before it is named
    assert rows["sum"]["verdict"] == "differs" and rows["mul_1"]["verdict"] == "equal" and rows["mm"]["verdict"] != "differs"


def test_the_source_of_a_nan_is_the_operator_that_makes_it():
    def function(x):
        return torch.softmax(torch.log(x * 2 - 3), 0) + x

    rows = rows_of(function, torch.linspace(0, 3, 64))
    assert [name for name, row in rows.items() if row["makes"]] == ["log"]
    assert rows["log"]["nan"] == rows["log"]["eager_nan"] == 32
    assert not any(row.get("first") for row in rows.values())  # eager's are NaN too


def test_an_infinity_that_was_asked_for_has_no_source():
    def function(x):
        return torch.softmax(x.masked_fill(x > 1, float("-inf")) * 2, 0)

    assert not any(row["makes"] for row in rows_of(function, torch.linspace(0, 2, 16)).values())


def test_values_are_those_before_later_writes():
    def function(x):
        y = x.clone()
        y.mul_(3)
        z = y.exp()
        y.add_(1)
        return z + y

    rows = rows_of(function, torch.randn(8, 16))
    assert rows["mul_"]["verdict"] == "equal" and rows["exp"]["verdict"] in ("equal", "close")


def test_random_operators_draw_the_same_numbers_again():
    def function(x):
        return torch.dropout(x * 2, 0.5, True) + 1

    rows = rows_of(function, torch.randn(8, 16))
    assert all(row["verdict"] in ("equal", "close") for row in rows.values())
    assert not any("empty" in name for name in rows)  # nobody has written it yet


def test_both_halves_of_a_training_step_are_compared():
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
    with watching() as programs:
        vitrine.compile(model)(torch.randn(4, 8)).square().mean().backward()
    assert [program.graph.stage for program in programs] == ["forward", "backward"]
    for program in programs:
        rows = numerics_rows(program)
        assert rows and not any(row.get("first") for row in rows)


def test_a_graph_is_only_seen_at_its_first_call():
    with watching() as programs, torch.no_grad():
        compiled = vitrine.compile(gelu_sum)
        for _ in range(3):
            compiled(*two())
    assert len(programs) == 1


def test_inputs_are_kept_as_they_were_before_the_call_wrote_them():
    def function(x):
        x.add_(1)
        return x * 2

    x = torch.zeros(4)
    (program,) = seen(function, x)
    assert torch.equal(x, torch.ones(4)) and torch.equal(program.inputs[0], torch.zeros(4))


GRAPH = """graph aten {
  %x = placeholder() [source="L['%x']"] : f32[4,8]
  %var_mean = aten.var_mean.correction(%x, [1], correction=0, keepdim=True) : f32[4,1], f32[4,1]
  %sub = aten.sub.Tensor(%x, %var_mean.1) : f32[4,8]
  %unread = aten.neg.default(%x) : f32[4,8]
  return %sub, %var_mean, None
}
"""


def test_a_graph_is_read_and_written_as_it_was():
    graph = graph_text.read(GRAPH)
    assert str(graph) == GRAPH
    assert graph.by_name["sub"].reads == ("x", "var_mean.1") and graph.by_name["var_mean"].values == ["var_mean", "var_mean.1"]
    assert graph.returned() == ["sub", "var_mean"]
    assert [node.name for node in graph.without_dead().nodes] == ["x", "var_mean", "sub"]


def test_a_name_in_a_string_is_no_value():
    assert graph_text.references('aten.f(%a, "%b", [%c.1])') == ["a", "c.1"]
    assert graph_text.renamed('aten.f(%a, "%a", %a.1)', {"a": "z"}) == 'aten.f(%z, "%a", %a.1)'


def test_a_bisected_kernel_runs_through_pytorch():
    program = Program(GRAPH, [torch.randn(4, 8)], (torch.get_rng_state(), None))
    _engine.opt_bisect(-1, -1, 0)
    plan = program.compiled(program.graph)
    log = _engine.opt_bisect_log()
    assert _engine.plan_facts(plan)["kernels"] == 0 and log["kernels"] and not any(applied for _, applied in log["kernels"])
    _engine.opt_bisect()
    assert _engine.plan_facts(program.compiled(program.graph))["kernels"] == 1 and _engine.opt_bisect_log() is None


@pytest.mark.parametrize("kind", (0, 1))
def test_what_is_held_back_leaves_the_result_as_it_is(kind):
    program = Program(GRAPH, [torch.randn(4, 8)], (torch.get_rng_state(), None))
    right = program.eager(["sub", "var_mean"])
    for limit in range(6):
        limits = [-1, -1, -1]
        limits[kind] = limit
        _engine.opt_bisect(*limits)
        got = program.call(program.compiled(program.graph))
        torch.testing.assert_close(got[:2], right)


def test_only_so_many_fusions_are_made():
    (program,) = seen(gelu_sum, *two())
    kernels = []
    for limit in (0, 2, 1000):
        _engine.opt_bisect(-1, limit, -1)
        kernels.append(_engine.plan_facts(program.compiled(program.graph))["kernels"])
        assert sum(applied for _, applied in _engine.opt_bisect_log()["fusions"]) <= limit
    assert kernels[0] > kernels[1] > kernels[2]


def test_a_pass_that_is_made_wrong_is_wrong():
    (program,) = seen(gelu_sum, *two())
    judge = Judge(program, program.graph)
    assert judge.difference() == ""
    _engine.inject_fault("pass decompose", "aten.add.Tensor", "aten.sub.Tensor")
    (program,) = seen(lambda x: torch.nn.functional.layer_norm(x, (48,)), two()[0])
    assert Judge(program, program.graph).difference()


def test_copies_of_values_have_names_of_their_own():
    def function(x):
        x.add_(1)
        one = torch.var_mean(x, 1)
        return one[0], one[1], torch.var_mean(x * 2, 1)[1]

    rows = rows_of(function, torch.randn(4, 8))  # var_mean.1 and var_mean_1
    assert {"var_mean.1", "var_mean_1"} <= set(rows) and all(row["verdict"] in ("equal", "close") for row in rows.values())


def test_what_cannot_be_compared_says_why():
    program = Program(GRAPH, [torch.randn(3, 3)], (torch.get_rng_state(), None))
    rows = numerics_rows(program)
    assert {row["verdict"] for row in rows} == {"unknown"} and "operator by operator" in rows[0]["message"]


def test_values_are_compared_in_runs_that_fit_into_memory():
    (program,) = seen(gelu_sum, *two())
    values = [value for node in program.graph.operators for value in node.values]
    runs = chunks(program.graph, values, 2 * 48 * 48 * 4)
    assert [value for run in runs for value in run] == values and max(map(len, runs)) <= 3 and len(runs) > 2
    assert chunks(program.graph, values) == [values]


def test_what_differs_next_to_zero_counts_in_no_units_in_the_last_place():
    x = torch.tensor([1.0, -0.5, 1e-9, 0.0, 1e-9])
    y = torch.tensor([1.0 + 2**-23, -0.5, -1e-9, 1e-12, 1e-9])
    assert distances.last_places(x, y)[0] == 1
    assert distances.histogram(x, y, ULP_STEPS) == [2, 1] + [0] * 10
    assert distances.last_places(x[2:], y[2:])[0] > 1_000_000  # where all are small, they are what it is about


def test_a_row_says_what_the_values_are(monkeypatch):
    monkeypatch.setattr(distances, "BLOCK", 3)
    x = torch.tensor([0.0, 1.0, 2.0, 3.0, 16.0, float("nan"), float("inf"), 16.0])
    found = distances.distribution(x, 16)
    assert (found["least"], found["largest"]) == (0.0, 16.0)
    assert found["average"] == pytest.approx(38 / 6) and found["deviation"] == pytest.approx(x[torch.isfinite(x)].std(correction=0).item())
    assert [int(n) for n in found["distribution"].split(",")] == [1, 1, 1, 1] + [0] * 11 + [2]
    assert distances.distribution(torch.full((4,), 2.0), 16)["distribution"].startswith("4,0,")
    assert distances.distribution(torch.tensor([float("nan")]), 16) == {} == distances.distribution(torch.zeros(0), 16)
    assert distances.distribution(torch.tensor([True, False]), 16)["largest"] == 1.0
    (program,) = seen(gelu_sum, *two())
    row = numerics_rows(program)[-1]
    assert row["least"] <= row["average"] <= row["largest"] and len(row["distribution"].split(",")) == 16


def test_distances_of_many_blocks_are_those_of_one(monkeypatch):
    x = torch.randn(1000)
    y = x * (1 + 1e-6 * torch.randn(1000))
    x[3], y[4], x[5], y[5] = float("nan"), float("inf"), float("inf"), float("inf")
    whole = [distances.absolute(x, y), distances.last_places(x, y)[0], distances.histogram(x, y, ULP_STEPS), distances.errors(y[6:], x[6:].double())]
    monkeypatch.setattr(distances, "BLOCK", 64)
    parts = [distances.absolute(x, y), distances.last_places(x, y)[0], distances.histogram(x, y, ULP_STEPS), distances.errors(y[6:], x[6:].double())]
    assert parts[1:3] == whole[1:3]
    assert parts[0] == pytest.approx(whole[0]) and parts[3] == pytest.approx(whole[3])
    assert whole[2][-1] == 2  # NaN and infinity on one side


def test_large_inputs_wait_in_a_file_and_only_what_is_needed_is_read_in_float64(monkeypatch):
    monkeypatch.setattr(numerics_programs, "KEPT_IN_MEMORY", 0)
    widened = []
    monkeypatch.setattr(numerics_programs, "widened", lambda value: widened.append(value.shape) or value.double())
    x, y, z = torch.randn(8, 8), torch.randn(8, 8), torch.randn(4)
    (program,) = seen(lambda x, y, z: (x @ y, z.exp()), x, y, z)
    assert isinstance(program.inputs, numerics_programs.KeptInputs)
    x.zero_()
    assert torch.equal(program.exact(["exp"])[0], z.double().exp()) and widened == [z.shape]
    rows = {row["name"]: row for row in numerics_rows(program)}
    assert rows["mm"]["verdict"] in ("equal", "close") and rows["mm"]["count"] == 64 and rows["mm"]["max_abs"] < 1e-3


def test_of_what_is_written_only_that_before_a_value_is_needed_for_it(monkeypatch):
    monkeypatch.setattr(numerics_programs, "KEPT_IN_MEMORY", 0)

    def step(a, b, x):
        y = a * 2
        a.add_(x)
        z = a.exp()
        a.mul_(3)
        return y, z, b.add_(1)

    a, b, x = torch.randn(4), torch.randn(4), torch.randn(4)
    expected = (a * 2, (a + x).exp(), b + 1)
    (program,) = seen(step, a, b, x)
    whole = program.graph
    names = [node.name for node in whole.operators]
    assert [node.name for node in whole.up_to(["mul"]).operators] == ["mul"]
    assert [node.name for node in whole.up_to(["exp"]).operators] == ["add_", "exp"], names
    for value, tensor in zip(("mul", "exp", "add__1"), expected):
        assert torch.allclose(program.eager([value])[0], tensor) and torch.allclose(program.exact([value])[0].float(), tensor)
    assert all(row["verdict"] in ("equal", "close") for row in numerics_rows(program))


def test_of_a_large_program_values_that_were_fused_away_are_compiled_without_its_results(monkeypatch):
    asked = []
    monkeypatch.setattr(numerics_programs, "MOST_HELD", 0)
    monkeypatch.setattr(Program, "compiled", lambda self, graph, *more: asked.append(graph.returned()) or _engine.plan_compile(str(graph), True, vitrine.config.cache_dir))
    rows = rows_of(gelu_sum, *two())
    assert asked == [["mul", "mul_1", "gelu"]]
    assert rows["gelu"]["source"] == "output" and rows["gelu"]["verdict"] in ("equal", "close")


def test_an_operator_of_which_nothing_is_known_has_values_of_its_own():
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True).eval()
    rows = rows_of(layer, torch.randn(2, 4, 32))
    assert [(row["source"] != "none", row["verdict"] in ("equal", "close")) for row in rows.values()] == [(True, True)], rows
    assert not graph_text.may_view("aten.mm.default") and graph_text.may_view("aten.t.default") and graph_text.may_view("aten.reshape.default")


def test_where_the_time_is_over_results_are_compared_and_the_rest_says_so(monkeypatch):
    monkeypatch.setattr(numerics_programs, "MOST_HELD", 1)  # each value is a part of its own
    monkeypatch.setattr(numerics_programs.chunks, "__defaults__", (1,))
    (program,) = seen(gelu_sum, *two())
    budget = Budget(60)
    budget.until = 0  # which is over
    rows = numerics_rows(program, budget)
    compared = [row["name"] for row in rows if row["verdict"] != "unknown"]
    assert compared == [program.graph.returned()[0]], compared
    late = [row for row in rows if row.get("skipped")]
    assert len(late) == len(rows) - 1 and "60 seconds were over" in late[0]["message"]
    assert not any(row.get("first") or row.get("makes") for row in rows)


def test_parts_of_a_large_program_share_one_run_by_pytorch(monkeypatch):
    (program,) = seen(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Dropout(), torch.nn.LayerNorm(16)), torch.randn(4, 8))
    whole = {row["name"]: row for row in numerics_rows(program)}
    asked, ran = [], []
    monkeypatch.setattr(numerics_programs.chunks, "__defaults__", (1,))
    monkeypatch.setattr(numerics_programs, "MOST_HELD", 1)
    eager, values = Program.eager, walk.Walk.values
    monkeypatch.setattr(Program, "eager", lambda self, results, *more, **named: asked.extend(results) or eager(self, results, *more, **named))
    monkeypatch.setattr(walk.Walk, "values", lambda self, wanted: ran.append((self.at, values(self, wanted))) or ran[-1][1])
    parts = {row["name"]: row for row in numerics_rows(program)}
    assert list(parts) == list(whole) and len(parts) > 3
    assert set(asked) <= set(program.graph.returned())  # each of the others came from the walk
    assert all(found for _, found in ran) and [at for at, _ in ran] != sorted({at for at, _ in ran})  # two walks, by eager and in float64
    for name, row in parts.items():
        assert (row["verdict"] == "unknown") == (whole[name]["verdict"] == "unknown"), row
        assert row["eager_error"] == pytest.approx(whole[name]["eager_error"], rel=1e-3, abs=1e-12), row


def test_parts_of_a_large_program_give_the_rows_of_a_small_one(monkeypatch):
    (program,) = seen(gelu_sum, *two())
    whole = {row["name"]: row for row in numerics_rows(program)}
    monkeypatch.setattr(numerics_programs.chunks, "__defaults__", (1,))
    parts = {row["name"]: row for row in numerics_rows(program)}
    assert list(parts) == list(whole)
    assert {row["verdict"] for row in parts.values()} <= {"equal", "close"}, parts
    assert not any(row.get("skipped") for row in parts.values())
