"""What is recorded of times beside them: which call is kept, how the calls scatter, and whether the machine was busy; and
that no speed-up, ceiling or call is claimed that was not measured."""

import json
import os
import random
import sqlite3

import pytest
import torch
from tests.python.support.command_line import TINY, said, vitrine, write

from vitrine._tools import bench, ceilings, evidence, timeline


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("times")
    path = folder / "s.vitrine"
    result = vitrine("run", write(folder, "tiny.py", TINY), "-o", path, "--repeats", 3)
    assert result.returncode == 0, said(result)
    return path, result.stdout


def rows(path, query):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    return db.execute(query).fetchall()


def test_every_measurement_is_recorded_with_its_spread_and_evidence(session):
    found = {(row["kind"], row["side"]): row for row in rows(session[0], "SELECT * FROM measurement")}
    assert set(found) == {(kind, side) for kind in ("plain", "profiled") for side in ("eager", "compiled")}
    for (kind, side), row in found.items():
        assert 0 < row["least_ns"] <= row["lower_ns"] <= row["median_ns"] <= row["upper_ns"] <= row["most_ns"]
        assert row["wall_ns"] > 0 and row["cores"] > 0 and row["threads"] == torch.get_num_threads() and row["preempted"] >= 0
        assert row["calls"] == 3 if kind == "plain" else timeline.REPETITIONS[0] <= row["calls"] <= timeline.REPETITIONS[1]
        assert (row["kept"], row["kept_ns"]) == (-1, 0) if kind == "plain" else 0 <= row["kept"] < row["calls"]
    (run,) = rows(session[0], "SELECT * FROM run")
    for side in ("eager", "compiled"):
        assert found["plain", side]["median_ns"] == run[f"{side}_ns"]
        profiled = found["profiled", side]
        # No quartile is nearer to the unprofiled median than what was kept.
        for quartile in ("least_ns", "most_ns"):
            assert abs(profiled["kept_ns"] - run[f"{side}_ns"]) <= abs(profiled[quartile] - run[f"{side}_ns"])


def test_the_session_reads_whole(session):
    for stage in ("runs", "roofline", "launch"):
        result = vitrine("show", session[0], stage)
        assert result.returncode == 0 and not result.stderr, result.stderr


def test_each_launch_has_what_half_of_its_calls_took(session):
    launches = rows(session[0], "SELECT * FROM launch WHERE median_ns > 0")
    assert launches
    for row in launches:
        assert row["calls"] >= timeline.REPETITIONS[0] and 0 < row["lower_ns"] <= row["upper_ns"]


def test_three_calls_make_no_speed_up(session):
    path, printed = session
    for text in (printed, vitrine("show", path, "runs").stdout):
        assert "not measured: 3 calls" in text and "×" not in text.split("speed-up")[1].splitlines()[1]
        assert "3 calls a side: half of eager's took " in text and "the speed-up is" not in text


@pytest.mark.parametrize("stage", ["launch", "roofline", "kernels", "timeline"])
def test_times_say_which_call_they_are_of(session, stage):
    text = vitrine("show", session[0], stage).stdout
    calls = {row["side"]: row["calls"] for row in rows(session[0], "SELECT * FROM measurement WHERE kind = 'profiled'")}
    assert f"one of {calls['compiled']} profiled calls" in text and "of the median of 3" in text


def test_the_call_that_is_kept_is_nearest_to_the_unprofiled_median():
    assert timeline.nearest([900, 300, 130, 80], 100) == 3
    assert timeline.nearest([900, 300, 130, 80], 400) == 1
    assert timeline.nearest([900, 300, 100], 0) == 1  # not measured: their own median


def test_profiled_calls_are_many_when_they_are_short_and_five_when_they_are_long():
    def made(ns):
        durations = []
        while not timeline.enough(durations):
            durations.append(ns)
        return len(durations)

    assert (made(1_000), made(100_000_000), made(700_000_000), made(4_000_000_000)) == (25, 11, 5, 2)


def test_what_other_processes_did_is_evidence(monkeypatch):
    told = iter([(100.0, 1.0, 400.0), (104.0, 2.0, 408.0)])
    waited = iter([{"1": 5}, {"1": 50_000_005, "2": 7}])
    work = iter([10.0, 11.0])
    monkeypatch.setattr(evidence, "ticks", lambda: next(told))
    monkeypatch.setattr(evidence, "waits", lambda: next(waited))
    monkeypatch.setattr(evidence, "own_work", lambda: next(work))
    watch = evidence.Watch()
    watch.begin -= 2_000_000_000
    found = watch.evidence()
    assert found["others"] == pytest.approx(1.5, rel=0.2) and found["steal"] == 0.125  # 4 s of work, 1 of them ours, in 2 s
    assert found["waited"] == pytest.approx(0.025, rel=0.2)


def test_a_machine_that_tells_nothing_is_not_called_idle(monkeypatch):
    def refuse():
        raise OSError

    for name in ("ticks", "waits"):
        monkeypatch.setattr(evidence, name, refuse)
    found = evidence.Watch().evidence()
    assert (found["others"], found["steal"], found["waited"]) == (-1, -1, -1)


def test_spread_is_of_the_calls():
    assert evidence.spread([]) == {"calls": 0}
    assert evidence.spread([7]) == {"calls": 1, "least_ns": 7, "lower_ns": 7, "median_ns": 7, "upper_ns": 7, "most_ns": 7}
    assert evidence.spread([4, 1, 3, 2]) == {"calls": 4, "least_ns": 1, "lower_ns": 1.75, "median_ns": 2.5, "upper_ns": 3.25, "most_ns": 4}


