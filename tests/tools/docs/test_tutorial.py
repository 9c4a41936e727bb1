"""Tests of pages: the tutorial runs as written, and measured tables are the stored results."""

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.stored import record
from formal.sources import copy_sources
from spica.cli.main import app, main

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
FILES = {name: text for name, text in re.findall(r"```\w+ ([\w.]+)\n(.*?)```", PAGE, re.DOTALL)}
COMMANDS = re.findall(r"^(?:spica|python|sed|git|make) .*", PAGE, re.MULTILINE)
UNIT = "hw/core/units/divide/divide_unit.py"
TEST = "tests/hw/core/units/divide/test_divide_unit.py"


def command_of(beginning):
    """Return the words of the command of the page that contains all of `beginning`."""
    (line,) = [line for line in COMMANDS if all(part in line for part in beginning)]
    return shlex.split(line)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder with the files of the page, in which commands run."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_script(name, engine):
    """Run a script of the page on an engine; return the output."""
    script = FILES[name].replace('Machine("core")', f'Machine("core", engine="{engine}")')
    if engine == "iss":
        script = script.replace("{run.cycles:,} cycles", "no cycles")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_compute_what_the_script_expects(folder, capsys):
    """On the instruction-set model; both programs store the same elements."""
    shown = run_script("weighted.py", "iss")
    assert shown.split("=")[1] in PAGE
    products = []
    for program in ("weighted.c", "weights_first.c"):
        words = command_of([
            f"run {program}",
            "--json " + ("divide" if not products else "weights"),
        ])
        assert main([*words[1:-2], "--engine", "iss", "--dump", f"5={program}.npy"]) == 0
        products.append(np.load(f"{program}.npy"))
    assert np.array_equal(*products)
    a, x, s = (np.load(f"{name}.npy") for name in "axs")
    assert np.allclose(products[0], (x / s) @ a, rtol=1e-5, atol=1e-5)
    assert 0.3 < np.mean(x == 0) < 0.7


def test_script_compares_the_four_results(folder):
    (shown,) = re.findall(r"python compare.py\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    for line in shown.splitlines():
        run, cycles = line.split()[:2]
        Path(f"{run}.json").write_text(json.dumps({"cycles": int(cycles.replace(",", ""))}))
    assert run_script("compare.py", "verilator") == shown
    assert Path("compare.svg").read_text().startswith("<svg")


def changed_sources(folder):
    """Return a copy of the sources with the change of the page."""
    sources = folder / "sources"
    copy_sources(sources)
    command = ["git", "apply", str(folder / "early_out.diff")]
    subprocess.run(command, cwd=sources / "spica", check=True, env=os.environ | {"GIT_DIR": "/"})
    return sources


def block_test(sources, select):
    """Run cases of the block's test on copied sources; return the output."""
    changes = {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
    environment = os.environ | changes
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-k", select]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(ROOT / TEST)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    ).stdout


@pytest.mark.full
def test_mistake_fails_the_block_test(folder):
    sources = changed_sources(folder)
    unit = sources / "spica" / UNIT
    assert unit.read_text() != (ROOT / UNIT).read_text()
    _, _, edit, path = command_of(["sed", "s/special.all()"])
    assert path == UNIT
    old, new = edit.split("/")[1:3]
    assert unit.read_text().count(old) == 1
    unit.write_text(unit.read_text().replace(old, new))
    assert "1 failed" in block_test(sources, "unit_matches_golden_model and 4x2-0.5")


@pytest.mark.full
def test_change_gives_the_outcomes_of_the_page(folder):
    sources = changed_sources(folder)
    select = command_of(["pytest", "latency"])[-1]
    assert "10 passed" in block_test(sources, "unit_matches_golden_model")
    failed = re.findall(r"^FAILED \S+", block_test(sources, select), re.MULTILINE)
    assert failed == re.findall(r"^FAILED \S+latency\S+", PAGE, re.MULTILINE)


@pytest.mark.full
@pytest.mark.parametrize("result", ["divide", "weights"])
def test_cycles_are_those_of_the_page(folder, capsys, result):
    run_script("weighted.py", "iss")
    assert main(command_of([f"--json {result}.json"])[1:]) == 0
    cycles = json.loads(Path(f"{result}.json").read_text())["cycles"]
    (shown,) = re.findall(rf"^{result} +([\d,]+) cycles", PAGE, re.MULTILINE)
    assert f"{cycles:,}" == shown
    report = capsys.readouterr().out
    if result == "divide":
        (limit,) = re.findall(r"```\n(PASS: weighted.c.*?)(?:…\n)?```", PAGE, re.DOTALL)[:1]
        assert report.startswith(limit)


class CheckedError(Exception):
    """The checks of a comparison have passed."""


def test_the_comparison_of_the_page_is_not_refused(folder, monkeypatch):
    def compared(plan, **options):
        for point in plan.points:
            point.run.require_possible()
        raise CheckedError

    module = importlib.import_module("spica.cli.compare.command")
    monkeypatch.setattr(module, "compared", compared)
    monkeypatch.setenv("SPICA_DEBUG", "1")
    with pytest.raises(CheckedError):
        main(command_of(["compare softmax"])[1:])


FOLDER, read = record.FOLDER, record.read
STORED = sorted(FOLDER.glob("*.json"))
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

    def recorded(path, *arguments, **options):
        used.add(path.name)
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", recorded)
    for page in measured.PAGES:
        measured.updated(page)
    assert {path.name for path in STORED} <= used


def test_a_page_of_another_result_differs(measured, page_writer, monkeypatch, tmp_path):
    shutil.copytree(FOLDER, tmp_path / "records")
    monkeypatch.setattr(page_writer("tables.stored"), "RECORDS", tmp_path / "records")
    path = tmp_path / "records" / "virgo.json"
    runs = json.loads(path.read_text())
    runs[1]["result"]["mac_utilization"] = 0.5
    path.write_text(json.dumps(runs))
    page = "docs/benchmarks.md"
    assert "| 50.00 |" in measured.updated(page) != (ROOT / page).read_text()


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
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


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_runs_passed(path):
    assert {verdict for run in read(path) for verdict in verdicts(run.result)} <= {"pass"}
