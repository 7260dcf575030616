"""Each kind of graph break and of recompilation: its kind, its line, and a hint that fits its cause."""

import contextlib
import inspect
import json
import threading
import warnings

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded

X = torch.linspace(-1, 1, 4)
MARK = "  # here"


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def calls(session_folder, function, arguments):
    """A recording of compiled calls, one a tuple of arguments."""
    compiled = vitrine.compile(function)
    with recorded(session_folder) as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in arguments:
            with contextlib.suppress(ValueError):
                compiled(*each)
    return session


# --- graph breaks ---


def printing(x):
    y = x + 1
    print(end="")  # here
    return y * 2


def branching(x):
    y = x + 1
    if y.sum() > 0:  # here
        return y * 2
    return y * 3


def reading(x):
    y = x + 1
    n = round(y.sum().item())  # here
    return y * n


def distinct(x):
    y = x + 1
    return torch.unique(y, dim=0) * 2  # here


def foreign(x):
    y = x + 1
    json.dumps({"a": 1})  # here
    return y * 2


def awaiting(x):
    y = x + 1

    async def nothing():
        return 1

    nothing().close()  # here
    return y * 2


@vitrine.disable
def marked(x):
    return x + 1


def calling_disabled(x):
    y = x + 1
    return marked(y) * 2  # here


class Watched:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        print(end="")  # here


WATCHED = Watched()


def setting(x):
    y = x + 1
    WATCHED.a = 3
    return y * 2


LOCK = threading.Lock()


def locking(x):
    y = x + 1
    with LOCK:  # here
        y = y * 2
    return y


def generating(x, items=(i for i in range(9))):
    y = x + 1
    for i in items:  # here
        y = y + i
    return y


def raising(x):
    y = x + 1
    if y.shape[0] == 4:
        raise ValueError("no")  # here
    return y


def recursing(x):
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)  # here

    y = x + 1
    return y * depth(400)


def very_long(x):
    y = x + 1
    return y * len([0] * 1_000_001)  # here


def sparse(x):
    y = x + 1
    return y.to_sparse().to_dense()  # here


def sorting(x):
    y = x + 1
    return sorted([y[0], y[1]])[0]  # here


def containing(x):
    y = x + 1
    return y * 2 if 3 in y else y  # here


def asking_an_address(x):
    y = x + 1
    y.data_ptr()  # here
    return y * 2


def seeding(x):
    y = x + 1
    torch.manual_seed(3)
    return y * 2


def differentiating(x):
    w = torch.ones(4, requires_grad=True)
    loss = (w * x).sum()
    print(end="")
    loss.backward()  # here
    return w.grad


# kind, and what the hint must name: something that the user can do where it is.
BREAKS = [
    (printing, "side_effect", "act on it outside"),
    (branching, "data_dependent_branch", "torch.where"),
    (reading, "scalar_read", "0-d tensor"),
    (distinct, "data_dependent_shape", "mask of fixed size"),
    (foreign, "foreign_call", "outside of the compiled function"),
    (awaiting, "generator", "Await it outside"),
    (calling_disabled, "disabled", "Take the mark away"),
    (setting, "side_effect", "act on it outside"),
    (locking, "context_manager", "outside the compiled function"),
    (generating, "generator", "inside the compiled function"),
    (raising, "exception", "before the compiled function"),
    (recursing, "limit", "as a loop"),
    (very_long, "limit", "Make a tensor"),
    (sparse, "unsupported_operator", "Nothing is lost"),
    (sorting, "data_dependent_branch", "torch.sort"),
    (containing, "data_dependent_branch", "torch.where"),
    (asking_an_address, "unsupported_operator", "Make it outside"),
    (differentiating, "real_backward", "without a break between"),
]


def line_of(function):
    """The line of the function, or of what it calls here, that the mark stands on."""
    owner = Watched.__setattr__ if function is setting else function
    lines, first = inspect.getsourcelines(owner)
    return first + next(i for i, line in enumerate(lines) if line.rstrip().endswith(MARK.strip()))


