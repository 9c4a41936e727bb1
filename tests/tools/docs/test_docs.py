"""Tests that the documentation matches the code: tables, commands, links, examples."""

import re
import shlex
from pathlib import Path

import pytest

from bench.units.catalog import every_unit
from spica.cli.main import app, main
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.reserved.table import RESERVED
from spica.hw.presets import PRESETS
from spica.kernels.compile import INCLUDE_DIRECTORY
from spica.kernels.header import program_header
from spica.sim.report.result import result_schema

ROOT = Path(__file__).parents[3]
PAGES = [
    page for folder in (".", "docs", "examples") for page in sorted((ROOT / folder).glob("*.md"))
]
README = (ROOT / "README.md").read_text()


def commands_of(text):
    """Return the commands in a page's shell blocks that call spica, continued lines joined."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    lines = blocks.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("spica ")]


SPICA_COMMANDS = sorted({line for page in PAGES for line in commands_of(page.read_text())})
PROGRAMMING = (ROOT / "docs" / "programming.md").read_text()
COMMAND_LINE = (ROOT / "docs" / "command_line.md").read_text()
MAKE_COMMANDS = sorted(
    set(re.findall(r"\bmake ([a-z-]+)", "\n".join(p.read_text() for p in PAGES)))
)


def test_tables_are_those_of_the_hardware(page_writer):
    reference = page_writer("reference")
    text = reference.PAGE.read_text()
    assert reference.updated(text) == text, "make docs brings docs/machine.md up to date"


def test_page_of_instructions_is_that_of_the_tables(page_writer):
    isa = page_writer("isa")
    text = isa.PAGE.read_text()
    assert isa.updated(text) == text, "make docs brings docs/isa.md up to date"
    shown = re.findall(r"^\| `([a-z0-9_.]+)[ `]", isa.instructions(), re.M)
    assert sorted(shown) == sorted(INSTRUCTIONS)
    shown = re.findall(r"^\| `([a-z0-9_.]+)[ `]", isa.reserved_encodings(), re.M)
    assert sorted(shown) == sorted(RESERVED)


def test_page_of_results_is_that_of_the_schema(page_writer):
    results = page_writer("results")
    text = results.PAGE.read_text()
    assert results.updated(text) == text, "make docs brings docs/results.md up to date"
    keys = [key for section in results.SECTIONS.values() for key in section]
    assert sorted(keys) == sorted(result_schema()["properties"])


def test_instructions_that_are_not_of_risc_v_have_a_meaning(page_writer):
    opcodes = (0x0B, 0x5B, 0x7B)
    custom = {name for name, one in INSTRUCTIONS.items() if one.match & 0x7F in opcodes}
    assert set(page_writer("isa").MEANINGS) == custom


@pytest.mark.parametrize("name", sorted(INSTRUCTIONS | RESERVED))
def test_words_of_instructions_are_whole(page_writer, name):
    """Fixed bits and operand names are at the places that the assembler uses."""
    isa, one = page_writer("isa"), (INSTRUCTIONS | RESERVED)[name]
    place, word = 32, 0
    widths = {text: width for _, width, text in isa.operand_fields(one)}
    for part in isa.encoding(one).split():
        place -= widths.get(part, len(part))
        word |= 0 if part in widths else int(part, 2) << place
    assert place == 0
    assert word == one.match


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Return the example program of docs/programming.md, and its command without `spica`."""
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```c\n(#include.*?)```", PROGRAMMING, re.DOTALL)
    (command,) = re.findall(r"```sh\n(spica run collatz.c .*)\n```", PROGRAMMING)
    return program, shlex.split(command)[1:]


def test_example_of_programming_runs(example, capsys):
    program, command = example
    Path("collatz.c").write_text(program)
    (printed,) = re.findall(r"```\n(\d+ takes \d+ steps\n)```", PROGRAMMING)
    assert main(command) == 0
    assert capsys.readouterr().out.startswith(printed)


def test_names_of_programming_are_those_of_the_headers():
    headers = "".join(path.read_text() for path in INCLUDE_DIRECTORY.glob("*.h"))
    headers += program_header(PRESETS["virgo"])
    text = re.sub(r"```.*?```", "", PROGRAMMING, flags=re.DOTALL)
    quoted = re.findall(r"`(\w+)(?:\([^`]*\))?`", text)
    names = [name for name in quoted if re.match(r"(spica|vx|SPICA)_|mem|put|\w+f$", name)]
    assert len(names) > 30
    for name in names:
        assert re.search(rf"\b{name}\b", headers), name


