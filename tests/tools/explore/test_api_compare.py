"""Tests of `spica.compare`: figures, machines, messages."""

import pytest

import spica
from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.hw.config.override import override

ISS = {"engine": "iss", "jobs": 1, "area": False, "progress": False}


def test_figures_are_those_of_the_runs(cache):
    found = spica.compare("vecadd", ["tiny", "tiny,core.warps=8"], n=50, **ISS)
    assert found.is_passed and found.names == ["tiny", "tiny,core.warps=8"]
    (retired,) = [figure for figure in found.figures if figure.name == "retired"]
    results = [row.record.result for row in found.rows]
    assert list(retired.values) == [result["instructions"]["warp"] for result in results]
    assert retired.ratios[1] == retired.values[1] / retired.values[0]
    assert "| retired |" in found.markdown()


@pytest.mark.full
def test_machines_may_be_configs(cache):
    seen = []
    machines = {"mine": override(PRESETS["tiny"], ["core.l1d.mshrs=5"])}
    options = ISS | {"progress": lambda *step: seen.append(step)}
    found = spica.compare("vecadd", machines, n=50, **options)
    assert found.report()["machines"][0]["result"]["preset"] == "mine"
    assert seen[0][0] == "checking the problem" and seen[-1][:3] == ("sweep", 1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vecad", "tiny"), "kernel must be one of"),
        (("vecadd", "tinny"), "machines must be of tiny_matrix, .* not 'tinny'"),
        (("vecadd", []), "a comparison needs at least one machine"),
        (("vecadd", ["tiny", "tiny"]), "machines of a comparison must differ"),
        (("vecadd", "tiny,core.wraps=4"), "did you mean 'core.warps'"),
        (("vecadd", "tiny,core.l1d.size=1000"), "cannot set core.l1d.size=1000"),
        (("vecadd", ["tiny", "matrix"]), "vecadd needs cores"),
        (("sgemm", "tiny"), "sgemm needs the sizes m, n, k, not n"),
    ],
)
def test_bad_input_is_explained(arguments, message):
    with pytest.raises(UserError, match=message):
        spica.compare(*arguments, n=50, **ISS)
