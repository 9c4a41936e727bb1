"""Tests of output files."""

from spica.cli.files import Draft


def test_a_folder_that_is_created_is_named(tmp_path, capsys):
    with Draft(tmp_path / "new" / "one" / "result.json") as draft:
        draft.write("{}")
        draft.commit()
    assert capsys.readouterr().err == f"note: created the folder {tmp_path / 'new' / 'one'}\n"
    with Draft(tmp_path / "new" / "other.json"):
        assert capsys.readouterr().err == ""
