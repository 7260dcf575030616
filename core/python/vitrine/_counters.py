"""torch._dynamo's own counters and callbacks, told of what Vitrine compiles while torch.compile is Vitrine's."""

import sys


def _is_taken_over() -> bool:
    import torch

    return getattr(torch.compile, "__module__", "") == "vitrine.take_over"


def _handler():
    """torch._dynamo's callback handler where a program has given it callbacks, else None."""
    module = sys.modules.get("torch._dynamo.callback")
    handler = getattr(module, "callback_handler", None)
    return handler if handler and _is_taken_over() and (handler.start_callbacks or handler.end_callbacks) else None


def _arguments():
    from torch._dynamo.callback import CallbackArgs, CallbackTrigger

    return CallbackArgs(CallbackTrigger.DYNAMO, "")


def begins() -> None:
    if handler := _handler():
        handler.run_start_callbacks(_arguments())


def ends(calls: int, reason: str) -> None:
    """calls: of the graph; -1: there is none. reason: of the break that the graph ends with."""
    if handler := _handler():
        handler.run_end_callbacks(_arguments())
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    if counters is None or not _is_taken_over():
        return
    counters["frames"]["total"] += 1
    counters["frames"]["ok"] += calls >= 0
    if calls >= 0:
        counters["stats"]["calls_captured"] += calls
        counters["stats"]["unique_graphs"] += 1
    if reason:
        counters["graph_break"][reason] += 1
