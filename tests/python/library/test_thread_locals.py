"""threading.local: each thread reads and writes its own attributes, and none of that is a break."""

import threading

import pytest
import torch

import vitrine


class Mode(threading.local):
    """Every thread begins with these."""

    def __init__(self):
        self.depth = 0
        self.on = False


class Scaled(threading.local):
    scale = 3.0


MODE, SCALED, PLAIN = Mode(), Scaled(), threading.local()


def program(x):
    MODE.on = not MODE.on
    MODE.depth += 1
    y = x * PLAIN.factor * SCALED.scale + MODE.depth
    if MODE.on:
        y = -y
    if hasattr(PLAIN, "extra"):
        y = y - PLAIN.extra
    SCALED.seen = getattr(SCALED, "seen", 0) + 1
    return y + SCALED.__dict__.get("offset", 0)


def seen_by_two_threads(function) -> list:
    """What it gives and leaves behind here, in two new threads one after the other, and here again."""
    MODE.depth, MODE.on, PLAIN.factor = 0, False, 2.0
    for name in ("seen", "offset"):
        SCALED.__dict__.pop(name, None)
    PLAIN.__dict__.pop("extra", None)
    x, out = torch.arange(3.0), []

    def ask(times):
        for _ in range(times):
            try:
                out.append(function(x).tolist())
            except AttributeError as error:
                out.append(str(error))
            out.append((MODE.depth, MODE.on, getattr(SCALED, "seen", None)))

    def elsewhere():
        ask(1)  # no factor yet
        PLAIN.factor, MODE.depth = 7.0, 20
        ask(3)
        SCALED.scale, SCALED.offset = 1.0, 4.0
        ask(1)

    ask(3)
    PLAIN.extra = 5.0
    ask(1)
    for _ in range(2):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    ask(2)
    return out


def test_each_thread_has_its_own():
    expected = seen_by_two_threads(program)
    vitrine.reset()
    assert seen_by_two_threads(vitrine.compile(program)) == expected


@pytest.mark.parametrize("attribute", ["factor", "missing"])
def test_a_read_is_no_break(attribute):
    PLAIN.factor = 2.0
    vitrine.reset()
    compiled = vitrine.compile(lambda x: x * getattr(PLAIN, attribute, 3.0) + MODE.depth, fullgraph=True)
    MODE.depth = 1
    x = torch.ones(2)
    first = 2.0 if attribute == "factor" else 3.0
    assert compiled(x).tolist() == [first + 1] * 2
    MODE.depth, PLAIN.factor = 4, 5.0
    assert compiled(x).tolist() == [(5.0 if attribute == "factor" else 3.0) + 4] * 2
