"""The GPU's own counters and samples of its instructions, for real: what a recorded run has of its kernels."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from vitrine import config
from vitrine._tools import counters

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).resolve().parents[3]

MODEL = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(2048, 2048)

    def forward(self, x):
        return torch.softmax(torch.nn.functional.gelu(self.up(x), approximate="tanh") * 2, -1)

model = Block().eval().cuda()
inputs = (torch.randn(16384, 2048, device="cuda"),)
"""


def recorded(folder, *words):
    (folder / "model.py").write_text(MODEL)
    path = folder / "s.vitrine"
    command = [sys.executable, "-m", "vitrine._tools.run", str(folder / "model.py"), "-o", str(path), "--repeats", "2", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    said = [text for (text,) in db.execute("SELECT text FROM message")]
    assert not any("not read" in text or "not sampled" in text for text in said), said
    return db


def values_of(db, kernel):
    rows = db.execute("SELECT metric, value FROM counter WHERE kernel = ?", (kernel,))
    return dict(rows.fetchall())


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_every_kernel_of_a_run_has_counters_and_samples(tmp_path, mode):
    db = recorded(tmp_path, "--mode", mode)
    kernels = {row["id"]: row for row in db.execute("SELECT kernel.* FROM kernel JOIN launch ON launch.kernel = kernel.id")}
    assert {row["kind"] for row in kernels.values()} >= {"generated"}
    assert len(kernels) >= 2, [row["label"] for row in kernels.values()]
    for kernel, row in kernels.items():
        values = values_of(db, kernel)
        assert values.get("time", 0) > 0 and 0 < values["occupancy"] <= 100 and 0 <= values["sm_busy"] <= 100, (row["label"], values)
        if row["kind"] == "generated":  # streams through far more than the caches hold
            moved = values["dram_read"] + values["dram_written"]
            assert 0.6 * row["bytes"] < moved < 1.6 * row["bytes"], (row["label"], row["bytes"], values)
            assert values["dram_busy"] > 20 and values["local_read"] == 0
            samples = db.execute("SELECT * FROM sample WHERE kernel = ?", (kernel,)).fetchall()
            total = sum(s["samples"] for s in samples)
            assert total > 100 and {s["reason"] for s in samples} & {"long_scoreboard", "wait", "selected"}
            if config.nvdisasm:
                assert sum(s["samples"] for s in samples if s["line"] > 0) == total
                assert sum(s["samples"] for s in samples if s["source_line"] > 0) > total / 2
                assert any(s["node"] for s in samples)
    products = [k for k, row in kernels.items() if row["family"] == "matmul"]
    assert products and all(values_of(db, k)["tensor_busy"] > 1 or values_of(db, k)["sm_busy"] > 20 for k in products)
    assert sum(n for (n,) in db.execute("SELECT sum(samples) FROM sample WHERE kernel = ?", (products[0],))) > 0


def test_only_so_many_kernels_are_counted(tmp_path):
    db = recorded(tmp_path, "--counters", "1")
    assert db.execute("SELECT count(DISTINCT launch) FROM counter").fetchone()[0] == 1
    assert any("the first 1 of" in text for (text,) in db.execute("SELECT text FROM message"))
    (tmp_path / "none").mkdir()
    db = recorded(tmp_path / "none", "--counters", "0")
    assert not db.execute("SELECT count(*) FROM counter").fetchone()[0] and not db.execute("SELECT count(*) FROM sample").fetchone()[0]


def test_doctor_has_tried_it():
    assert counters.problems() == []
    assert torch.relu(torch.ones(8, device="cuda")).sum().item() == 8


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not here")
def test_arguments_are_laid_out_as_in_cuptis_headers(tmp_path):
    folders = [p for p in ("/usr/local/cuda/include", "/usr/local/cuda/extras/CUPTI/include") if Path(p).exists()]
    if not any((Path(p) / "cupti_range_profiler.h").exists() for p in folders):
        pytest.skip("CUPTI's headers are not here")
    program = tmp_path / "layout"
    words = ["g++", "-std=c++20", "-w", f"-I{ROOT}", *(f"-I{p}" for p in folders), str(ROOT / "tests/gpu/profile/cupti_layout.cpp"), "-o", str(program)]
    subprocess.run(words, check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
