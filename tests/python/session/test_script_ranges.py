"""What a script does beside what it compiles has a lane: data loading, optimizer steps, ranges of its own."""

import sqlite3

import torch
from tests.python.support.command_line import said, vitrine, write
from torch.autograd.profiler import record_function

from vitrine._tools.ranges import Ranges

SCRIPT = """
import torch, vitrine
from torch.utils.data import DataLoader
net = vitrine.compile(torch.nn.Linear(4, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in DataLoader(torch.ones(12, 4), batch_size=4):
    net(x).sum().backward()
    opt.step()
    with torch.autograd.profiler.record_function("my own"):
        opt.zero_grad()
"""


def test_a_script_s_ranges_are_a_lane(tmp_path):
    result = vitrine("run", write(tmp_path, "s.py", SCRIPT), "-o", tmp_path / "s.vitrine")
    assert result.returncode == 0, said(result)
    db = sqlite3.connect(tmp_path / "s.vitrine")
    assert [kind for (kind,) in db.execute("SELECT kind FROM lane ORDER BY ordinal")] == ["call", "range", "launch"]
    names = {text for (text,) in db.execute("SELECT text FROM name")}
    assert {"data loading", "optimizer step", "zero_grad", "my own"} <= names
    # The loader is asked a fourth time, and its first batch came before the first call.
    assert db.execute("SELECT count FROM lane WHERE kind = 'range'").fetchone() == (3 + 3 * 3,)


def test_ranges_end_with_their_errors_and_leave_pytorch_as_it_was():
    before = record_function.__enter__, record_function.__exit__
    ranges = Ranges()
    try:
        with record_function("outer"), torch.autograd.profiler.record_function("inner"):
            raise KeyError("a")
    except KeyError:
        pass
    found = ranges.take()
    assert [name for _, _, name in found] == ["outer", "inner"]
    assert all(start < end for start, end, _ in found)
    assert (record_function.__enter__, record_function.__exit__) == before
