"""Tests that three external tools read emitted presets, with memories and with macros."""

import shutil

import pytest

from spica.hw.config import PRESETS
from spica.hw.emit.sram_macros import MacroLimits
from spica.sim.engine.emission_cache import emit_cached
from support.verilog.lint import lint
from support.verilog.readers import icarus_complaints, yosys_complaints

FORMS = {"memories": None, "macros": MacroLimits()}
SLOW = ("matrix", "core", "virgo", "ampere")
PRESETS_READ = [
    "tiny_matrix",
    "tiny",
    *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
]
#: The linter takes longest; `test_presets` lints the variants with memories.
LINTED = [
    "tiny_matrix",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("tiny", *SLOW)),
]


def emission(preset, form):
    return emit_cached(PRESETS[preset], preset, limits=FORMS[form])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("preset", PRESETS_READ)
@pytest.mark.quick("tiny_matrix-memories")
def test_yosys_finds_nothing_wrong(preset, form):
    assert yosys_complaints(emission(preset, form)) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("preset", PRESETS_READ)
@pytest.mark.quick("tiny_matrix-memories")
def test_icarus_reads_it_by_both_standards(preset, form):
    if shutil.which("iverilog") is None:
        pytest.skip("missing: iverilog (apt-get install iverilog)")
    emitted = emission(preset, form)
    for standard in ("2005", "2012"):
        assert icarus_complaints(emitted, standard) == []


@pytest.mark.parametrize("preset", LINTED)
@pytest.mark.full
def test_lint_is_clean_with_macros(preset):
    assert lint(emission(preset, "macros")) == []


@pytest.mark.parametrize("preset", LINTED)
@pytest.mark.full
def test_memories_that_are_kept_are_small(preset):
    """All others are instances of wrappers; tables and queues are no such memories."""
    emitted, limits = emission(preset, "macros"), FORMS["macros"]
    shapes = [sram.shape for sram in emitted.srams]
    assert shapes
    assert all(limits.admit(shape) for shape in shapes)
    every = emit_cached(PRESETS[preset], preset, limits=MacroLimits(bits=0, words=0)).srams
    larger = {sram.shape.name: sram.instances for sram in every if limits.admit(sram.shape)}
    assert larger == {sram.shape.name: sram.instances for sram in emitted.srams}
