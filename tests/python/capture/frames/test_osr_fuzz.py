"""Frames left at random instructions behave as in plain CPython, and nothing leaks."""

import gc
import os
import random
import sys
import threading

import pytest
import torch
from tests.fuzz import library, osr_fuzz, syntax

@pytest.fixture(scope="module")
def seed(request):
    number = int(os.environ.get("VITRINE_FUZZ_SEED", random.SystemRandom().getrandbits(32)))
    print(f"VITRINE_FUZZ_SEED={number}")
    return number


def test_random_exits_change_nothing(seed):
    totals, mismatches = osr_fuzz.run(seed, exits=250_000, seconds=120)
    assert not mismatches, f"seed {seed}: {mismatches[0]}"
    assert totals["forced"] >= 200_000 and totals["throws"] > 1000 and totals["returns"] > 10_000, totals


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the models are tiny
    yield
    torch.set_num_threads(threads)


def test_threads_may_be_forced_at_the_same_time(seed):
    # No syntax trees: CPython 3.11 counts how deep it is in making one in a place that threads share.
    alone = (library.wrapping, library.json_text, library.pickles, syntax.closures, syntax.try_forms)
    expected = {p: osr_fuzz.plain(p) for p in alone}
    wrong, forced = [], []

    def work(number):
        totals = {}
        for i in range(60):
            program = alone[(number + i) % len(alone)]
            got = osr_fuzz.forced(program, seed + 1000 * number + i, osr_fuzz.GAPS[i % len(osr_fuzz.GAPS)], totals)
            if got != expected[program]:
                wrong.append((program.__name__, got))
        forced.append(totals["forced"])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not wrong and len(forced) == 4 and min(forced) > 500, (seed, wrong[:1], forced)


@pytest.fixture(scope="module")
def small_heap():
    gc.collect()
    gc.freeze()  # PyTorch's own objects would make each collection slow
    yield
    gc.unfreeze()


@pytest.mark.parametrize("program", osr_fuzz.PROGRAMS, ids=lambda p: p.__name__)
def test_random_exits_leak_nothing(program, seed, small_heap):
    kept = osr_fuzz.growth(program, seed)
    assert not kept, f"seed {seed}: {kept[0]} blocks or objects in {kept[1]} runs"


def test_a_leak_would_be_seen(small_heap):
    kept = []
    blocks, objects = osr_fuzz.leaked(lambda: kept.append([]), 56, 1)
    assert blocks >= 56 and objects >= 56


def test_a_wrong_exit_would_be_seen():
    """The comparison sees a frame whose instruction was lost: the programs raise and return what they should."""
    seen = {osr_fuzz.plain(p)[0] for p in syntax.PROGRAMS}
    assert seen == {"value", "error"}
    assert osr_fuzz.plain(syntax.raise_deep)[3][-1][1] == "fail"
