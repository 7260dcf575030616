"""What commands print into a terminal of a certain width: prose breaks between words, code stays as it is."""

import fcntl
import os
import pty
import struct
import termios
from pathlib import Path

import pytest
from tests.python.support.command_line import said, vitrine

LOG = Path(__file__).parent / "recorded" / "dedicated_log_torch_trace_small.log"


def in_terminal(width, *words):
    """The lines that `vitrine` prints into a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        os.execvp("vitrine", ["vitrine", *map(str, words)])
    out = b""
    try:
        while part := os.read(terminal, 1 << 16):
            out += part
    except OSError:  # how a terminal ends
        pass
    os.waitpid(child, 0)
    return out.decode().replace("\r", "").splitlines()


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    path = tmp_path_factory.mktemp("width") / "small.vitrine"
    result = vitrine("import", LOG, "-o", path)
    assert result.returncode == 0, said(result)
    return path


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("stage", [(), ("breaks",), ("recompilations",), ("messages",), ("runs",)])
def test_no_line_of_prose_is_longer_than_the_terminal(session, stage, width):
    lines = in_terminal(width, "show", session, *stage)
    long = [line for line in lines if len(line) > width and " " in line.strip()]
    assert not [line for line in long if not line.startswith("  command ")]  # which is copied


def test_what_goes_on_stands_below_its_text(session):
    whole = vitrine("show", session, "breaks").stdout.splitlines()
    wide = next(line for line in whole if len(line) > 60)
    lines = in_terminal(60, "show", session, "breaks")
    at = next(i for i, line in enumerate(lines) if line and wide.startswith(line) and line != wide)
    indent = len(lines[at]) - len(lines[at].lstrip())
    assert len(lines[at + 1]) - len(lines[at + 1].lstrip()) >= indent


def test_code_is_not_wrapped(session):
    for stage in ("captured", "source"):
        assert in_terminal(60, "show", session, stage) == vitrine("show", session, stage).stdout.splitlines()


def test_a_hint_is_wrapped_too(session):
    lines = in_terminal(60, "show", session, "brakes")
    assert 'Did you mean "breaks"?' in " ".join(lines) and all(len(line) <= 60 for line in lines)


def test_two_sessions_are_compared_in_the_width_of_the_terminal(session):
    assert all(len(line) <= 60 for line in in_terminal(60, "diff", session, session))


RECORDED = Path(__file__).parents[2] / "sessions" / "v2" / "training_with_breaks.vitrine"
TABLES = ["kernels", "runs", "launch", "memory", "decisions", "roofline", "partition", "guards", "calls", "stages", "timeline", "choices", "symbols"]


def table_of(lines):
    """Its first lines, up to an empty one."""
    return lines[: lines.index("")] if "" in lines else lines


@pytest.mark.parametrize("stage", TABLES)
def test_a_table_fits_a_terminal_of_80_columns(stage):
    table = table_of(in_terminal(80, "show", RECORDED, stage))
    assert not [line for line in table if len(line) > 80]
    rows = [line for line in table if not line.startswith("Left out for want of room: ")]
    assert len(rows) >= len(table) - 1 and not [line for line in rows if line.startswith("    ")], rows


def test_what_has_no_room_is_named_and_printed_where_there_is_some():
    narrow, wide = (table_of(in_terminal(width, "show", RECORDED, "kernels")) for width in (80, 160))
    assert narrow[0].split()[:2] == ["kernel", "name"] and "from" not in narrow[0]
    assert [line for line in narrow if line.split()[1:] and line.split()[1].startswith("add_layer_") and line.split()[1].endswith("gelu")]
    (left,) = [line for line in narrow if line.startswith("Left out for want of room: ")]
    assert "compile, from" in left and left.endswith("(--wide).")
    assert wide == table_of(vitrine("show", RECORDED, "kernels").stdout.splitlines())
    assert wide[0].split()[-1] == "from" and not [line for line in wide if line.startswith("Left out")]


def test_a_column_without_a_word_is_left_out_first():
    lines = in_terminal(80, "show", RECORDED, "runs")
    assert "inputs" not in lines[0] and "first call" in lines[0]
    assert not [line for line in lines if line.startswith("Left out")]
