"""Signals that come while a function is compiled, and errors that their handlers raise."""

import os
import signal

import torch
from tests.python.programs.registry import scenario


class Alarm(Exception):
    pass


when = {"fake": False, "real": False}


def send(place):
    if when[place]:
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(3):  # Python runs handlers between two instructions
            pass


@torch.library.custom_op("odd_signals::rings", mutates_args=())
def rings(x: torch.Tensor) -> torch.Tensor:
    send("real")
    return x.clone()


@rings.register_fake
def _(x):
    send("fake")
    return torch.empty_like(x)


def told(f, log, *args):
    try:
        log.append(f(*args))
    except (Alarm, KeyboardInterrupt) as error:
        log.append(type(error).__name__)


def with_handler(handler, run):
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        return run()
    finally:
        signal.signal(signal.SIGUSR1, before)
        when.update(fake=False, real=False)


def raise_alarm(*_):
    raise Alarm


@scenario
def a_handler_raises_while_an_operator_runs(compile):
    def f(x):
        y = x * 2
        y = rings(y) + 1
        return y.sin()

    def run():
        log = []
        g = compile(f)
        for ring in (True, False, True, False):
            when["real"] = ring
            told(g, log, torch.ones(3))
        return log

    return with_handler(raise_alarm, run)


def interrupt(*_):
    raise KeyboardInterrupt


@scenario
def a_handler_of_its_own_interrupts_while_an_operator_runs(compile):
    def f(x):
        return rings(x * 2).sin()

    def run():
        log = []
        g = compile(f)
        for ring in (True, False, True):
            when["real"] = ring
            told(g, log, torch.ones(3))
        return log

    return with_handler(interrupt, run)


@scenario
def a_program_tries_again_after_its_alarm(compile):
    def f(x, log):
        try:
            y = rings(x * 2) + 1
            log.append("done")
        except Alarm:
            log.append("alarm")
            y = x
        return y

    def run():
        log = []
        g = compile(f)
        for ring in (True, False, True):
            when["real"] = ring
            told(g, log, torch.ones(3), log)
        return log

    return with_handler(raise_alarm, run)


@scenario
def a_handler_only_counts(compile):
    counted = []

    def f(x):
        return rings(x + 1) * 2

    def run():
        log = []
        g = compile(f)
        for ring in (True, True, False):
            when["real"] = ring
            told(g, log, torch.ones(3))
        return log, len(counted)

    return with_handler(lambda *_: counted.append(1), run)
