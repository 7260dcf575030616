"""Stacks of context managers, bound methods made by hand, log messages."""

import contextlib
import logging
import types

import torch
from tests.python.programs.registry import program, scenario, vec


@contextlib.contextmanager
def noted(log, name, fails=False):
    log.append(("in", name))
    try:
        yield len(name)
    finally:
        log.append(("out", name))
        if fails:
            raise KeyError(name)


@program(vec())
def stack_of_managers(x):
    log = []
    with contextlib.ExitStack() as stack:
        y = x * sum(stack.enter_context(noted(log, n)) for n in ("a", "bb", "ccc"))
        stack.callback(log.append, "called")
        stack.enter_context(torch.no_grad())
        stack.push(lambda *error: log.append(error))
        z = y + 1
    return y, z, log, torch.is_grad_enabled()


@program(vec())
def stack_outlives_its_block(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(noted(log, "a"))
        kept = stack.pop_all()
    y = x + len(log)
    kept.close()
    return y, log


@program(vec())
def stack_whose_managers_fail(x):
    log = []
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(noted(log, "first"))
            stack.enter_context(noted(log, "second", fails=True))
            stack.enter_context(noted(log, "third"))
            y = x + 1
    except KeyError as e:
        log.append(str(e))
    return y, log


@program(vec())
def stack_swallows(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(ValueError))
        stack.enter_context(noted(log, "a"))
        y = x + 1
        raise ValueError("no")
    return y, log


@program(vec())
def stack_over_a_break(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(noted(log, "a"))
        print("break")
        stack.enter_context(noted(log, "b"))
        y = x + 1
    return y, log


class Scales:
    def __init__(self, k):
        self.k = k

    def scale(self, x):
        return x * self.k


@program(vec(), lambda: Scales(3))
def methods_made_by_hand(x, s):
    bound = types.MethodType(Scales.scale, s)
    other = types.MethodType(lambda a, b: (a, b), 5)
    s.twice = types.MethodType(lambda self, t: t * self.k * 2, s)
    return bound(x), other(x)[0], s.twice(x), bound.__self__ is s, bound == s.scale


@scenario
def messages_are_logged(compile):
    said = []
    logger = logging.getLogger("vitrine_odd_messages")
    logger.propagate = False
    handler = logging.Handler()
    handler.emit = lambda record: said.append((record.levelname, record.getMessage(), record.funcName))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)

    def f(x):
        logger.debug("silent %s", x)
        y = x + 1
        logger.info("shape %s", tuple(x.shape))
        if logger.isEnabledFor(logging.DEBUG):
            y = y * 10
        return y

    c = compile(f)
    out = [c(torch.ones(2)), c(torch.ones(2))]
    logger.setLevel(logging.DEBUG)
    out.append(c(torch.ones(2)))
    logger.setLevel(logging.ERROR)
    out += [c(torch.ones(2)), c(torch.ones(2))]
    logging.disable(logging.CRITICAL)
    out.append(c(torch.ones(2)))
    logging.disable(logging.NOTSET)
    logger.setLevel(logging.NOTSET)
    logger.parent.setLevel(level := logger.parent.level)
    out.append(c(torch.ones(2)))
    logger.disabled = True
    out.append(c(torch.ones(2)))
    logger.disabled = False
    logger.removeHandler(handler)
    return out, said, level is not None


@program(vec())
def inference_mode_inside(x):
    with torch.inference_mode():
        y = x * 2
        with torch.inference_mode(False):
            z = x * 3
    return y.is_inference(), z.is_inference(), y, z, torch.is_inference_mode_enabled()
