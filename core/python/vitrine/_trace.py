"""`VITRINE_TRACE=FILE.vitrine python script.py`: what the script compiles is recorded, as `vitrine run` records a script."""

import atexit
import contextlib
import hashlib
import os
import sys
import warnings

from vitrine._errors import VitrineWarning

# Which process records into a file that is named without %p: its children inherit the environment.
_OWNER = "VITRINE_TRACE_PROCESS"


def start() -> None:
    """Opens the session that the environment names. One that cannot be written is one warning, and the script goes on."""
    name = os.environ.get("VITRINE_TRACE")
    rank = os.environ.get("RANK", "0")  # torchrun's, of all nodes
    if not name or _is_own_tool() or ("%p" not in name and _is_another_s(rank if "%r" in name else "")):
        return
    path = os.path.abspath(name.replace("%p", str(os.getpid())).replace("%r", rank))
    try:
        _record(path)
    except (OSError, RuntimeError) as error:
        _lost(path, error)


def _is_own_tool() -> bool:
    """`vitrine run` and its like have a session of their own, or need none."""
    as_module = sys.argv[:1] == ["-m"] and any(word.startswith("vitrine._tools.") for word in sys.orig_argv)
    return as_module or os.path.dirname(os.path.abspath(sys.argv[0])) == os.path.join(os.path.dirname(__file__), "_tools")


def _is_another_s(rank: str) -> bool:
    """Whether a parent of this process records into the file already; of a file a rank, a parent of the same rank."""
    variable = _OWNER + (f"_{rank}" if rank else "")
    return os.environ.setdefault(variable, str(os.getpid())) != str(os.getpid())


def _lost(path: str, error: Exception) -> None:
    what = str(error).partition("\n")[0]
    warnings.warn(f"vitrine: VITRINE_TRACE={path}: nothing more is recorded: {what}", VitrineWarning, stacklevel=2)


def _put_rank(recording) -> None:
    """Which process of several this is, and by which clock its times count: those of one machine have one clock."""
    from vitrine import _engine

    if not os.environ.get("RANK", "").isdecimal():
        return
    recording.put("meta", key="rank", value=os.environ["RANK"])
    recording.put("meta", key="world_size", value=os.environ.get("WORLD_SIZE", ""))
    recording.put("meta", key="started_monotonic_ns", value=str(_engine.session_started()))
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id") as boot:
        recording.put("meta", key="clock", value=hashlib.sha256(boot.read().encode()).hexdigest()[:16])


def _record(path: str) -> None:
    # All at once: what is imported while the interpreter ends may fail.
    from vitrine import _engine
    from vitrine._tools.evidence import Watch
    from vitrine._tools.loading import raised
    from vitrine._tools.ranges import Ranges
    from vitrine._tools.recording import Recording, settle
    from vitrine._tools.timeline import record_script_timeline

    settle(path)
    recording = Recording(path, 0)
    script = getattr(sys.modules["__main__"], "__file__", None) or sys.argv[0]
    recording.put("meta", key="file", value=os.path.abspath(script))
    _put_rank(recording)
    run = recording.start_run(os.path.basename(script), "script", "", "default")
    _engine.profile(_engine.CALLS_RECORDED)
    watch, ranges, owner = Watch(), Ranges(), os.getpid()

    def finish() -> None:
        error = getattr(sys, "last_value", None)  # what ended the script; not SystemExit, whose status is known later
        status = "cancelled" if isinstance(error, KeyboardInterrupt) else "failed" if error else "finished"
        recording.put("measurement", run=run["id"], kind="script", side="compiled", **watch.evidence())
        record_script_timeline(recording, run, _engine.profile_take(), ranges.take())
        if status == "failed":
            told = raised(error)
            recording.message("error", "user", told.what, told.hint, told.detail, run=run["id"])
        elif not recording.compilations():
            recording.message("warning", "user", "Nothing was compiled.", run=run["id"])
        recording.close_at_exit(run, status)

    def at_exit() -> None:
        if os.getpid() != owner:  # a forked child: the session is its parent's
            return
        try:
            finish()
        except Exception as error:  # the script's own end stays as it is
            _lost(path, error)

    atexit.register(at_exit)
