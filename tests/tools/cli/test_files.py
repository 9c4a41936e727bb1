"""Tests of output files."""

import pytest

from spica.cli.files import Draft
from support.command_line import refused


def test_a_folder_that_is_created_is_named(tmp_path, capsys):
    with Draft(tmp_path / "new" / "one" / "result.json") as draft:
        draft.write("{}")
        draft.commit()
    assert capsys.readouterr().err == f"note: created the folder {tmp_path / 'new' / 'one'}\n"
    with Draft(tmp_path / "new" / "other.json"):
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "options",
    [
        "--dump x=out.npy --json ./out.npy --engine iss",
        "--dump x=out.npy --dump y=out.npy --engine iss",
        "--json out.json --trace out.json",
    ],
)
def test_two_outputs_have_two_files(tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # a refused command keeps no place
        command = f"run vecadd --preset tiny --size 3 {options}"
        assert "each output must have a file of its own, not two" in refused(capsys, command)
        assert not list(tmp_path.iterdir())
    with Draft("out.npy") as draft:
        draft.commit()
    with Draft("out.npy"):
        pass
