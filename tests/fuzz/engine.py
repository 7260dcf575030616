"""The extension module vitrine._engine, also where there is no PyTorch: frames are run without it."""

import importlib.machinery
import importlib.util


def load():
    if importlib.util.find_spec("torch"):
        from vitrine import _engine

        return _engine
    # The package wants PyTorch before anything else of it is imported; the module in its folder does not.
    folder = importlib.machinery.PathFinder.find_spec("vitrine").submodule_search_locations
    spec = importlib.machinery.PathFinder.find_spec("vitrine._engine", folder)
    engine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engine)
    return engine


_engine = load()