@pytest.mark.parametrize(("function", "kind", "hint"), BREAKS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_break_names_its_kind_line_and_what_to_do(function, kind, hint, tmp_path):
    session = calls(tmp_path, function, [(X.clone(),)] * 2)
    found = [row for row in session.rows("graph_break") if row["kind"] == kind]
    assert found, session.rows("graph_break")
    row = found[0]
    (instruction,) = session.rows("instruction", id=row["cause"])
    (span,) = session.rows("span", id=instruction["span"])
    assert span["line"] == line_of(function), (row, span)
    assert hint in row["hint"], row["hint"]
    assert "recompile_limit" not in row["hint"] and "changing value" not in row["hint"]


def test_what_a_library_does_inside_of_a_call_is_no_line_to_rewrite(tmp_path):
    (row,) = calls(tmp_path, seeding, [(X.clone(),)]).rows("graph_break")
    assert row["hint"] == "It is inside of what the line calls: make that call outside of the compiled function."


# --- recompilations ---


def scaled(x, n):
    return x * n


def flagged(x, flag):
    return x + 1 if flag else x - 1


def worded(x, word):
    return x + 1 if word == "a" else x - 1


def repeated(x, n):
    return torch.cat([x] * n)


def truncated(x, n):
    return x * int(n)


def optional(x, y):
    return x if y is None else x + y


def applied(x, function):
    return function(x)


def added(*tensors):
    return sum(tensors)


def listed(tensors):
    return sum(tensors)


def written(x, y):
    x.add_(1)
    return x * y


def computed(x):
    n = int(x.sum().item())
    return x * n if n % 2 else x - n


def kept_in_a_list(x, k):
    items = [x] * k
    print(end="")
    return sum(items)


class Mode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.word = "a"

    def forward(self, x):
        return x + 1 if self.word == "a" else x - 1


T, ONES = torch.ones, torch.ones(4)
# name, function, arguments of the calls, part of the last recompilation's failed guard, what its hint says
RECOMPILATIONS = [
    ("a size", scaled, [(T(3), 2.0), (T(4), 2.0)], ".size(0)", "is a symbol from then on"),
    ("a size of one", scaled, [(T(3), 2.0), (T(1), 2.0)], ".size(0)", "Sizes 0 and 1"),
    ("a number", scaled, [(ONES, 2), (ONES, 3)], "L['n'] == 2", "A number that has changed is a symbol"),
    ("a float", scaled, [(ONES, 1.5), (ONES, 2.5)], "L['n'] == 1.5", "A number that has changed is a symbol"),
    ("a number that is needed", truncated, [(ONES, 1.5), (ONES, 2.5), (ONES, 3.5)], "L['n']", "each is compiled by itself"),
    ("a type", scaled, [(ONES, 2), (ONES, 2.5)], "L['n'] == 2", "Each type is compiled by itself"),
    ("none", optional, [(ONES, None), (ONES, ONES)], "L['y']", "With None and without"),
    ("a flag", flagged, [(ONES, True), (ONES, False)], "L['flag']", "True and False are two programs"),
    ("a word", worded, [(ONES, "a"), (ONES, "b")], "L['word']", "decides what the program does"),
    ("a function", applied, [(ONES, lambda x: x + 1), (ONES, lambda x: x + 2)], "L['function']", "make it once"),
    ("arguments", added, [(ONES,), (ONES, ONES)], "len(L['tensors'])", "Each number of arguments"),
    ("a length", listed, [([ONES],), ([ONES, ONES],)], "len(L['tensors'])", "Each length"),
    ("keys", lambda d: sum(d.values()), [({"a": ONES},), ({"b": ONES},)], "list(L['d'])", "same keys"),
    ("a key", lambda d: d["a"] + 1 if "a" in d else ONES, [({"a": ONES},), ({"b": ONES},)], "in L['d']", "With and without that key"),
    ("a dtype", scaled, [(ONES, 2.0), (ONES.double(), 2.0)], ".dtype", "one dtype"),
    ("dimensions", scaled, [(ONES, 2.0), (T(2, 4), 2.0)], ".dim()", "number of dimensions"),
    ("a class", scaled, [(ONES, 2.0), (torch.nn.Parameter(ONES), 2.0)], "type(L['x'])", "class of tensor"),
    ("requires_grad", scaled, [(ONES, 2.0), (T(4, requires_grad=True), 2.0)], ".requires_grad", "requires_grad"),
    ("after a read", computed, [(T(4),), (T(4) * 2,), (T(4) * 3,)], "S[", "comes out of the graph break"),
    ("after a print", kept_in_a_list, [(ONES, 2), (ONES, 3)], "len(L['items'])", "comes out of the graph break"),
    ("a dtype value", lambda x, t: x.to(t), [(ONES, torch.float64), (ONES, torch.float16)], "L['t']", "decides what the program does"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "failed", "hint"), [row[1:] for row in RECOMPILATIONS], ids=[row[0] for row in RECOMPILATIONS])
def test_a_recompilation_says_what_to_do_about_its_cause(function, arguments, failed, hint, tmp_path):
    session = calls(tmp_path, function, arguments)
    rows = session.rows("recompilation")
    assert rows, "nothing was compiled again"
    assert failed in rows[-1]["failed"] and hint in rows[-1]["hint"], [(row["failed"], row["hint"]) for row in rows]


def changed(tmp_path, function, change):
    """The hint of the recompilation that a change between two calls makes."""
    compiled = vitrine.compile(function)
    with recorded(tmp_path) as session:
        compiled(ONES)
        with change() or contextlib.nullcontext():
            compiled(ONES)
    return session.one("recompilation")["hint"]


def test_where_a_value_comes_from_decides_the_hint(tmp_path):
    word = "a"

    def closure(x):
        return x + 1 if word == "a" else x - 1

    def other_word():
        nonlocal word
        word = "b"

    assert "the enclosing function" in changed(tmp_path, closure, other_word)

    namespace = {"word": "a"}
    exec("def global_word(x):\n    return x + 1 if word == 'a' else x - 1", namespace)
    folder = tmp_path / "global"
    folder.mkdir()
    assert "keep the global" in changed(folder, namespace["global_word"], lambda: namespace.update(word="b"))

    module = Mode()
    folder = tmp_path / "attribute"
    folder.mkdir()
    assert "keep the attribute" in changed(folder, module, lambda: setattr(module, "word", "b"))

    folder = tmp_path / "training"
    folder.mkdir()
    dropout = torch.nn.Sequential(torch.nn.Dropout(0.5))
    assert "train() and eval()" in changed(folder, dropout, lambda: dropout.eval() and None)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (torch.no_grad, "Each grad mode is compiled by itself, once"),
        (lambda: torch.autocast("cpu"), "one autocast mode"),
        (lambda: torch.device("cpu"), "before the first call"),
    ],
    ids=["grad mode", "autocast", "default device"],
)
def test_a_mode_of_torch_has_a_hint_of_its_own(change, hint, tmp_path):
    assert hint in changed(tmp_path, lambda x: x @ x + torch.ones(4), change)


def test_at_the_limit_the_hint_is_that_of_the_cause(tmp_path):
    compiled = vitrine.compile(worded, recompile_limit=2)
    with recorded(tmp_path) as session, pytest.warns(vitrine.VitrineWarning, match="compiled 2 times"):
        for word in ("a", "b", "c"):
            compiled(ONES, word)
    (message,) = session.rows("message", severity="warning")
    assert "decides what the program does" in message["hint"] and "recompile_limit" in message["hint"], message
