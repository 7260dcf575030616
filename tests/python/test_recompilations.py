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
