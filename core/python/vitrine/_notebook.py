"""Vitrine in a notebook: ``%load_ext vitrine`` brings the cell magic ``%%vitrine``, and explanations show themselves as pages."""

import argparse
import contextlib
import html
import os
import shlex
import subprocess
import sys
import tempfile

STYLE = "border-collapse:collapse;margin:4px 0"
MOST_GUARDS = 200


def explanation_page(e) -> str:
    """What ``print`` says of an explanation, as HTML of its own: no script, no colours that a dark page would hide."""
    def count(n, what):
        return f"<b>{n}</b> {what}{'' if n == 1 else 's'}"

    parts = [", ".join([count(e.graph_count, "graph"), count(e.graph_break_count, "graph break"), count(e.op_count, "operator"), count(len(e.guards), "guard")])]
    if e.torch_compile_break_count != e.graph_break_count:
        parts.append(f"<small>torch.compile counts graphs less one: {count(e.torch_compile_break_count, 'graph break')}</small>")
    if e.graph_break_reasons:
        rows = "".join(_break_row(i, reason) for i, reason in enumerate(e.graph_break_reasons, 1))
        head = "".join(f'<th style="text-align:left">{name}</th>' for name in ("", "break", "where", "what to do"))
        parts.append(f'<table style="{STYLE}"><tr>{head}</tr>{rows}</table>')
    for i, (graph, ops) in enumerate(zip(e.graphs, e.ops_per_graph), 1):
        parts.append(_folded(f"graph {i}: {count(len(ops), 'operator')}", graph, e.graph_count == 1))
    if e.guards:
        more = len(e.guards) - MOST_GUARDS
        parts.append(_folded(count(len(e.guards), "guard"), "\n".join(e.guards[:MOST_GUARDS]) + (f"\nand {more} more" if more > 0 else "")))
    parts += [f"<div>{html.escape(text)}</div>" for text in (*e.gradients, *e.messages)]
    return '<div class="vitrine-explanation">' + "".join(f"<div>{part}</div>" for part in parts) + "</div>"


def _break_row(number: int, reason) -> str:
    places = "<br>".join(html.escape(place) for place in reason.stack)
    cells = (str(number), f"{html.escape(reason.reason)} <code>{html.escape(reason.kind)}</code>", places, html.escape(reason.hint))
    return "<tr>" + "".join(f'<td style="text-align:left;vertical-align:top">{cell}</td>' for cell in cells) + "</tr>"


def _folded(title: str, text: str, is_open: bool = False) -> str:
    return f'<details{" open" if is_open else ""}><summary>{title}</summary><pre style="overflow-x:auto">{html.escape(text)}</pre></details>'


def magic(line: str, cell: str, shell) -> None:
    """``%%vitrine [-o FILE.vitrine] [--view VIEW] [--keep]``: runs the cell, records what it compiles, and shows a summary and a
    picture. What was compiled before is forgotten first, so that the cell is seen whole; --keep leaves it."""
    parser = argparse.ArgumentParser(prog="%%vitrine", add_help=False)
    parser.add_argument("-o", "--output")
    parser.add_argument("--view", default="graph")
    parser.add_argument("--keep", action="store_true")
    try:
        options = parser.parse_args(shlex.split(line))
    except SystemExit:
        return
    with tempfile.TemporaryDirectory(prefix="vitrine-") as folder:
        path = os.path.abspath(options.output or os.path.join(folder, "cell.vitrine"))
        try:
            nothing = not record(path, lambda: shell.run_cell(cell), options.keep)
        except (OSError, RuntimeError) as error:
            return print(f"vitrine: {error}", file=sys.stderr)
        if nothing:
            return print("vitrine: the cell compiled nothing.")
        show(path, options.view, folder, bool(options.output))
        if options.output:
            print(f"recorded in {options.output}; to see all of it: vitrine open {options.output}")


def recording_now() -> str:
    """Where this process records a session; "" where it records none."""
    from vitrine import _engine

    with contextlib.suppress(RuntimeError):  # there is none
        return _engine.session_path() or ""
    return ""


def record(path: str, run, keep: bool) -> int:
    """Records what run() compiles; how many compilations there were. Raises OSError and RuntimeError where it cannot be."""
    import vitrine
    from vitrine import _engine
    from vitrine._tools.evidence import Watch
    from vitrine._tools.ranges import Ranges
    from vitrine._tools.recording import Recording, settle
    from vitrine._tools.timeline import record_script_timeline

    if path_now := recording_now():
        raise RuntimeError(f"{path_now} is being recorded; one process records one session at a time.")
    if not keep:
        vitrine.reset()
    settle(path)
    recording = Recording(path, 0)
    row = recording.start_run("notebook cell", "cell", "", "default")
    _engine.profile(_engine.CALLS_RECORDED)
    watch, ranges, status = Watch(), Ranges(), "failed"
    try:
        outcome = run()
        status = "finished" if getattr(outcome, "success", True) else "failed"
    finally:
        recording.put("measurement", run=row["id"], kind="script", side="compiled", **watch.evidence())
        record_script_timeline(recording, row, _engine.profile_take(), ranges.take())
        _engine.profile(0)
        recording.end_run(row, status)
        compiled = recording.compilations()
        recording.close(status)
    return compiled


def show(path: str, view: str, folder: str, kept: bool) -> None:
    """The summary as text, and a picture where the application is there to paint it. A session that is not kept is gone
    afterwards: how to see more of it is no advice then."""
    from vitrine._tools.doctor import own_program

    cli = own_program("vitrine")
    if cli is None:
        return print("vitrine: the command line is not installed, so there is no summary.", file=sys.stderr)
    told = subprocess.run([cli, "show", path], capture_output=True, text=True)
    summary, more, _ = (told.stdout or told.stderr).partition("\nIn brackets: ")
    print((told.stdout or told.stderr) if kept or not more else f"{summary}\nTo keep the session, and see more of it: %%vitrine -o FILE.vitrine\n", end="")
    picture = os.path.join(folder, "picture.png")
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    painted = subprocess.run([cli, "shot", path, view, picture], capture_output=True, text=True, env=env)
    if not os.path.exists(picture):
        said = painted.stderr.strip().splitlines()
        return print(f"no picture: {said[0] if said else 'the application painted none'}", file=sys.stderr)
    with contextlib.suppress(ImportError):
        from IPython.display import Image, display

        return display(Image(filename=picture))


def load(shell) -> None:
    """What ``%load_ext vitrine`` runs."""
    shell.register_magic_function(lambda line, cell: magic(line, cell, shell), "cell", "vitrine")
