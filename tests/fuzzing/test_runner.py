"""The runner's reading of libFuzzer's log: a campaign that measured nothing fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fuzz import plant, run, triage
from fuzz.build import ROOT

LOG = """INFO: Using preloaded libfuzzer
INFO: found LLVMFuzzerCustomMutator (0x7f1). Disabling -len_control by default.
INFO: Loaded 2 modules   (11143 inline 8-bit counters): 200 [0x1, 0x2), 10943 [0x3, 0x4),
#1139	INITED cov: 1772 ft: 5214 corp: 448/97Kb exec/s: 0 rss: 46Mb
#2048	pulse  cov: 1900 ft: 6000 corp: 500/99Kb exec/s: 1 rss: 46Mb
stat::number_of_executed_units: 195281
"""


def result(log: str, *, mutator: str = "grammar", target: str = "lossless") -> run.Result:
    modules = run.MODULES.search(log)
    return run.Result(
        target, "fuzzer", mutator, 5, 100.0, 1.0, 1.0, int(modules[2]) if modules else 0,
        max(map(int, run.EDGES.findall(log)), default=0), None, log,
    )  # fmt: skip


@pytest.fixture
def status(tmp_path: Path) -> Path:
    path = tmp_path / "status.json"
    path.write_text(json.dumps({"calls": 10, "model_calls": 0}), "utf-8")
    return path


def test_a_good_log_passes(status: Path) -> None:
    made = result(LOG)
    assert (made.counters, made.edges) == (11143, 1900)
    run._check(made, 0, status)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("INFO: Loaded 2 modules   (11143 inline 8-bit counters)", "INFO: nothing loaded", "no native coverage"),
        ("cov: 1", "cov: ", "edges covered"),
        ("found LLVMFuzzerCustomMutator", "found nothing", "mutator was not active"),
        ("INITED", "pulse", "too short"),
    ],
)
def test_what_is_missing_is_named(old: str, new: str, words: str, status: Path) -> None:
    with pytest.raises(run.CampaignError, match=words):
        log = LOG.replace(old, new)
        if "cov" in old:
            log = log.replace("cov: 900", "cov: 0").replace("cov: 772", "cov: 0")
        run._check(result(log), 0, status)


def test_an_idle_mutator_is_noticed(status: Path) -> None:
    with pytest.raises(run.CampaignError, match="did nothing"):
        run._check(result(LOG, mutator="live"), 0, status)


def test_a_dead_process_is_noticed(status: Path) -> None:
    with pytest.raises(run.CampaignError, match="ended with status 77"):
        run._check(result(LOG), 77, status)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("==1== ERROR\nAssertionError: spans\nSUMMARY: libFuzzer: fuzz target exited", "AssertionError: spans"),
        ("SUMMARY: AddressSanitizer: heap-buffer-overflow core.c:5", "AddressSanitizer: heap-buffer-overflow core.c:5"),
        ("nothing", "unknown failure"),
    ],
)
def test_failures_are_named(log: str, expected: str) -> None:
    assert triage.failure(log) == expected


def test_the_planted_bug_has_its_places(tmp_path: Path) -> None:
    machine = ROOT / "src" / "qwenparse" / "machine"
    copy = shutil.copytree(machine, tmp_path / "machine")
    plant.write(copy)
    assert "planted bug" in (copy / "reports.pxi").read_text("utf-8")
    assert "planted bug" not in (machine / "reports.pxi").read_text("utf-8")


def test_campaigns_go_on_until_their_time_is_up() -> None:
    totals = {"lossless fuzzer": {"cpu": 1700.0}, "cutting fuzzer": {"cpu": 1799.0}, "spans fuzzer": {"cpu": 1800.0}}
    assert run.left(30, "lossless", "fuzzer", totals) == 100
    assert run.left(30, "cutting", "fuzzer", totals) == 30, "too short a campaign does not read its seeds"
    assert run.left(30, "spans", "fuzzer", totals) == 0
    assert run.left(30, "lossless", "fuzzer,address", totals) == 1800
