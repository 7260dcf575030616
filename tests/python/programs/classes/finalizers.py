"""Objects whose __del__ tells, and what holds them is changed between tensor work."""

import collections

import torch
from tests.python.programs.registry import scenario


class Tells:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __del__(self):
        self.log.append(self.name)


def times_logged(compile, change, make):
    """What the log holds after each of three calls of change(x, log, holder), which works on a fresh holder."""
    f = compile(change)
    out = []
    for _ in range(3):
        log = []
        holder = make(log)
        y = f(torch.arange(3.0), log, holder)
        log.append("out")
        out += [y, list(log)]
        del holder
        out.append(list(log))
    return out


def two(log):
    return [Tells("first", log), Tells("second", log)]


@scenario
def a_list_is_filled_anew(compile):
    def change(x, log, held):
        log.append("begin")
        held[:] = [x * 2]
        log.append("end")
        return held[0] + 1

    return times_logged(compile, change, two)


@scenario
def an_item_is_replaced(compile):
    def change(x, log, held):
        y = x * 2
        held[0] = y
        log.append("end")
        return y + 1

    return times_logged(compile, change, two)


@scenario
def what_a_list_held_is_told_by_a_later_call(compile):
    def change(x, log, held):
        y = x * 2
        held[0] = y
        log.append("end")
        return y + 1

    f = compile(change)
    out = []
    for make in (Tells, lambda name, log: name, Tells, Tells):
        log = []
        held = [make("first", log), 2]
        out += [f(torch.arange(3.0), log, held), list(log)]
    return out


@scenario
def a_dict_a_set_and_a_deque_let_go(compile):
    def change(x, log, held):
        log.append("begin")
        y = x * 2
        held["dict"]["a"] = y
        y = y + 1
        held["dict"].pop("b", None)
        log.append("popped")
        held["set"].clear()
        y = y * 3
        held["deque"].appendleft(y)
        held["deque"].pop()
        log.append("end")
        return y

    def make(log):
        return {
            "dict": {"a": Tells("a", log), "b": Tells("b", log)},
            "set": {Tells("in a set", log)},
            "deque": collections.deque([Tells("in a deque", log)]),
        }

    return times_logged(compile, change, make)


@scenario
def an_attribute_is_replaced(compile):
    class Holder:
        pass

    class Slotted:
        __slots__ = ("own",)

    def change(x, log, held):
        y = x * 2
        held.own = y
        log.append("end")
        return y + held.own

    def make(kind):
        def made(log):
            holder = kind()
            holder.own = Tells("attribute", log)
            return holder

        return made

    return times_logged(compile, change, make(Holder)), times_logged(compile, change, make(Slotted))


@scenario
def an_attribute_tells_in_a_later_call(compile):
    class Holder:
        pass

    def change(x, log, held):
        y = x * 2
        held.own = y
        log.append("end")
        return y + held.own

    f = compile(change)
    out = []
    for kind in (lambda name, log: None, Tells, lambda name, log: 3, Tells):
        log = []
        holder = Holder()
        holder.own = kind("attribute", log)
        out += [f(torch.arange(3.0), log, holder), list(log)]
    return out


@scenario
def what_was_put_in_is_taken_out(compile):
    def change(x, log, held):
        held.append(Tells("put in", log))
        y = x * 2
        held[0] = 5
        log.append("end")
        return y

    return times_logged(compile, change, lambda log: [])


@scenario
def a_variable_of_an_outer_function_is_replaced(compile):
    log = []

    def outer():
        held = Tells("in a cell", log)

        def change(x):
            nonlocal held
            y = x * 2
            held = y
            log.append("end")
            return y

        return change

    out = []
    for _ in range(3):
        f = compile(outer())
        out += [f(torch.arange(3.0)), list(log)]
    return out


HELD = None


@scenario
def a_global_is_replaced(compile):
    def change(x, log, held):
        global HELD
        log.append("begin")
        HELD = x * 2
        log.append("end")
        return HELD + len(log)

    def make(log):
        global HELD
        HELD = Tells("global", log)

    return times_logged(compile, change, make)


@scenario
def a_global_that_tells_later(compile):
    def change(x, log):
        global HELD
        log.append("begin")
        HELD = None
        log.append("end")
        return x + len(log)

    f = compile(change)
    global HELD
    out = []
    for make in (lambda log: 1, lambda log: 2, lambda log: Tells("third", log), lambda log: [Tells("fourth", log)], lambda log: None):
        log = []
        HELD = make(log)
        out += [f(torch.ones(2), log), log]
    return out
