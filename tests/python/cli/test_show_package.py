"""A package of vitrine.export is shown as a session is: what it takes, its plan, kernels, memory and sizes. Nothing of it runs."""

import json
import random
import struct

import pytest
import torch
from torch import nn

import vitrine as engine

from tests.python.api.test_packages import header_of, written
from tests.python.support.command_line import query, said, vitrine


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).eval()
    x = torch.randn(8, 64)
    engine.mark_dynamic(x, 0)
    path = tmp_path_factory.mktemp("package") / "perceptron.vpkg"
    engine.export(model, x, path, options={"products": "generated"})
    return path


@pytest.fixture(autouse=True)
def _own_sessions(tmp_path, monkeypatch):
    monkeypatch.setenv("VITRINE_CACHE_DIR", str(tmp_path / "cache"))


def shown(package, *words) -> str:
    done = vitrine("show", package, *words)
    assert done.returncode == 0, said(done)
    return done.stdout


def test_the_summary_says_what_it_is(package):
    text = shown(package)
    assert "import of perceptron.vpkg, A package of vitrine.export of input: f32[s0,64]" in text
    assert "It has no graphs, guards" in text and "No problems." in text
    messages = shown(package, "messages")
    assert "It takes input: f32[s0,64]. It gives output: f32[s0,10]." in messages
    assert "4 weights of" in messages and "PyTorch" in messages


def test_its_stages_are_those_of_a_session(package):
    assert "vitrine_kernel" in shown(package, "kernels")
    launches = json.loads(shown(package, "launch", "--json"))
    assert launches and all(row["kind"] in ("kernel", "view", "library") for row in launches)
    assert "0.weight" in shown(package, "memory") and "s0" in shown(package, "symbols")
    assert "machine code takes" in shown(package, "remarks")


def test_it_becomes_a_session(package, tmp_path):
    done = vitrine("import", package, "-o", tmp_path / "p.vitrine")
    assert done.returncode == 0, said(done)
    assert query(tmp_path / "p.vitrine", "SELECT count(*) > 0 FROM kernel WHERE kind = 'generated' AND bytes > 0") == [(1,)]
    assert query(tmp_path / "p.vitrine", "SELECT name FROM buffer WHERE kind = 'parameter' ORDER BY name LIMIT 1") == [("0.bias",)]


def test_what_is_no_package_is_refused(package, tmp_path):
    whole = package.read_bytes()
    for name, data in (("half", whole[: len(whole) // 2]), ("empty", b""), ("other", b"\x80" * 100)):
        path = tmp_path / f"{name}.vpkg"
        path.write_bytes(data)
        done = vitrine("show", path)
        assert done.returncode == 1 and "package" in said(done), said(done)


def test_names_of_a_stranger_move_no_terminal(package, tmp_path):
    header, body = header_of(package.read_bytes())
    header["__metadata__"]["made_by"] = "\x1b[2Jsomebody\n\u202e"
    text = shown(written(tmp_path / "b.vpkg", header, body), "messages")
    assert "\x1b" not in text and "\u202e" not in text and "somebody" in text


def test_a_changed_plan_never_ends_the_reader(package, tmp_path):
    draw = random.Random(3)
    header, body = header_of(package.read_bytes())
    begin, end = header["vitrine/plan"]["data_offsets"]
    for _ in range(25):
        changed = bytearray(body)
        changed[draw.choice((draw.randrange(begin, begin + 400), draw.randrange(end - 800, end)))] = draw.randrange(256)
        done = vitrine("show", written(tmp_path / "b.vpkg", header, bytes(changed)), "memory")
        assert done.returncode in (0, 1), said(done)


def test_the_length_of_its_header_is_checked(package, tmp_path):
    path = tmp_path / "b.vpkg"
    path.write_bytes(struct.pack("<Q", 1 << 62) + package.read_bytes()[8:])
    assert vitrine("show", path).returncode == 1
