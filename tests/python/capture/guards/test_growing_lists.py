"""Lists that live between calls and grow: what stands in them is a matter of guards only where the program looks."""

import copy

import pytest
import torch
from tests.python.support.recorded import recorded

import vitrine


class Keeper(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        torch.nn.init.ones_(self.layer.weight)  # whose sums are exact
        torch.nn.init.zeros_(self.layer.bias)
        self.seen, self.tables = [], {"a": [], "b": [0]}

    def forward(self, x):
        return self.layer(x)


GLOBAL = []


def appends(m, x):
    y = m(x)
    m.seen.append(y.detach())
    return y.sum()


def extends(m, x):
    y = m(x)
    m.seen.extend((y, "and"))
    m.seen += [x]
    list.append(m.seen, 1)
    return y.sum()


def in_a_dict(m, x):
    for name, table in m.tables.items():
        table.append((name, x + len(name)))
    return x


def of_a_module(m, x):
    GLOBAL.append(x * 2)
    return x * 3


def by_two_names(m, x):
    one, other = m.seen, m.seen
    one.append(x)
    other.append(x + 1)
    add = one.append
    add(x + 2)
    return x


def then_breaks(m, x):
    m.seen.append(x + 1)
    print("break")
    m.seen.append(x + 2)
    return x


OPEN = [appends, extends, in_a_dict, of_a_module, by_two_names, then_breaks]


def then_looks(m, x):
    before = len(m.seen)
    m.seen.append(x)
    return x * before, m.seen[0] + 1, len(m.seen), m.seen[-1] is x


def adds_then_asks(m, x):
    m.seen.append(x)
    return len(m.seen), list(m.seen), [y is x for y in m.seen]


def walks_and_adds(m, x):
    if not m.seen:
        m.seen.extend([x, x + 1])
    for y in m.seen:
        if len(m.seen) < 7:
            m.seen.append(y * 2)
    return x


def itself(m, x):
    m.seen.append(x)
    m.seen.extend(m.seen)
    m.seen += m.seen
    return x


def by_a_generator_that_looks(m, x):
    m.seen.extend(x + len(m.seen) for _ in range(2))
    return x


def taken_back(m, x):
    m.seen.append(x)
    m.seen.append(x + 1)
    return m.seen.pop(), m.seen.copy()


def replaced(m, x):
    m.seen.append(x)
    old, m.seen = m.seen, [x]
    m.seen.append(x + 1)
    return old, m.seen


def sorted_after(m, x):
    m.tables["b"].append(-len(m.seen))
    m.tables["b"].sort()
    m.seen.append(x)
    return m.tables["b"]


def within_another(m, x):
    m.tables["c"] = m.seen
    m.tables["c"].append(x)
    m.seen.append(m.tables["a"])
    m.tables["a"].append(x * 2)
    return x


LOOKING = [then_looks, adds_then_asks, walks_and_adds, itself, by_a_generator_that_looks, taken_back, replaced, sorted_after, within_another]


def shown(value):
    """Values and which of them are one object."""
    numbers = {}

    def of(v):
        if isinstance(v, (list, tuple, dict)) and id(v) in numbers:
            return f"#{numbers[id(v)]}"
        numbers[id(v)] = len(numbers)
        if isinstance(v, torch.Tensor):
            return v.detach().tolist(), v.requires_grad
        if isinstance(v, dict):
            return {k: of(x) for k, x in v.items()}
        return [of(x) for x in v] if isinstance(v, (list, tuple)) else v

    return of(value)


def states(function, keeper, calls):
    GLOBAL.clear()
    out = []
    for i in range(calls):
        result = function(keeper, torch.full((2, 3), float(i)))
        out.append(shown([result, keeper.seen, keeper.tables, GLOBAL]))
    return out


@pytest.mark.parametrize("function", OPEN + LOOKING, ids=lambda f: f.__name__)
def test_as_eager_does(function):
    vitrine.reset()
    keeper = Keeper()
    expected = states(function, copy.deepcopy(keeper), 4)
    assert states(vitrine.compile(function), keeper, 4) == expected


@pytest.mark.parametrize("function", OPEN, ids=lambda f: f.__name__)
def test_a_list_that_grows_needs_no_other_compilation(function, tmp_path):
    vitrine.reset()
    with recorded(tmp_path) as session:
        states(vitrine.compile(function), Keeper(), 6)
    assert not session.rows("recompilation")


class Tells:
    def __init__(self, told):
        self.told = told

    def __del__(self):
        self.told.append("gone")


def test_nothing_leaves_a_list_that_only_grows():
    """What it holds may notice its own end: that is not now."""

    def adds(seen, x):
        seen.append(x + 1)
        return x * 2

    vitrine.reset()
    told, compiled = [], vitrine.compile(adds, fullgraph=True)
    seen = [Tells(told)]
    for _ in range(3):
        compiled(seen, torch.ones(2))
    assert len(seen) == 4 and not told
    assert not [guard for guard in vitrine.explain(adds)(seen, torch.ones(2)).guards if "notices its end" in str(guard)]
    del seen[0]
    assert told == ["gone"]


def test_what_was_added_before_an_error_stays():
    def fails(seen, x, i):
        seen.append(x + 1)
        seen.append(x[i])
        return x

    vitrine.reset()
    seen, compiled = [], vitrine.compile(fails)
    for i in (0, 5, 1):
        try:
            compiled(seen, torch.arange(3.0), i)
        except IndexError:
            seen.append("error")
    assert shown(seen) == [([1.0, 2.0, 3.0], False), (0.0, False), ([1.0, 2.0, 3.0], False), "error", ([1.0, 2.0, 3.0], False), (1.0, False)]
