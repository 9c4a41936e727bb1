"""Tests that the examples of docs/gpu_sums.md run and print what the page shows."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "gpu_sums.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nIt prints(.*?)\n\n(?=[A-Z#])", PAGE, re.DOTALL)


def test_every_example_has_its_output():
    assert len(EXAMPLES) == PAGE.count("```python") == 2


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["numbers", "stored"])
def test_example_prints_what_the_page_shows(code, shown, capsys):
    exec(compile(code, "gpu_sums.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert printed == re.sub(r"^:\s*```|```$|^ `|`\.$", "", shown.strip("\n")).strip()
