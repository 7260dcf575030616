"""A cache folder of a test's own, and what became of the programs that were looked for in it."""

import contextlib

import vitrine
from vitrine import _engine


@contextlib.contextmanager
def cache_in(folder):
    """Programs are kept in `folder` meanwhile."""
    before = vitrine.config.cache_dir
    vitrine.config.cache_dir = str(folder)
    yield folder
    vitrine.config.cache_dir = before
    vitrine.reset()


def entries(cache):
    return sorted((cache / "programs").glob("*.program"))


def looked_up(call):
    """What became of the programs that a fresh compilation looked for: ({"found": 1}, why the last was not)."""
    vitrine.reset()
    before = _engine.kept_programs()
    result = call()
    after = _engine.kept_programs()
    changed = {k: after[k] - before[k] for k in ("found", "missed", "refused", "left_out") if after[k] != before[k]}
    return changed, after["why"], result
