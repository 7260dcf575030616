"""Where the user's own code raised, as rows of the session: its file and the expression, so that the source can be shown."""

import contextlib
import hashlib
import linecache
import traceback

from vitrine import _engine
from vitrine._tools.session_file import read_own


def innermost(error: BaseException) -> tuple[str, int, int, int, int] | None:
    """(file, line, column, end line, end column) of the user's own frame that is nearest to the error, or of the file's
    place that is no Python; lines from 1, columns from 0 in UTF-8 bytes, the end's 0 = not known."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        text = linecache.getline(error.filename, error.lineno)
        column = len(text[: max(0, (error.offset or 1) - 1)].encode())
        return error.filename, error.lineno, column, error.lineno, len(text.rstrip().encode())
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _engine.is_user_file(f.filename)]
    if not frames:
        return None
    last = frames[-1]
    columns = (last.colno or 0, last.end_lineno or last.lineno, last.end_colno or 0)
    return last.filename, last.lineno, *columns


def known_file(session: str, path: str) -> int:
    """The row that the engine wrote of a file, or 0."""
    with contextlib.closing(read_own(session)) as db:
        found = db.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
    return found[0] if found else 0


def record_place(recording, error: BaseException | None) -> int:
    """The id of the expression that raised; 0: it is in no file of the user's."""
    place = innermost(error) if error is not None else None
    if not place:
        return 0
    path, line, column, end_line, end_column = place
    text = "".join(linecache.getlines(path))
    if not text:
        return 0
    recording.commit()
    file = known_file(recording.path, path)
    if not file:
        file = recording.put("file", path=path, sha256=hashlib.sha256(text.encode()).hexdigest(), text=text, user=1)
    return recording.put("span", file=file, line=line, col=column, end_line=end_line, end_col=end_column)
