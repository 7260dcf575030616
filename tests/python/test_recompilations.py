"""What a recompilation says of its cause."""

import inspect

import torch
import vitrine
from recorded import recorded


def test_the_call_site_is_the_users_line(tmp_path):
    """A module is called through PyTorch's own frames; the line that counts is the user's."""
    model = vitrine.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), dynamic=False)
    with recorded(tmp_path) as session, torch.no_grad():
        model(torch.randn(2, 4))
        line = inspect.currentframe().f_lineno + 1
        model(torch.randn(3, 4))
    assert session.one("recompilation")["call_site"] == f"{__file__}:{line}"


def hints(session):
    return [(row["failed"], row["new_value"], row["hint"]) for row in session.rows("recompilation")]


def test_the_hint_fits_what_happened(tmp_path):
    automatic = vitrine.compile(lambda x: x * 2)
    fixed = vitrine.compile(lambda x: x + 2, dynamic=False)
    with recorded(tmp_path) as session:
        for n in (4, 5, 1):
            automatic(torch.ones(n))
        for n in (4, 5):
            fixed(torch.ones(n))
        with torch.no_grad():
            fixed(torch.ones(5))
    changed, below, anew, mode = hints(session)
    assert changed[0] == "L['x'].size(0) == 4" and "is a symbol from then on" in changed[2]
    assert below[:2] == ("(s0 >= 2, s0: L['x'].size(0)) == True", "False: it is 1") and "Sizes 0 and 1" in below[2]
    assert "dynamic=False compiles each size by itself" in anew[2]
    assert mode[:2] == ("torch.is_grad_enabled() == True", "False") and "grad mode" in mode[2]
