"""Several processes by torchrun over gloo: PyTorch's own ways to share out a model, compiled, compute what they compute eagerly;
functional collectives are part of a graph; each rank records a session of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed as dist

from tests.python.support.command_line import query, said, vitrine, write
from tests.python.support.places import ROOT

pytestmark = pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="this PyTorch has no gloo")

CHECKS = Path(__file__).with_name("checks.py")
WRAPPED = (
    "compile_then_ddp", "ddp_then_compile", "gradients_of_ddp_are_means_over_ranks", "buckets_of_ddp_are_as_eager_has_them",
    "fully_sharded", "fully_sharded_then_compiled", "tensor_parallel",
)  # fmt: skip
COLLECTIVES = (
    "a_sum_over_ranks_is_part_of_the_graph", "gathers_and_scatters_are_part_of_the_graph", "gathered_columns_are_eager_s",
    "collectives_keep_their_order", "gradients_go_through_a_sum_over_ranks", "gradients_go_through_gathers",
    "sums_in_place_are_part_of_the_graph", "a_broadcast_is_part_of_the_graph", "gathers_into_a_tensor_are_part_of_the_graph",
    "scatters_into_a_tensor_are_part_of_the_graph", "a_collective_in_a_training_step_is_part_of_it",
    "collectives_that_are_not_waited_for_run_as_they_are", "what_is_wrong_with_a_collective_is_told_as_eagerly",
    "a_part_of_the_ranks_meets_alone", "another_group_is_another_program",
)  # fmt: skip


def torchrun(processes: int, *words, **env) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), *map(str, words)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **env}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=200)


def checked(processes: int, folder: Path, names, backend="gloo") -> list[dict]:
    """What each rank tells of its checks."""
    done = torchrun(processes, CHECKS, backend, folder, *names)
    files = [folder / f"{rank}.json" for rank in range(processes)]
    assert all(file.exists() for file in files), done.stdout + done.stderr
    return [json.loads(file.read_text()) for file in files]


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    return checked(2, tmp_path_factory.mktemp("ranks"), (*WRAPPED, *COLLECTIVES))


@pytest.mark.parametrize("name", (*WRAPPED, *COLLECTIVES))
def test_two_ranks_compute_as_eagerly(two_ranks, name):
    for rank, told in enumerate(two_ranks):
        assert name in told, f"rank {rank} did not come to it: another check failed"
        assert not told[name], f"rank {rank}: {told[name]}"


def test_four_ranks_compute_as_eagerly(tmp_path):
    """All in one start: each process takes its time to begin."""
    names = ("ddp_then_compile", "fully_sharded", "tensor_parallel", "gathers_and_scatters_are_part_of_the_graph", "collectives_keep_their_order",
             "sums_in_place_are_part_of_the_graph", "a_broadcast_is_part_of_the_graph", "gathers_into_a_tensor_are_part_of_the_graph",
             "scatters_into_a_tensor_are_part_of_the_graph", "a_part_of_the_ranks_meets_alone")
    for rank, told in enumerate(checked(4, tmp_path, names)):
        assert told == dict.fromkeys(names, ""), f"rank {rank}: {told}"


PROGRAM = """
import os, signal, sys, time
import torch, vitrine
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
is_odd = rank == ODD

@vitrine.compile
def step(x):
    if is_odd:
        x = x * 2
    return (x.sin() + 1).relu()

for i in range(4):
    if i == 2 and rank == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    x = step(torch.full((8, 8), float(rank)))
    dist.all_reduce(x)
dist.destroy_process_group()
"""


def programs(folder: Path, odd=-1, dies=-1) -> Path:
    return write(folder, "train.py", PROGRAM.replace("ODD", str(odd)).replace("DIES", str(dies)))


def test_each_rank_has_a_session_and_a_merged_one_has_them_all(tmp_path):
    done = torchrun(2, programs(tmp_path, odd=1), VITRINE_TRACE=str(tmp_path / "run.r%r.vitrine"))
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [tmp_path / f"run.r{rank}.vitrine" for rank in range(2)]
    for rank, part in enumerate(parts):
        assert query(part, "SELECT value FROM meta WHERE key = 'rank'") == [(str(rank),)]
    merged = vitrine("merge", *reversed(parts))
    assert merged.returncode == 0, said(merged)
    assert "begin a call" in merged.stdout and "of 3," in merged.stdout, "all calls but the first, which compiles, tell of the skew"
    assert "rank 1 against rank 0" in merged.stdout and "guard" in merged.stdout, "what the ranks were compiled for is not the same"
    whole = tmp_path / "run.ranks.vitrine"
    assert query(whole, "SELECT label, count FROM lane WHERE kind = 'rank' ORDER BY ordinal") == [("rank 0", 4), ("rank 1", 4), ("skew", 4)]
    (told,) = query(whole, "SELECT count(*) FROM message WHERE text LIKE 'rank 1 was compiled otherwise than rank 0%'")
    assert told[0] >= 1
    shown = vitrine("show", whole, "messages")
    assert shown.returncode == 0 and "rank 1" in shown.stdout, said(shown)


def test_ranks_that_are_compiled_alike_are_said_to_be(tmp_path):
    done = torchrun(2, programs(tmp_path), VITRINE_TRACE=str(tmp_path / "run.r%r.vitrine"))
    assert done.returncode == 0, done.stdout + done.stderr
    merged = vitrine("merge", tmp_path / "run.r0.vitrine", tmp_path / "run.r1.vitrine", "-o", tmp_path / "all.vitrine")
    assert merged.returncode == 0 and "rank 1 against rank 0: compiled alike" in merged.stdout, said(merged)


def test_two_sessions_of_one_rank_are_not_merged(tmp_path):
    done = torchrun(1, programs(tmp_path), VITRINE_TRACE=str(tmp_path / "a.r%r.vitrine"))
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "b.r0.vitrine").write_bytes((tmp_path / "a.r0.vitrine").read_bytes())
    merged = vitrine("merge", tmp_path / "a.r0.vitrine", tmp_path / "b.r0.vitrine")
    assert merged.returncode == 1 and "Two of the sessions are of rank 0." in said(merged)
    one = vitrine("merge", tmp_path / "a.r0.vitrine")
    assert one.returncode == 2 and "One session is no several ranks." in said(one)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_a_rank_that_dies_leaves_the_others_sessions_whole(tmp_path):
    """Without torchrun, which ends the others itself."""
    program, port = programs(tmp_path, dies=1), str(free_port())
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "VITRINE_TRACE": str(tmp_path / "run.r%r.vitrine")}
    ranks = [
        subprocess.Popen([sys.executable, program], env={**os.environ, **shared, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]  # fmt: skip
    ends = [rank.communicate(timeout=100)[1] for rank in ranks]
    assert ranks[1].returncode == -signal.SIGKILL, ends[1]
    assert ranks[0].returncode not in (0, -signal.SIGKILL), "the collective failed there"
    alive, dead = tmp_path / "run.r0.vitrine", tmp_path / "run.r1.vitrine"
    shown = vitrine("show", alive)
    assert shown.returncode == 0 and "damaged" not in said(shown), said(shown)
    assert query(alive, "SELECT status FROM run") == [("failed",)]
    assert query(alive, "SELECT calls FROM compilation") == [(3,)], "the call whose sum failed is there too"
    merged = vitrine("merge", alive, dead)
    assert merged.returncode == 0 and "died" in merged.stdout, said(merged)
    assert query(dead, "SELECT count(*) FROM compilation") == [(1,)], "what was committed before it died stays"
