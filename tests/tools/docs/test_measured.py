"""Tests that tables of measured figures are those of the stored results."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from spica.cli.main import app
from support.root_modules import root_module

record = root_module("bench.stored.record")
FOLDER, read = record.FOLDER, record.read
ROOT = Path(__file__).parents[3]
FILES = sorted(FOLDER.glob("*.json"))
BENCH = ".venv/bin/python -m bench "


@pytest.fixture
def measured(page_writer):
    return page_writer("measured")


def test_pages_are_those_of_the_stored_results(measured):
    for page in measured.PAGES:
        text = (ROOT / page).read_text()
        assert measured.updated(page) == text, f"python docs/measured.py brings {page} up to date"


def test_every_stored_result_is_in_a_page(measured, monkeypatch):
    used = set()
    real = Path.read_text

    def noted(path, *arguments, **options):
        used.add(path.name)
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", noted)
    for page in measured.PAGES:
        measured.updated(page)
    assert {path.name for path in FILES} <= used


def test_a_page_of_another_result_differs(measured, page_writer, monkeypatch, tmp_path):
    shutil.copytree(FOLDER, tmp_path / "records")
    monkeypatch.setattr(page_writer("tables.stored"), "RECORDS", tmp_path / "records")
    path = tmp_path / "records" / "virgo.json"
    runs = json.loads(path.read_text())
    runs[1]["result"]["mac_utilization"] = 0.5
    path.write_text(json.dumps(runs))
    page = "docs/benchmarks.md"
    assert "| 50.00 |" in measured.updated(page) != (ROOT / page).read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_commands_exist(path):
    runs = read(path)
    assert len({run.command for run in runs}) == len(runs) > 0
    for run in runs:
        assert run.revision
        if run.command.startswith(BENCH):
            assert (ROOT / "bench" / f"{run.command.split()[-1]}.py").exists()
            continue
        program, *arguments = shlex.split(run.command)
        assert program == "spica"
        command, _, ignored = app.parse_args(arguments, exit_on_error=False, print_error=False)
        assert command.__name__ == arguments[0]
        assert ignored == {}


def verdicts(value):
    """Yield all verdicts in a JSON value."""
    if isinstance(value, dict):
        if isinstance(value.get("verdict"), str):
            yield value["verdict"]
        for part in value.values():
            yield from verdicts(part)
    elif isinstance(value, list):
        for part in value:
            yield from verdicts(part)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_runs_passed(path):
    assert {verdict for run in read(path) for verdict in verdicts(run.result)} <= {"pass"}
