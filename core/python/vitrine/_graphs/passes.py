"""``vitrine.register_pass``: passes of the user's own in the pipeline."""

import os
import traceback
from collections.abc import Callable

import torch
from torch import fx

from vitrine import _engine

_registered: "list[RegisteredPass]" = []


class RegisteredPass:
    """A pass in the pipeline, as :func:`register_pass` returns it. ``remove()`` takes it out; so does the end of a ``with``."""

    def __init__(self, function: Callable, after: str, key: str, name: str):
        self.function, self.after, self.key, self.name = function, after, key, name
        code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
        self.file = code.co_filename if code else ""
        self.place = f"{os.path.basename(self.file)}:{code.co_firstlineno}" if code else ""

    def remove(self) -> None:
        if self in _registered:
            _put([other for other in _registered if other is not self])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()

    def __repr__(self) -> str:
        state = "" if self in _registered else ", removed"
        return f"<pass {self.name} after {self.after}{state}>"

    def _run(self, facts: dict):
        """What the engine asks for: None, (text, origins), or (what went wrong, where)."""
        from vitrine._graphs.to_fx import Built

        try:
            built = Built(facts)
        except Exception as error:
            return f"was not run: torch.fx has no form of this graph: {type(error).__name__}: {error}", ""
        try:
            return self._made(built)
        except Exception as error:
            return self._told(error), self._where(error)

    def _made(self, built):
        from vitrine._graphs.from_fx import Reading

        replaced = {}

        def note(old, new, user):  # `new` is a name
            replaced.setdefault(new, set()).add(old.meta.get("vitrine", {}).get("name"))

        built.module._register_replace_node_hook(note)
        before = Reading(built.module, built, {}).text()
        with torch.no_grad(), torch.random.fork_rng([]):
            returned = self.function(built.module)
        module = _module_of(returned, built.module)
        reading = Reading(module, built, replaced)
        text = reading.text()
        return None if text == before else (text, reading.origins())

    def _told(self, error: Exception) -> str:
        from vitrine._graphs.from_fx import NotAGraph

        return str(error) if isinstance(error, NotAGraph) else f"raised {type(error).__name__}: {error}"

    def _where(self, error: Exception) -> str:
        """The line of the user's that is nearest to the error; "" where none is on the way."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == self.file or _engine.is_user_file(f.filename)]
        return f"{frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _module_of(returned, given: fx.GraphModule) -> fx.GraphModule:
    """A pass changes what it was given and returns nothing, or returns a module, or what torch.fx's own passes return."""
    from torch.fx.passes.infra.pass_base import PassResult

    if isinstance(returned, PassResult):
        returned = returned.graph_module
    if returned is None:
        return given
    if isinstance(returned, fx.GraphModule):
        return returned
    raise TypeError(f"a pass returns a torch.fx.GraphModule or None, not a {type(returned).__name__}")


def _put(passes: list) -> None:
    _engine.set_passes([(p.name, p.place, p.after, p.key, p._run) for p in passes])
    _registered[:] = passes
    _engine.reset()  # what was compiled without it


def register_pass(function: Callable, *, after: str, key: str | None = None, name: str | None = None) -> RegisteredPass:
    """Has a pass of your own run in the pipeline, on each graph that is compiled from now on.

    Args:
        function: takes a ``torch.fx.GraphModule`` of ``torch.ops`` calls. It changes the module's graph in place, or
            returns another module. Inputs and parameters are placeholders. ``node.meta["val"]`` is what a node computes, as a tensor
            without memory; ``node.meta["stack_trace"]`` is the line that it comes from.
        after: the name of a pass of the pipeline, such as ``"decompose"``, or of a stage: ``"aten"``, ``"decomposed"``,
            ``"optimised"`` (behind its last pass).
        key: says what the pass does, such as a version or a digest of its source. Compiled programs are kept on disk for later
            processes only where each pass has a key, and are found again under the same key alone.
        name: what the session calls it; left out, the function's name.

    Each graph that the pass leaves is checked: its inputs and the types of its results must be those of before, and each
    operator must fit what it is given. A pass that raises, or leaves something else, is left out of that graph, with a
    :class:`VitrineWarning` that names it. Sizes are plain numbers in it: with a pass registered, each new size is compiled by itself.

    A call that is differentiated has two graphs, forward and backward; the pass sees each by itself.

    What was compiled before is compiled again. Returns a :class:`RegisteredPass`, whose ``remove()`` undoes all of it.
    """
    if not callable(function):
        raise TypeError(f"vitrine.register_pass takes a function, not {function!r}")
    if not isinstance(after, str):
        raise TypeError(f"vitrine.register_pass: after takes the name of a pass or stage, not {after!r}")
    if key is not None and (not isinstance(key, str) or not key):
        raise TypeError(f"vitrine.register_pass: key takes a text, not {key!r}")
    name = name or getattr(function, "__name__", type(function).__name__)
    made = RegisteredPass(function, after, key or "", str(name))
    _put([*_registered, made])
    return made
