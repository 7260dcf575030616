"""The kernel cache: code from it is run, so nobody else may have written it; what is wrong with it is told once."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.python.support.command_line import said, vitrine, write
from tests.python.support.kernel_cache import content, objects, put

PROGRAM = """
import os, sys, warnings
import torch, vitrine
torch.set_num_threads(1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = torch.linspace(-1, 1, 64)
    for f in (lambda x: (x * 3 + 1).relu(), lambda x: (x - 2).exp() * x):
        with torch.no_grad():
            assert torch.allclose(vitrine.compile(f)(x), f(x), atol=1e-6), "a wrong result"
            vitrine.reset()
for warning in caught:
    print("warning:", warning.message)
print("right")
"""


def run(folder, cache, *, env=None, words=()):
    path = write(folder, "program.py", PROGRAM)
    env = {**os.environ, "VITRINE_CACHE_DIR": str(cache), **(env or {})}
    result = subprocess.run([*words, sys.executable, path], env=env, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and result.stdout.endswith("right\n"), said(result)
    return result.stdout


def mode(path):
    return oct(os.lstat(path).st_mode & 0o7777)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled")
    assert run(folder, folder / "cache") == "right\n" and len(objects(folder / "cache")) == 2
    return folder / "cache"


@pytest.fixture
def cache(tmp_path, filled):
    shutil.copytree(filled, tmp_path / "cache")
    return tmp_path / "cache"


@pytest.mark.parametrize("umask", ["000", "002", "077"])
def test_files_are_for_their_owner_alone(tmp_path, umask):
    cache = tmp_path / "a/cache"
    words = ["bash", "-c", f'umask {umask}; exec "$@"', "bash"]
    for _ in range(2):  # the second finds what the first has made
        assert run(tmp_path, cache, words=words) == "right\n"
    assert {mode(path) for path in [cache, *(p for p in cache.rglob("*") if p.is_dir())]} == {"0o700"}
    assert {mode(path) for path in cache.rglob("*") if path.is_file()} == {"0o600"}


def exchanged(paths):
    texts = [path.read_bytes() for path in paths]
    for path, text in zip(paths, texts[1:] + texts[:1]):
        path.write_bytes(text)


def each(change):
    return lambda paths: [change(path) for path in paths]


def as_folder(path):
    path.unlink()
    path.mkdir()


def as_pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


def as_link(path):
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


DAMAGE = [
    ("exchanged", exchanged),
    ("cut", each(lambda path: os.truncate(path, 3000))),
    ("empty", each(lambda path: os.truncate(path, 0))),
    ("of the old format", each(lambda path: path.write_bytes(content(path) + b"VTRKOBJ1" + bytes(16)))),
    ("a changed byte", each(lambda path: path.write_bytes(content(path)[:900] + b"\xff" + path.read_bytes()[901:]))),
    ("sealed by another", each(lambda path: put(path, content(path), secret=b"another secret"))),
    ("folders", each(as_folder)),
    ("pipes", each(as_pipe)),
    ("links", each(as_link)),
    ("others may write", each(lambda path: path.chmod(0o666))),
]


@pytest.mark.parametrize("damage", [d[1] for d in DAMAGE], ids=[d[0] for d in DAMAGE])
def test_an_entry_that_is_not_as_it_was_written_is_not_run(tmp_path, cache, damage):
    good = {path: content(path) for path in objects(cache)}
    damage(list(good))
    assert run(tmp_path, cache) == "right\n"
    assert {path: content(path) for path in objects(cache)} == good  # compiled anew


def test_a_sealed_object_that_cannot_be_loaded_is_compiled_anew(tmp_path, cache):
    for path in objects(cache):
        put(path, b"\x7fELF" + bytes(300))
    assert run(tmp_path, cache) == "right\n"


def test_a_folder_of_our_own_that_was_open_to_all_is_made_private(tmp_path, cache):
    for folder in (cache, cache / "kernels"):
        folder.chmod(0o777)
    inode = {path: path.stat().st_ino for path in objects(cache)}
    assert run(tmp_path, cache) == "right\n"
    assert mode(cache) == "0o755" and mode(cache / "kernels") == "0o700"
    assert inode == {path: path.stat().st_ino for path in objects(cache)}  # and is used


@pytest.mark.parametrize("bits", [0o777, 0o775])
def test_why_a_cache_is_refused_is_said_once(tmp_path, bits):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "another's").touch()
    shared.chmod(bits)
    out = run(tmp_path, shared / "cache")
    assert out.count("warning:") == 1 and "the kernel cache is not used: other users may write to it" in out, out
    assert str(shared) in out and "chmod go-w" in out and not (shared / "cache/kernels").exists()
    shared.chmod(0o1777)  # as /tmp
    assert run(tmp_path, shared / "cache") == "right\n"


def test_a_recorded_run_tells_why_a_cache_is_refused(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "another's").touch()
    shared.chmod(0o777)
    write(tmp_path, "m.py", "def f(x):\n    return x * 2\n")
    result = vitrine("run", "m.py", "--entry", "f", "--input", "f32[8]", "--repeats", 0, cwd=tmp_path, env={"VITRINE_CACHE_DIR": str(shared / "cache")})
    assert result.returncode == 0 and result.stdout.count("other users may write to it") == 1, said(result)


@pytest.mark.parametrize("name", ["50%", "%s %n", "a b", "ü", "a'b\"c", "-o"])
def test_any_name_of_a_cache_folder(tmp_path, name):
    cache = tmp_path / name
    assert run(tmp_path, cache) == "right\n" and len(objects(cache)) == 2
    inode = {path: path.stat().st_ino for path in objects(cache)}
    assert run(tmp_path, cache) == "right\n" and inode == {path: path.stat().st_ino for path in objects(cache)}


def test_the_key_is_the_users_alone_and_another_key_makes_other_entries(tmp_path, cache):
    before = set(objects(cache))
    state = tmp_path / "state"
    assert run(tmp_path, cache, env={"XDG_STATE_HOME": str(state)}) == "right\n"
    assert mode(state / "vitrine/cache.key") == "0o600" and mode(state / "vitrine") == "0o700"
    assert len(set(objects(cache)) - before) == 2 and before <= set(objects(cache))
    os.truncate(state / "vitrine/cache.key", 5)  # made anew
    assert run(tmp_path, cache, env={"XDG_STATE_HOME": str(state)}) == "right\n"
    assert (state / "vitrine/cache.key").stat().st_size == 32


def test_a_user_without_a_place_for_the_key_keeps_it_beside(tmp_path):
    write(tmp_path, "file", "")
    env = {"XDG_STATE_HOME": str(tmp_path / "file")}
    for _ in range(2):
        assert run(tmp_path, tmp_path / "cache", env=env) == "right\n"
    assert len(objects(tmp_path / "cache")) == 2 and (tmp_path / "cache/kernels/cache.key").stat().st_size == 32


MAPPINGS = """
import gc, os
import torch, vitrine
torch.set_num_threads(1)
def mapped():
    return sum("/kernels/" in line or "memfd:vitrine" in line for line in open("/proc/self/maps"))
def make(n):
    scope = {}
    exec(f"def f(x):\\n    return (x * {n} + 1).relu()", scope)
    f = vitrine.compile(scope["f"])
    with torch.no_grad():
        f(torch.ones(8))
    return f
kept = [make(n) for n in range(12)]
many = mapped()
del kept
vitrine.reset()
gc.collect()
print(many, mapped())
"""


def test_kernels_that_are_forgotten_are_unmapped(tmp_path):
    env = {**os.environ, "VITRINE_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):  # compiled, and from the cache
        end = subprocess.run([sys.executable, write(tmp_path, "p.py", MAPPINGS)], env=env, capture_output=True, text=True, timeout=120)
        many, left = map(int, end.stdout.split())
        assert many >= 12 and left == 0, end.stdout + end.stderr


# The owner of a cache, who may also read the project wherever it is, and another user of the same group.
USERS = (
    ["setpriv", "--reuid=20001", "--regid=30000", "--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"],
    ["setpriv", "--reuid=20002", "--regid=30000", "--clear-groups"],
)


def can_be_two_users():
    return os.geteuid() == 0 and shutil.which("setpriv") and subprocess.run([*USERS[0], "true"], capture_output=True).returncode == 0


as_root = pytest.mark.skipif(not can_be_two_users(), reason="needs root, to be two users")


@pytest.fixture
def place():
    """A folder of the first user's that the second can reach."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o2775)
    os.chown(folder, 20001, 30000)
    yield folder
    shutil.rmtree(folder)


def run_as_owner(place, cache, umask="002"):
    write(place, "program.py", PROGRAM)
    words = [*USERS[0], "bash", "-c", f'umask {umask}; exec "$@"', "bash", sys.executable, place / "program.py"]
    env = {**os.environ, "VITRINE_CACHE_DIR": str(cache), "HOME": str(place), "XDG_STATE_HOME": "", "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and result.stdout.endswith("right\n"), said(result)
    return result.stdout


def refused(words):
    return subprocess.run([*USERS[1], *map(str, words)], capture_output=True).returncode != 0


@as_root
def test_another_user_of_the_group_can_neither_read_nor_write_nor_list_a_cache(place):
    place.chmod(0o755)
    cache = place / "cache"
    assert run_as_owner(place, cache) == "right\n"
    (one, _) = objects(cache)
    secret = place / ".local/state/vitrine/cache.key"
    for path in (one, secret):
        assert path.exists() and refused(["cat", path]) and refused(["cp", "/bin/true", path]) and refused(["rm", "-f", path])
    assert refused(["ls", cache]) and refused(["touch", cache / "kernels/new.so"]) and refused(["mv", cache, place / "gone"])
    assert run_as_owner(place, cache) == "right\n"


@as_root
def test_what_another_user_put_into_an_open_cache_is_not_run(place):
    """As an earlier Vitrine under a generous umask left it: the folders open to the group, an object of the other's in place."""
    cache = place / "cache"
    (cache / "kernels").mkdir(parents=True)
    place.chmod(0o755)
    for folder in (cache, cache / "kernels"):
        os.chown(folder, 20001, 30000)
    assert run_as_owner(place, cache) == "right\n"
    for folder in (cache, cache / "kernels"):
        folder.chmod(0o2775)
    for path in objects(cache):
        path.chmod(0o664)
        assert not refused(["dd", "if=/bin/true", f"of={path}", "status=none"])
        assert not refused(["touch", path.parent / "planted.so"])
    assert run_as_owner(place, cache) == "right\n"
    assert mode(cache / "kernels") == "0o700"


@as_root
@pytest.mark.parametrize("bits", [0o777, 0o775])
def test_a_cache_that_another_user_can_exchange_is_refused(place, bits):
    shared = place / "shared"
    shared.mkdir()
    os.chown(shared, 20001, 30000)
    shared.chmod(bits)
    assert not refused(["mkdir", shared / "cache"])  # the other user was here first
    out = run_as_owner(place, shared / "cache")
    assert out.count("warning:") == 1 and "the kernel cache is not used" in out, out


@as_root
def test_a_link_of_another_users_is_not_followed(place):
    place.chmod(0o1777)
    (place / "real").mkdir()
    os.chown(place / "real", 20001, 30000)
    assert not refused(["ln", "-s", place / "real", place / "cache"])
    out = run_as_owner(place, place / "cache")
    assert "a link on the way to it belongs to another user" in out and not list((place / "real").iterdir()), out
