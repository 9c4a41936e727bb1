"""Tests of import directions, of the wheel, and of files for hosts and editors."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from formal.sources import ROOMS
from spica.base.build_cache import cache_directory
from spica.sim.iss.library import build_library

ROOT = Path(__file__).parents[3]


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


SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def absolute_imports(path):
    """Yield the first part of every absolute import in `path`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)


def test_no_room_is_imported_by_its_bare_name():
    """The root is on the import path of tests and benchmarks, so such an import would succeed."""
    folders = ("tests", "bench", "formal")
    outside = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert [path for path in outside if {*ROOMS} & set(absolute_imports(path))] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_import_each_other_relatively(path):
    """A package imported by its bare name would hold every class a second time."""
    assert not {"spica", *ROOMS} & set(absolute_imports(path))


def test_every_package_is_distributed():
    packages = {
        ".".join(("spica", *path.parent.relative_to(ROOT).parts))
        for path in SOURCES
        if path.name == "__init__.py"
    }
    assert packages | {"spica"} == set(SETTINGS["packages"])


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in SOURCES}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_every_data_file_is_distributed(room):
    packaged = set()
    for package, patterns in SETTINGS["package-data"].items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        packaged |= {path for pattern in patterns for path in folder.glob(pattern)}
    data = {
        path
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert data - packaged == set()


def test_the_package_is_typed():
    assert (ROOT / "py.typed").exists()
    assert SETTINGS["package-data"]["spica"] == ["py.typed"]


@pytest.mark.parametrize("mirror", ["tests/hw", "sim/golden"])
def test_mirrors_have_the_folders_of_hw(mirror):
    folders = {
        path.relative_to(ROOT / mirror)
        for path in (ROOT / mirror).rglob("*")
        if path.is_dir() and path.name != "__pycache__"
    }
    assert {str(folder) for folder in folders if not (ROOT / "hw" / folder).is_dir()} == set()


GITHUB = sorted((ROOT / ".github").rglob("*.yml"))
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.name)
def test_files_of_the_host_are_yaml(path):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(path.read_text())["name"]


def test_workflow_makes_targets_that_exist():
    targets = re.findall(r"make (?:\S+=\S+ )*([a-z-]+)$", WORKFLOW, re.MULTILINE)
    assert {"test", "test-full", "docs-site"} <= set(targets)
    makefile = (ROOT / "Makefile").read_text()
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_actions_are_pinned_by_major_version():
    actions = re.findall(r"uses: (\S+)", WORKFLOW)
    assert actions and all(re.fullmatch(r"[\w/-]+@v\d+", action) for action in actions)


def test_bug_reports_request_versions():
    assert "spica doctor" in (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text()


def test_version_is_the_same_everywhere():
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    headings = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", VERSION]
