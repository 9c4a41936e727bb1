"""Names and configs of styles stand in the folders of styles, in their tables and in presets."""

import ast
import re
from pathlib import Path

import pytest

from spica.hw.styles.registry import MATRIX_STYLES, TENSOR_STYLES

ROOT = Path(__file__).parents[3]
ROOMS = ("base", "hw", "kernels", "sim", "synth", "explore", "api", "cli")
STYLES = tuple(path.name for path in (ROOT / "hw" / "styles").iterdir() if path.is_dir())
STYLES = tuple(name for name in STYLES if (ROOT / "hw" / "styles" / name / "style.py").exists())
#: Name of a style in identifiers of either spelling, such as ``shared_fed`` and ``SharedFedUnit``.
NAME = re.compile("|".join([*STYLES, *(name.title().replace("_", "") for name in STYLES)]))
#: Tables of styles, and machines built of them.
TABLES = {"styles.py", "registry.py", "registry.hpp", "presets.py"}
#: Names of units in settings and results; instructions have the same ones.
UNITS = {config.name for config in TENSOR_STYLES}
#: Classes of configs, whose names need not have the style's.
CONFIGS = {config.__name__ for config in (*MATRIX_STYLES, *TENSOR_STYLES)}
#: Name of a unit in identifiers of C and C++, such as ``Op::Hgmma`` and ``kHmmaDepth``.
UNIT = re.compile("|".join(UNITS), re.IGNORECASE)
#: Comments and strings of C and C++.
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
#: The table of instructions, the words that have their meaning in Vortex, and the one cast of a
#: matrix unit to the array's config.
EXEMPT = {"hw/isa/instructions.py", "hw/isa/reserved/vortex.py", "kernels/gemm/target.py"}
#: Effects of all instructions by name, and the intrinsics that programs of all styles include.
EXEMPT_NATIVE = {
    "sim/iss/native/instructions/execute.hpp",
    "kernels/runtime/include/spica_tensor.h",
}

SOURCES = [
    path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*"))
    if path.suffix in {".py", ".c", ".cpp", ".h", ".hpp"}
]
OUTSIDE = [
    path
    for path in SOURCES
    if path.name not in TABLES
    and not any(part.removesuffix(".py") in STYLES for part in path.relative_to(ROOT).parts)
]


def named(text):
    """Return the lines of a file that name a style."""
    return [line.strip() for line in text.splitlines() if NAME.search(line)]


def distinctions(text):
    """Return the tests for the config of a style, and strings with the name of a unit."""
    found = []
    for node in ast.walk(ast.parse(text)):
        is_test = isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        if is_test and CONFIGS & {*re.findall(r"\w+", ast.unparse(node.args[1]))}:
            found.append(ast.unparse(node))
        if isinstance(node, ast.Constant) and node.value in UNITS:
            found.append(node.value)
    return found


def unit_identifiers(text):
    """Return the lines of C or C++ with an identifier that names a unit."""
    return [line.strip() for line in TEXT.sub(" ", text).splitlines() if UNIT.search(line)]


def test_styles_are_known():
    assert {"register_fed", "shared_fed", "cluster_array"} <= {*STYLES}
    assert named("from .styles.shared_fed import x\nRegisterFedUnit(1)\n") != []
    assert distinctions("isinstance(x, SystolicConfig)\ny == 'hmma'") != []
    assert unit_identifiers("// hmma\nif (op == Op::Hgmma) {") == ["if (op == Op::Hgmma) {"]


@pytest.mark.parametrize("room", ROOMS)
def test_no_other_file_names_a_style(room):
    files = [path for path in OUTSIDE if path.is_relative_to(ROOT / room)]
    found = {path.relative_to(ROOT).as_posix(): named(path.read_text()) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_no_other_file_tests_for_a_style(room):
    files = [path for path in OUTSIDE if path.is_relative_to(ROOT / room)]
    found = {
        path.relative_to(ROOT).as_posix(): distinctions(path.read_text())
        for path in files
        if path.suffix == ".py"
    }
    assert {path for path, tests in found.items() if tests} <= EXEMPT


@pytest.mark.parametrize("room", ROOMS)
def test_no_other_native_file_names_a_unit(room):
    files = [path for path in OUTSIDE if path.is_relative_to(ROOT / room) and path.suffix != ".py"]
    hits = {path.relative_to(ROOT).as_posix(): unit_identifiers(path.read_text()) for path in files}
    hits = {path: lines for path, lines in hits.items() if lines and path not in EXEMPT_NATIVE}
    assert hits == {}


def test_exempt_native_files_name_units():
    assert all(unit_identifiers((ROOT / path).read_text()) for path in EXEMPT_NATIVE)
