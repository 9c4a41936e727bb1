"""Tests of files for hosts and editors: they name targets of make and versions that exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
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


def test_bug_reports_ask_for_versions():
    assert "spica doctor" in (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text()


def test_version_is_the_same_everywhere():
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    headings = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", VERSION]
