"""clang-tidy over the sources that differ from a revision, one after another; exit status 1 if it found something.

A file takes some four seconds, the tree half an hour: so no suite runs it. What it looks for stands in .clang-tidy.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("VITRINE_BUILD_DIR", ROOT / "build")).resolve()
WANTED = "19."


def clang_tidy() -> str:
    for name in (Path(sys.executable).parent / "clang-tidy", "clang-tidy-19", "clang-tidy"):
        found = shutil.which(name)
        if found and f"version {WANTED}" in subprocess.run([found, "--version"], capture_output=True, text=True).stdout:
            return found
    sys.exit("clang-tidy 19 was not found. Install clang-tidy-19 of the system, or clang-tidy==19.1.0 with pip.")


def changed(revision: str) -> list[str]:
    """Sources that differ from where this branch left `revision`, and new ones."""
    differing = ["git", "diff", "--name-only", "--diff-filter=d", "--merge-base", revision, "--"]
    out = []
    for command in (differing, ["git", "ls-files", "--others", "--exclude-standard"]):
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if listing.returncode:
            sys.exit(f"git does not tell what differs from {revision}: {listing.stderr.strip()}")
        out += listing.stdout.splitlines()
    return sorted({f for f in out if f.endswith(".cpp") and (ROOT / f).exists()})


def commands(folder: Path) -> set[str]:
    """Configures a build of single files without precompiled headers, whose commands clang-tidy can read; gives the files that have one."""
    options = ["-DVITRINE_UNITY=OFF", "-DVITRINE_PRECOMPILED=OFF", f"-DPython3_EXECUTABLE={sys.executable}"]
    configured = subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], capture_output=True, text=True)
    if configured.returncode:
        sys.exit(f"cmake could not configure {folder}:\n{configured.stderr}")
    path = folder / "compile_commands.json"
    # What Qt's moc generates stands in the folder that was built.
    path.write_text(path.read_text().replace(f"{folder}/", f"{BUILD}/"))
    return {str(Path(row["directory"], row["file"]).resolve()) for row in json.loads(path.read_text())}


def main() -> int:
    parser = argparse.ArgumentParser(prog="vitrine tidy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["main"], help="a revision to compare with (default: main), or sources")
    what = parser.parse_args().what
    tool = clang_tidy()
    files = what if what[0].endswith(".cpp") else changed(what[0])
    folder = BUILD / "single-files"
    known = commands(folder)
    bad = []
    for file in files:
        if str((ROOT / file).resolve()) not in known:
            print(f"{file}: not part of this build", flush=True)
            continue
        print(file, flush=True)
        if subprocess.run([tool, "-p", str(folder), "--quiet", "--extra-arg=-w", file], cwd=ROOT).returncode:
            bad.append(file)
    print(f"found something in: {', '.join(bad)}" if bad else f"{len(files)} sources, nothing found")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
