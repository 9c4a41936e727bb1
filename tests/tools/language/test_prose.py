"""Tests of the language of docstrings, pages, messages and identifiers."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.csr import COUNTERS
from spica.hw.machine.fields import field_names
from spica.hw.presets import PRESETS
from spica.sim.report.result import result_schema

ROOT = Path(__file__).parents[3]
FOLDERS = (
    *("base", "hw", "kernels", "sim", "synth", "explore", "api", "cli"),
    *("bench", "formal", "docs", "examples", "tests"),
)
SOURCES = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path.is_file()
)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("examples/*.md")])
NATIVE = sorted(
    path
    for folder in ("kernels", "sim", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".c", ".cpp", ".h", ".hpp"}
)


def sentences_of(text):
    """Return the sentences of `text`, code and tables left out."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return re.split(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[-*|#>]+\s*", text)


def riddles(text):
    """Return the sentences of `text` that begin with what, who or which and ask nothing."""
    found = []
    for sentence in sentences_of(text):
        words = " ".join(sentence.split())
        # A subject that is a riddle, unless the sentence is a question.
        if re.match(r"(?:What|Who|Whoever|Whose|Whatever|Which)\b", words) and "?" not in words:
            found.append(words[:80])
    return found


def docstrings(path):
    """Yield the docstrings of a source."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def headings(text):
    """Yield the headings of a docstring's lists of parameters, attributes and members."""
    lists = re.findall(
        r"^(?:Parameters|Attributes|Members)\n-+\n(.*?)(?=\n\n|\Z)", text, re.S | re.M
    )
    for entries in lists:
        yield from re.findall(r"(?:\A|(?<=\n))\S.*", entries)


def test_every_list_names_its_parameters():
    """A heading names its parameters, or refers to another class; it is no description."""
    found = {}
    for path in SOURCES:
        wrong = [
            line
            for text in docstrings(path)
            for line in headings(text)
            if line.endswith(".") and " : " not in line and not line.startswith("As of `")
        ]
        if wrong:
            found[str(path.relative_to(ROOT))] = wrong
    assert found == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_and_comments_state_their_subject(folder):
    found = {}
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] != folder:
            continue
        comments = re.findall(r"^\s*#:? (.*)$", path.read_text(), re.M)
        problems = [
            *(riddle for text in docstrings(path) for riddle in riddles(text)),
            *(riddle for comment in comments for riddle in riddles(comment)),
        ]
        if problems:
            found[str(path.relative_to(ROOT))] = problems
    assert found == {}


def test_comments_in_c_state_their_subject():
    found = {}
    for path in NATIVE:
        comments = re.findall(r"/\*(.*?)\*/|//(.*)$", path.read_text(), re.S | re.M)
        text = "\n\n".join(re.sub(r"^\s*\*", "", a or b, flags=re.M) for a, b in comments)
        if problems := riddles(text):
            found[str(path.relative_to(ROOT))] = problems
    assert found == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_state_their_subject(page):
    assert riddles(page.read_text()) == []


COMMANDS = (
    *((), ("run",), ("list",), ("doctor",), ("generate",), ("area",), ("fpga",)),
    *(("resume",), ("sweep",)),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.quick(1)
def test_help_states_its_subject(command):
    shown = subprocess.run(
        [sys.executable, "-m", "spica.cli", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert riddles(re.sub(r"[│╭╮╰╯─]+", "\n\n", shown)) == []


@pytest.mark.full
def test_a_report_states_its_subject(tmp_path):
    run = ("run", "vecadd", "--preset", "core", "--engine", "iss", "--size", "10")
    shown = subprocess.run(
        [sys.executable, "-m", "spica.cli", *run], capture_output=True, text=True, check=True
    ).stdout
    assert riddles(shown) == []
    assert "PASS" in shown


def test_a_riddle_would_be_found():
    assert riddles("What waits for lines that are being read.") != []
    assert riddles("A queue. Who asks first is served first.") != []
    assert riddles("What does a warp wait for? The scoreboard knows.") == []
    assert riddles("Miss-status holding registers, which wait for lines.") == []


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
