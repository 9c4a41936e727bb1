"""Tests of the vocabulary: no identifier, key or option carries a term that was replaced."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spica.hw.config import PRESETS
from spica.hw.config.override import field_names
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.csr import COUNTERS
from spica.sim.report.result import result_schema

ROOT = Path(__file__).parents[3]
FOLDERS = (
    *("hw", "kernels", "sim", "synth", "explore", "api", "cli"),
    *("bench", "formal", "docs", "examples", "tests"),
)
#: Replaced terms by the kind of name that must not carry them.
TERMS = json.loads(Path(__file__).with_name("old_terms.json").read_text())
IDENTIFIERS = frozenset(TERMS["identifiers"])


def identifiers(source):
    """Yield the identifiers of a Python source, and strings that are identifiers."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.Name():
                yield node.id
            case ast.Attribute():
                yield node.attr
            case ast.arg() | ast.keyword():
                yield node.arg
            case ast.alias():
                yield node.name.rpartition(".")[2]
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text


def keys(schema):
    """Yield the property names of a JSON schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from keys(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys(part)


@pytest.mark.parametrize("folder", FOLDERS)
def test_python_has_no_replaced_identifier(folder):
    found = {}
    for path in (ROOT / folder).rglob("*.py"):
        if old := IDENTIFIERS & set(identifiers(path.read_text())):
            found[str(path.relative_to(ROOT))] = sorted(old)
    assert found == {}


def test_c_has_no_replaced_identifier():
    found = {}
    for folder in ("kernels", "sim"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".c", ".cpp", ".h", ".hpp", ".js", ".S"}:
                text = re.sub(r"/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"", "", path.read_text(), flags=re.S)
                if old := IDENTIFIERS & set(re.findall(r"\w+", text)):
                    found[str(path.relative_to(ROOT))] = sorted(old)
    assert found == {}


def test_no_file_has_a_replaced_name():
    stems = {path.stem for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")}
    assert IDENTIFIERS & stems == set()


@pytest.mark.parametrize("preset", PRESETS)
def test_config_has_no_replaced_field(preset):
    names = list(field_names(PRESETS[preset]))
    assert [name for name in names if name.endswith(tuple(TERMS["config_fields"]))] == []


def test_enums_and_counters_have_no_replaced_member():
    assert set(TERMS["stall_reasons"]) & set(StallReason.__members__) == set()
    assert set(TERMS["counters"]) & set(COUNTERS) == set()


def test_schema_has_no_replaced_key_or_value():
    schema = result_schema()
    old = {*TERMS["result_keys"], *TERMS["counters"], *IDENTIFIERS}
    assert old & set(keys(schema)) == set()
    check = schema["properties"]["check"]["properties"]
    assert check["verdict"]["enum"] == ["pass", "fail", None]


@pytest.mark.parametrize("command", ["run", "generate", "area", "fpga", "resume"])
@pytest.mark.quick(1)
def test_options_have_no_replaced_name(command):
    shown = subprocess.run(
        [sys.executable, "-m", "spica.cli", command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    words = set(re.findall(r"--?[\w-]+|\w+", shown))
    assert {*TERMS["options"], *TERMS["schedules"]} & words == set()


def test_a_replaced_identifier_would_be_found():
    old, other, *_ = sorted(IDENTIFIERS)
    planted = f"class {old}:\n    new = f({other}=1)\n"
    assert IDENTIFIERS & set(identifiers(planted)) == {old, other}