def test_mistake_of_programming_is_reported_so(example, capsys):
    """Compared without the instructions, which depend on the compiler."""
    program, command = example
    wrong = program.replace("SPICA_WHILE (", "while (").replace("} SPICA_END_WHILE", "}")
    Path("collatz.c").write_text(wrong)
    (shown,) = re.findall(r"```\n(spica: divergent branch.*?)```", PROGRAMMING, re.DOTALL)
    assert main(command) == 1
    said = capsys.readouterr().err.partition("spica: ")[2].splitlines()
    lines = shown.removeprefix("spica: ").splitlines()
    for number in (0, 2, 3, 4):
        assert said[number] == lines[number]
    mask = re.compile(r"0x\w{8}|: .*")
    assert mask.sub("", said[1]) == mask.sub("", lines[1])
    assert [line[:4] for line in said] == [line[:4] for line in lines]


def test_race_of_programming_is_reported_so(tmp_path, monkeypatch, capsys):
    """Compared without addresses, which depend on the compiler."""
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```c race.c\n(.*?)```", PROGRAMMING, re.DOTALL)
    (command,) = re.findall(r"```sh\n(spica run race.c .*)\n```", PROGRAMMING)
    (shown,) = re.findall(r"```\nspica: (race: load of.*?)```", PROGRAMMING, re.DOTALL)
    Path("race.c").write_text(program)
    assert main(shlex.split(command)[1:]) == 1
    said = capsys.readouterr().err.partition("spica: ")[2].splitlines()
    address = re.compile(r"0x\w{8}|: \w+ \w+, .*")
    for got, expected in zip(said, shown.splitlines(), strict=False):
        assert address.sub("", got) == address.sub("", expected)


def test_page_of_arithmetic_has_every_format_and_unit(page_writer):
    """Figures are measured; the list of units and their cycles are known without measurement."""
    arithmetic = page_writer("arithmetic")
    text = arithmetic.PAGE.read_text()
    assert arithmetic.formats() in text
    shown = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| .* \| (\d+) \| [\d.]+ \| ", text, re.M)
    units = [(unit.name, str(unit.latency), str(unit.interval), "0") for unit in every_unit()]
    assert sorted(shown) == sorted(units), "python -m bench arithmetic; python docs/arithmetic.py"


@pytest.mark.parametrize("line", SPICA_COMMANDS)
def test_commands_of_the_pages_parse(line):
    """Only parsed, with all options, not run."""
    _, *arguments = shlex.split(line, comments=True)
    command, _, ignored = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert command.__name__.startswith(arguments[0])
    assert ignored == {}


@pytest.mark.parametrize("text", [README, COMMAND_LINE], ids=["README", "command_line"])
def test_every_command_is_shown(text):
    shown = {line.split()[1] for line in commands_of(text)}
    assert shown == {name for name in app if not name.startswith("-")}


@pytest.mark.parametrize("target", MAKE_COMMANDS)
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_variables_of_the_command_line_are_used():
    sources = "".join(path.read_text() for path in ROOT.glob("[achst]*/**/*.py"))
    variables = re.findall(r"^\| `(SPICA_\w+)`", COMMAND_LINE, re.MULTILINE)
    assert len(variables) == 6
    for variable in variables:
        assert variable in sources


def test_readme_is_short():
    assert len(README.splitlines()) <= 150


def test_index_lists_every_page():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name


def test_readme_says_where_the_command_is_before_it_is_used():
    assert README.index("`.venv/bin/spica`") < README.index("\nspica ")
    script = README.index("<!-- script -->")
    assert README.index(".venv/bin/pip install -e '.[plots,sweep]'") < script


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_install_from_the_clone_and_name_no_old_list_of_presets(page):
    text = page.read_text()
    assert "pip install 'spica" not in text
    assert "`tiny`, `core` or `virgo`" not in text


PAGE = (Path(__file__).parents[3] / "docs" / "gpu_sums.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nIt prints(.*?)\n\n(?=[A-Z#])", PAGE, re.DOTALL)


def test_every_example_has_its_output():
    assert len(EXAMPLES) == PAGE.count("```python") == 2


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["numbers", "stored"])
def test_example_prints_what_the_page_shows(code, shown, capsys):
    exec(compile(code, "gpu_sums.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert printed == re.sub(r"^:\s*```|```$|^ `|`\.$", "", shown.strip("\n")).strip()
