"""warnings.catch_warnings inside compiled functions: captured whole, and the filters are eager's afterwards."""

import warnings

import pytest
import torch
import vitrine
from tests.python.support.same_as_eager import assert_same


def ignoring(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x * 2
    return y + 1


def ignored(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("nobody hears this")
        warnings.warn("nor this", DeprecationWarning, stacklevel=2)
        y = x * 2
    return y + 1


def ignored_of_one_class(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        warnings.warn("nobody hears this")
    return x + 1


def by_argument(x):
    with warnings.catch_warnings(action="ignore"):
        return x.sin()


def by_filterwarnings(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*nothing.*")
        return x.cos()


def left_by_exception(x):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raise ValueError("left")
    except ValueError:
        return x + 1


def state():
    return warnings.filters, list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl


def same_state(a, b):
    return a[0] is b[0] and a[1:] == b[1:]


@pytest.mark.parametrize(
    "program", [ignoring, ignored, ignored_of_one_class, by_argument, left_by_exception]
)
def test_filters_for_a_while(program):
    compiled = vitrine.compile(program, fullgraph=True)
    for filters in ("error", "ignore", "error"):
        with warnings.catch_warnings():
            warnings.simplefilter(filters)
            before = state()
            assert_same(compiled(torch.ones(3)), program(torch.ones(3)))
            assert same_state(state(), before)


def test_other_ways_to_filter():
    compiled = vitrine.compile(by_filterwarnings)
    before = state()
    for _ in range(3):
        assert_same(compiled(torch.ones(3)), by_filterwarnings(torch.ones(3)))
        assert same_state(state(), before)


def test_what_is_not_ignored_is_heard_each_time():
    def program(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=DeprecationWarning)
            warnings.warn("heard")
        return x + 1

    compiled = vitrine.compile(program)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            compiled(torch.ones(2))
        assert [str(w.message) for w in heard if "heard" in str(w.message)] == ["heard"]


def test_a_warning_by_the_filters_outside():
    def program(x):
        warnings.warn("by what is outside")
        return x + 1

    compiled = vitrine.compile(program)
    for action, times in (("ignore", 0), ("always", 1), ("ignore", 0), ("error", None)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter(action)
            if times is None:
                with pytest.raises(UserWarning, match="by what is outside"):
                    compiled(torch.ones(2))
            else:
                compiled(torch.ones(2))
                assert len([w for w in heard if "by what is outside" in str(w.message)]) == times


def test_filters_that_stay():
    def program(x):
        warnings.simplefilter("ignore", category=BytesWarning)
        return x + 1

    with warnings.catch_warnings():
        program(torch.ones(2))
        expected = list(warnings.filters)
    compiled = vitrine.compile(program)
    for _ in range(2):
        with warnings.catch_warnings():
            compiled(torch.ones(2))
            assert list(warnings.filters) == expected


def test_a_graph_that_ends_inside():
    def program(x):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            y = x + 1
            warnings.warn("written down")
            y = y * 2
        return y, [str(w.message) for w in log]

    compiled = vitrine.compile(program)
    before = state()
    for _ in range(3):
        y, log = compiled(torch.ones(2))
        assert y.tolist() == [4, 4] and log == ["written down"]
        assert same_state(state(), before)


def test_filters_with_patterns_are_compared():
    """Each new filter is looked for among those that are there, of which some hold regular expressions."""

    def program(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("ignore", "one of .*")
            return x * len([kept for kept in warnings.filters if kept[1]])

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "one of .*")
        warnings.filterwarnings("ignore", "another .*", UserWarning)
        explained = vitrine.explain(program)(torch.ones(2))
        assert not explained.graph_breaks, explained
        assert torch.equal(vitrine.compile(program)(torch.ones(2)), program(torch.ones(2)))
