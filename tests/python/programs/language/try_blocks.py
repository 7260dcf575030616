"""Try, except, else and finally inside one another; chains and groups of exceptions."""

import torch
from tests.python.programs.language.flow import Custom
from tests.python.programs.registry import program, vec


@program(vec())
def nested_finally(x):
    log = []

    def f():
        for i in range(4):
            try:
                try:
                    if i == 1:
                        continue
                    if i == 2:
                        break
                    x.sum().item()
                finally:
                    log.append(("inner", i))
            finally:
                log.append(("outer", i))
        try:
            return x + len(log)
        finally:
            log.append("return")

    return f(), log


@program(vec())
def return_in_finally(x):
    try:
        return x + 1 / 0
    finally:
        return x * 2  # noqa: B012


@program(vec())
def exception_chain(x):
    try:
        try:
            x.view(7)
        except RuntimeError as e:
            raise KeyError("outer") from e
    except KeyError as e:
        return x + 1, type(e.__cause__).__name__, e.__context__ is e.__cause__, e.args, e.__suppress_context__


@program(vec())
def exception_name_is_unbound_afterwards(x):
    e = 3
    try:
        raise ValueError
    except ValueError as e:
        x = x + 1
    return x, e


@program(vec())
def custom_exception_carries_tensor(x):
    try:
        raise Custom(x * 2)
    except (KeyError, Custom) as e:
        return e.tensor + 1, e.args, str(e)
    else:
        return 0


@program(vec())
def reraise(x):
    try:
        raise Custom(x, 8)
    except Custom:
        x.add_(1)
        raise


@program(vec())
def exception_group(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as g:
        x = x + len(g.exceptions)
    except* TypeError:
        x = x * 3
    return x


@program(vec())
def try_else_in_loop(x):
    out = []
    for i in range(3):
        try:
            y = x[i * 3]
        except IndexError as e:
            out.append(type(e).__name__)
        else:
            out.append(y + i)
    return out


@program(vec())
def error_in_argument_evaluation(x):
    log = []

    def note(v):
        log.append(v)
        return v

    try:
        torch.add(note(x), note(1 // 0), note(3))
    except ZeroDivisionError:
        log.append("z")
    return log[1:], x
