"""A pair that was not fused has its price: what it would not move, and the launch that it would not need."""

import sqlite3

import torch
from tests.python.support.recorded import recorded

import vitrine

N = 64
BYTES = N * N * 4


def decisions(tmp_path, function, *args):
    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(function)(*args)
    db = sqlite3.connect(session.path)
    query = "SELECT a.name, b.name, d.kind, d.verdict, d.bytes_saved, d.launches_saved FROM fusion_decision d JOIN node a ON a.id = d.a JOIN node b ON b.id = d.b"
    return {(a, b, kind): (verdict, size, launches) for a, b, kind, verdict, size, launches in db.execute(query)}


def test_a_product_and_what_follows_it(tmp_path):
    found = decisions(tmp_path, lambda x, y: torch.relu(x @ y), torch.randn(N, N), torch.randn(N, N))
    verdict, size, launches = found["mm", "relu", "epilogue"]
    assert verdict == "fused" or (size, launches) == (2 * BYTES, 1)  # neither written nor read


def test_what_others_read_is_still_written(tmp_path):
    def function(x, y):
        p = x @ y
        return p, torch.relu(p)

    verdict, size, launches = decisions(tmp_path, function, torch.randn(N, N), torch.randn(N, N))["mm", "relu", "epilogue"]
    assert verdict == "rejected" and (size, launches) == (BYTES, 1)


def test_what_a_product_reads_of_a_kernel(tmp_path):
    found = decisions(tmp_path, lambda x, y: torch.relu(x) @ y, torch.randn(N, N), torch.randn(N, N))
    assert found["relu", "mm", "prologue"] == ("rejected", 2 * BYTES, 1)
