"""Documentation says what the code says: tables, commands, links."""

import re
import shlex
from pathlib import Path

import pytest

from spica.cli.main import app
from spica.sim.units import every_unit

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text()
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL)).splitlines()
SPICA_COMMANDS = [line for line in SHELL if line.startswith("spica ")]
MAKE_COMMANDS = sorted(
    set(re.findall(r"\bmake ([a-z-]+)", "\n".join(p.read_text() for p in PAGES)))
)


def test_tables_are_those_of_the_hardware(page_writer):
    reference = page_writer("reference")
    text = reference.PAGE.read_text()
    assert reference.updated(text) == text, "make docs brings docs/machine.md up to date"


def test_page_of_arithmetic_has_every_format_and_unit(page_writer):
    """Figures are measured; which units there are, and their cycles, are known without."""
    arithmetic = page_writer("arithmetic")
    text = arithmetic.PAGE.read_text()
    assert arithmetic.formats() in text
    shown = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| .* \| (\d+) \| [\d.]+ \| ", text, re.M)
    units = [(unit.name, str(unit.latency), str(unit.interval), "0") for unit in every_unit()]
    assert sorted(shown) == sorted(units), "python -m bench arithmetic; python docs/arithmetic.py"


@pytest.mark.parametrize("line", SPICA_COMMANDS)
def test_commands_of_the_readme_parse(line):
    """Parsed to the last option, not run."""
    _, *arguments = shlex.split(line, comments=True)
    command, _, ignored = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert command.__name__.startswith(arguments[0])
    assert ignored == {}


def test_readme_shows_every_command():
    shown = {line.split()[1] for line in SPICA_COMMANDS}
    assert shown == {name for name in app if not name.startswith("-")}


@pytest.mark.parametrize("target", MAKE_COMMANDS)
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_variables_of_the_readme_are_used():
    sources = "".join(path.read_text() for path in ROOT.glob("[chst]*/**/*.py"))
    for variable in re.findall(r"^\| `(SPICA_\w+)`", README, re.MULTILINE):
        assert variable in sources
