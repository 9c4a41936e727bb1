"""Tests of the folder ``examples``: each program runs as a user starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.need_tools import need_icarus

EXAMPLES = Path(__file__).parents[3] / "examples"


def example(name, *arguments, **environment):
    """Run a script of an example; return its exit code and its text."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("own_kernel", marks=pytest.mark.slow),
        pytest.param("bare_metal", marks=pytest.mark.full),
        pytest.param("cocotb", marks=pytest.mark.full),
        pytest.param("litex", marks=pytest.mark.slow),
    ],
)
def test_figures_of_the_page_are_those_of_a_run(name, tmp_path):
    if name == "cocotb":
        need_icarus()
    command = f"python examples/{name}/run.py"
    page = (EXAMPLES / "README.md").read_text().partition(f"```sh\n{command}\n```")[2]
    shown = page.partition("\n```\n")[2].partition("\n```")[0].splitlines()
    output = () if name == "own_kernel" else ("--output", tmp_path)
    code, text = example(f"{name}/run.py", *output)
    assert code == 0, text[-3000:]
    lines = [line.rstrip() for line in text.splitlines()]
    own = [line for line in shown if line != "…"]  # cocotb writes time and place before its own
    assert [line for line in own if not any(other.endswith(line) for other in lines)] == []
    assert len(shown) > 1


@pytest.mark.full
def test_own_kernel_is_right_and_profiled():
    code, text = example("own_kernel/run.py", "--presets", "tiny", "--pixels", 300)
    assert code == 0, text
    assert text.count("tiny, ") == 2
    assert "histogram.c:" in text


@pytest.mark.full
def test_c_driver_multiplies_on_the_rtl(tmp_path):
    code, text = example("bare_metal/run.py", "--size", "13x10x9", "--output", tmp_path)
    assert code == 0, text
    assert "PASS: C finds 0 wrong elements, NumPy none" in text
    assert (tmp_path / "gemm_riscv32.o").stat().st_size > 1000


@pytest.mark.full
def test_cocotb_bench_passes(tmp_path):
    need_icarus()
    code, text = example("cocotb/run.py", "--size", "9x10x11", "--output", tmp_path)
    assert code == 0, text[-3000:]
    assert "PASS: 2 of 2 tests" in text


@pytest.mark.slow
def test_firmware_of_the_soc_multiplies_and_checks(tmp_path):
    code, text = example("litex/run.py", "--output", tmp_path)
    assert code == 0, text[-3000:]
    assert "PASS: 256 elements of C are right, 0 are wrong" in text


def notebook():
    """Return the cells of code of the notebook."""
    cells = json.loads((EXAMPLES / "sweep.ipynb").read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_notebook_is_stored_without_results():
    assert len(notebook()) >= 6
    for cell in notebook():
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        compile("".join(cell["source"]), "cell", "exec")


@pytest.mark.slow
def test_notebook_runs(tmp_path):
    (tmp_path / "sweep.ipynb").write_text((EXAMPLES / "sweep.ipynb").read_text())
    command = ("jupyter-execute", "--output=done", str(tmp_path / "sweep.ipynb"))
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], check=True)
    done = json.loads((tmp_path / "done.ipynb").read_text())["cells"]
    outputs = [output for cell in done for output in cell.get("outputs", ())]
    assert sum("image/png" in output.get("data", ()) for output in outputs) == 2


def test_make_runs_every_example():
    makefile = (EXAMPLES.parent / "Makefile").read_text()
    scripts = [path.relative_to(EXAMPLES.parent) for path in EXAMPLES.glob("*/run.py")]
    assert len(scripts) == 4
    for script in [*scripts, "examples/sweep.ipynb"]:
        assert str(script) in makefile
