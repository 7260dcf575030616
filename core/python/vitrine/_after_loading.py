"""Runs functions once a module has been loaded, by whomever and whenever: Vitrine does not load it for that."""

import importlib.util
import sys
from collections.abc import Callable

_waiting: dict[str, list[Callable[[], None]]] = {}


class _Finder:
    """Leaves the finding to the others, and runs what waits behind the module's own code."""

    def find_spec(self, name, path, target=None):
        waiting = _waiting.pop(name, None)
        spec = importlib.util.find_spec(name) if waiting else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            for run in waiting:
                run()

        spec.loader.exec_module = exec_module
        return spec


_finder = _Finder()


def after_loading(name: str, run: Callable[[], None]) -> None:
    """``run()`` now where the module is loaded, else once it is."""
    if name in sys.modules:
        return run()
    if run not in _waiting.setdefault(name, []):
        _waiting[name].append(run)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def no_longer(name: str, run: Callable[[], None]) -> None:
    if run in _waiting.get(name, ()):
        _waiting[name].remove(run)