def test_a_script_says_how_many_of_its_calls_are_kept(tmp_path):
    script = write(tmp_path, "loop.py", "import torch, vitrine\nf = vitrine.compile(lambda x: x + 1)\nfor _ in range(200): f(torch.ones(4))\n")
    path = tmp_path / "s.vitrine"
    result = vitrine("run", script, "-o", path)
    assert result.returncode == 0, said(result)
    for text in (result.stdout, vitrine("show", path, "calls").stdout, vitrine("show", path, "timeline").stdout):
        assert "64 of 200 calls are kept" in text, text
    (row,) = rows(path, "SELECT * FROM measurement")
    assert row["kind"] == "script" and row["wall_ns"] > 0


def test_bench_tells_no_ratio_that_was_not_measured():
    assert bench.ratio_text(bench.speed_up([200.0] * 3, [100.0] * 3)) == "3 calls"
    assert bench.ratio_text(bench.speed_up([97, 106, 100, 101, 99], [100] * 5)) == "none seen (0.97 to 1.06)"
    assert bench.ratio_text(bench.speed_up([200.0] * 9, [100.0] * 9)) == "2.00x (2.00 to 2.00)"
    assert bench.speed_up([200.0] * 9, [100.0] * 9)["words"] == "2.00×"


@pytest.fixture
def measured(monkeypatch):
    """Sets what a round measures, in bytes and operations a second."""

    def set_to(copy, product):
        found = [("copy", copy), ("product", product)]
        monkeypatch.setattr(ceilings, "one_round", lambda device, cache: [{"kind": kind, "type": "f32", "rate": rate, "note": "a note"} for kind, rate in found])

    return set_to


def rates(folder):
    one = ceilings.Ceilings(torch.device("cpu"))
    one.measure()
    one.measure()
    return {row["kind"]: row for row in one.rows(str(folder))}


def test_the_best_ceiling_of_several_runs_counts(measured, tmp_path):
    measured(10e9, 1e12)
    first = rates(tmp_path / "cache")
    assert first["copy"]["rate"] == 10e9 and (first["copy"]["source"], first["copy"]["times"]) == ("measured", 2)
    assert first["copy"]["cache_bytes"] == ceilings.cpu_cache_bytes() and str(torch.get_num_threads()) in first["copy"]["machine"]
    measured(2e9, 3e12)  # a busy machine copies slowly
    second = rates(tmp_path / "cache")
    assert (second["copy"]["rate"], second["copy"]["source"]) == (10e9, "kept")
    assert second["copy"]["measured_unix_ns"] == first["copy"]["measured_unix_ns"]
    assert (second["product"]["rate"], second["product"]["source"]) == (3e12, "measured")
    measured(2e9, 2e12)
    assert rates(tmp_path / "cache")["product"]["rate"] == 3e12
    assert os.stat(tmp_path / "cache" / ceilings.FILE).st_mode & 0o77 == 0


def test_other_threads_are_another_machine(measured, monkeypatch, tmp_path):
    measured(10e9, 1e12)
    rates(tmp_path)
    measured(2e9, 1e11)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    assert rates(tmp_path)["copy"]["rate"] == 2e9


def spoil(how, file):
    kept = json.loads(file.read_text())
    if how == "writable by others":
        file.chmod(0o666)
    elif how == "a link":
        file.rename(file.with_name("elsewhere"))
        file.symlink_to(file.with_name("elsewhere"))
    elif how == "deep":
        file.write_text("[" * 100_000)
    else:
        for rows in kept.values():
            for row in rows:
                row["rate"] = {"endless": float("inf"), "negative": -1.0, "text": "1e99", "unlikely": 1e30, "a list": []}[how]
        file.write_text(json.dumps(kept))


@pytest.mark.parametrize("how", ["writable by others", "a link", "deep", "endless", "negative", "text", "unlikely", "a list"])
def test_kept_ceilings_that_are_not_ours_or_not_whole_are_not_used(measured, tmp_path, how):
    measured(10e9, 1e12)
    rates(tmp_path)
    spoil(how, tmp_path / ceilings.FILE)
    measured(2e9, 1e11)
    assert rates(tmp_path)["copy"]["rate"] == 2e9


def test_kept_ceilings_changed_at_random_are_rows_that_can_be_recorded(measured, tmp_path):
    measured(10e9, 1e12)
    rates(tmp_path)
    file = tmp_path / ceilings.FILE
    whole, draw, used = file.read_bytes(), random.Random(1), 0
    words = [b"null", b"-1", b"1e999", b"NaN", b"[[[", b"{}", b'"\\ud800"', b"9" * 5000, b'"\xff"', b"\0", b'"a\\u001b[2J"', b"true", b", ", b'"']
    for _ in range(2000):
        text, at = bytearray(whole), draw.randrange(len(whole))
        text[at : at + draw.choice([0, 1, 4, 20])] = draw.choice(words)
        file.write_bytes(text)
        for row in (row for rows in ceilings.read(str(tmp_path)).values() for row in rows):
            used += 1
            assert f"{row['kind']} {row['type']} {row['note']}".encode().isascii() or "×" in row["note"], row
            assert row["kind"] in ("copy", "product") and 0 < row["rate"] < ceilings.FASTEST, row
    assert used > 500


def test_without_a_cache_folder_ceilings_are_measured_only(measured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measured(10e9, 1e12)
    assert rates("")["copy"]["rate"] == 10e9 and not list(tmp_path.iterdir())


def test_a_copy_is_far_larger_than_the_cache():
    sizes = [ceilings.copy_bytes(torch.device("cpu"), cache) for cache in (0, 1 << 25, 1 << 28)]
    assert sizes == [1 << 26, 1 << 27, 1 << 29]
