"""What CUPTI records becomes slices of the timeline: from bytes as CUPTI lays them out, without a GPU."""

import random
import struct
import subprocess
import sys

import pytest
from vitrine import _engine
from vitrine._tools import gpu
from vitrine._tools.timeline import Slice

KERNEL, COPY, SET, RUNTIME, DRIVER, OVERHEAD, WAIT, GRAPH = 10, 1, 2, 5, 4, 17, 38, 51


def record(size, **fields):
    """A record of `size` bytes; fields: offset_<n>=(format, value)."""
    out = bytearray(size)
    for place, (form, value) in fields.items():
        struct.pack_into("<" + form, out, int(place.removeprefix("at")), value)
    return bytes(out)


def entry(data: bytes, name: str = "") -> bytes:
    return struct.pack("<II", len(data), len(name)) + data + name.encode()


# By cupti_activity.h of CUDA 13.0, field by field, packed: CUpti_ActivityKernel10 (the first 152 of 216 bytes) ...
def kernel(name, start, end, correlation, stream=7, graph_node=0):
    return entry(
        record(152, at0=("I", KERNEL), at6=("H", 32), at16=("Q", start), at24=("Q", end), at40=("I", 0), at48=("I", stream), at52=("i", 96),
               at56=("i", 2), at60=("i", 1), at64=("i", 128), at68=("i", 1), at72=("i", 1), at76=("i", 1024), at80=("i", 512),
               at92=("I", correlation), at144=("Q", graph_node)), name)  # fmt: skip


def call(name, start, end, correlation, kind=RUNTIME, thread=77):
    return entry(record(40, at0=("I", kind), at4=("I", 211), at8=("Q", start), at16=("Q", end), at28=("I", thread), at32=("I", correlation)), name)


def copy(start, end, correlation, kind=1, size=4096):
    return entry(record(72, at0=("I", COPY), at4=("B", kind), at8=("Q", size), at16=("Q", start), at24=("Q", end), at40=("I", 7), at44=("I", correlation)))


def memset(start, end, correlation):
    return entry(record(72, at0=("I", SET), at8=("Q", 64), at16=("Q", start), at24=("Q", end), at40=("I", 7), at44=("I", correlation)))


def wait(start, end, correlation=0):
    return entry(record(40, at0=("I", WAIT), at4=("I", 3), at8=("Q", start), at16=("Q", end), at24=("I", correlation), at32=("I", 7)))


def overhead(start, end):
    return entry(record(40, at0=("I", OVERHEAD), at4=("I", 1 << 16), at24=("Q", start), at32=("Q", end)))


LOG = b"".join([
    kernel("vitrine_kernel", 2_000, 2_900, 5),
    call("cudaLaunchKernel_v7000", 1_100, 1_300, 5),
    call("cuLaunchKernel", 1_400, 1_500, 6, kind=DRIVER),
    kernel("_Z6vectorIfEvPT_", 3_000, 3_500, 6, graph_node=9),
    copy(3_600, 3_700, 8), memset(3_800, 3_900, 9), wait(4_000, 4_400), overhead(4_500, 4_600),
])  # fmt: skip


def test_records_are_read():
    rows = _engine.gpu_activities(LOG)
    assert [r["start"] for r in rows] == sorted(r["start"] for r in rows)
    ours = next(r for r in rows if r["name"] == "vitrine_kernel")
    expected = dict(kind="kernel", start=2_000, end=2_900, stream=7, correlation=5, blocks=192, threads=128, registers=32, shared_bytes=1536)
    assert {k: ours[k] for k in expected} == expected
    kinds = {(r["kind"], r["name"], r["bytes"]) for r in rows}
    assert {("copy", "copy HtoD", 4096), ("set", "memset", 64), ("wait", "wait for stream", 0)} <= kinds
    assert ("overhead", "CUPTI empties buffers", 0) in kinds
    assert {r["kind"]: r["thread"] for r in rows}["runtime_call"] == 77
    assert {"cudaLaunchKernel", "cuLaunchKernel"} <= {r["name"] for r in rows}
    assert next(r for r in rows if r["graph_node"])["graph_node"] == 9


def test_what_has_no_time_or_is_unknown_is_left_out():
    unknown = entry(record(40, at0=("I", 36)))
    assert _engine.gpu_activities(unknown + kernel("k", 0, 0, 1) + kernel("k", 9, 8, 1)) == []


@pytest.mark.parametrize("cut", range(0, len(LOG), 37))
def test_a_log_that_ends_early_gives_what_is_whole(cut):
    assert len(_engine.gpu_activities(LOG[:cut])) <= len(_engine.gpu_activities(LOG))


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_log_is_read_without_harm(seed):
    r = random.Random(seed)
    bad = bytearray(LOG)
    for _ in range(8):
        bad[r.randrange(len(bad))] = r.randrange(256)
    _engine.gpu_activities(bytes(bad))


OWNERS = [
    # what the CPU does: an operator with another inside, and a launch of the plan
    (1_000, 1_350, "K0 add_mul", "pointwise", 41, 41),
    (1_360, 1_900, "linear", "matmul", 42, 52),
    (1_390, 1_600, "addmm", "matmul", 43, 53),
]


def test_a_kernel_belongs_to_what_launched_it():
    lanes = gpu.slices_of(gpu.within(_engine.gpu_activities(LOG), 1_000, 5_000), 1_000, OWNERS, Slice)
    ours, theirs = lanes["stream", 0, 7][:2]
    assert (ours.name, ours.family, ours.entity, ours.relation) == ("K0 add_mul", "pointwise", 41, 41)
    assert (ours.start, ours.duration) == (1_000, 900)
    # The innermost operator around the call, over a CUDA graph's node as well.
    assert (theirs.family, theirs.entity, theirs.relation) == ("matmul", 43, 53)
    assert [s.entity for s in lanes["api", 77]] == [41, 43]
    assert set(lanes) == {("stream", 0, 7), ("api", 77), ("wait",), ("overhead",)}
    assert gpu.time_of_launches(lanes) == {41: 900, 43: 500}


def test_what_an_operator_calls_does_its_work():
    """The node stands for layer_norm; the kernel is launched in native_layer_norm, which no node stands for."""
    owners = [*OWNERS, (1_395, 1_590, "native_layer_norm", "opaque", 0, 0)]
    lanes = gpu.slices_of(gpu.within(_engine.gpu_activities(LOG), 1_000, 5_000), 1_000, owners, Slice)
    theirs = lanes["stream", 0, 7][1]
    assert (theirs.family, theirs.entity, theirs.relation) == ("matmul", 43, 53)


def test_another_calls_kernels_are_left_out():
    late = call("cudaLaunchKernel_v7000", 9_000, 9_100, 30) + kernel("late", 9_200, 9_300, 30)
    rows = gpu.within(_engine.gpu_activities(LOG + late), 1_000, 5_000)
    assert all(r["name"] != "late" for r in rows)
    # What was launched inside and runs after the end stays.
    tail = call("cudaLaunchKernel_v7000", 4_900, 4_950, 31) + kernel("tail", 9_400, 9_500, 31)
    assert any(r["name"] == "tail" for r in gpu.within(_engine.gpu_activities(LOG + tail), 1_000, 5_000))


def test_without_cupti_it_is_said_what_is_missing():
    program = "import torch; from vitrine import _engine; print(_engine.gpu_recording_start('/nowhere/libcupti.so')); print(_engine.gpu_recording_stop())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    if first == "None":
        pytest.skip("there is a CUPTI here")
    assert "CUPTI" in first and second == "(b'', 0)"
