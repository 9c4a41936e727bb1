"""Tests of the wheel: complete, and usable outside the repository."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from spica.hw.base.build_cache import cache_directory
from spica.sim.iss.library import build_library
from support.root_modules import root_module

ROOT = Path(__file__).parents[3]
ROOMS = root_module("formal.sources").ROOMS


def run(*command, **options):
    options = {"stderr": subprocess.PIPE} | options
    return subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, **options
    ).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel from a copy, so that the repository stays unchanged."""
    folder = tmp_path_factory.mktemp("source")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("__init__.py", "py.typed", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, folder)
    command = (sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", folder)
    said = run(*command, stderr=subprocess.STDOUT)
    assert "absent from the `packages` configuration" not in said
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install the wheel without dependencies; these come from the running Python."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    # A path file adds the folder but not its own path files, so not the editable install.
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_wheel_holds_every_file_of_every_room(wheel):
    packed = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        f"spica/{path.relative_to(ROOT).as_posix()}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert sources - packed == set()


def test_installed_command_works_outside_the_repository(installed, tmp_path):
    listed = run(installed / "bin" / "spica", "list", cwd=tmp_path)
    assert "tiny_matrix" in listed
    assert "gemm" in listed
    place = run(
        installed / "bin" / "python",
        "-c",
        "import spica.sim, spica.hw; print(spica.sim.__file__, spica.hw.__file__)",
        cwd=tmp_path,
    )
    assert place.count(str(installed)) == 2


def test_installed_generator_writes_verilog(installed, tmp_path):
    run(installed / "bin" / "spica", "generate", "tiny_matrix", "-o", "build", cwd=tmp_path)
    assert "module tiny_matrix" in (tmp_path / "build" / "tiny_matrix.v").read_text()


def test_installed_kernels_run(installed, tmp_path):
    """The instruction-set model is built once for all environments: its key has no place."""
    build_library()
    before = set(cache_directory().glob("iss-*"))
    options = ("--preset", "core", "--engine", "iss", "--size", "10")
    shown = run(installed / "bin" / "spica", "run", "vecadd", *options, cwd=tmp_path)
    assert shown.startswith("PASS: vecadd n=10 on core\n")
    assert set(cache_directory().glob("iss-*")) == before


@pytest.mark.full
def test_script_of_the_readme_runs_in_an_empty_folder(installed, tmp_path):
    text = (ROOT / "README.md").read_text()
    script = text.partition("<!-- script -->\n```python\n")[2].partition("```\n<!-- end")[0]
    assert 0 < len(script.splitlines()) <= 25
    (tmp_path / "script.py").write_text(script)
    environment = os.environ | {"MPLBACKEND": "agg", "MPLCONFIGDIR": str(tmp_path / "config")}
    printed = run(installed / "bin" / "python", "script.py", cwd=tmp_path, env=environment)
    tiny, core = printed.splitlines()
    assert tiny.startswith("tiny ") and core.startswith("core ")
    assert tiny.endswith("cycles: [1. 3. 5. 7.]")
    assert (tmp_path / "scale.png").stat().st_size > 1000
