"""Tests of emitted presets: reproducible text, standard ports, and four external tools read it."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from spica.hw.emit.emitter import emit
from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.machine.machine import Machine, gated_domains
from spica.hw.presets import PRESETS
from spica.sim.engine.emission_cache import emit_cached
from support.verilog.lint import lint
from support.verilog.readers import icarus_complaints, yosys_complaints
from support.verilog.slang import read_by_slang

EVERY = [
    "tiny_matrix",
    pytest.param("matrix", marks=pytest.mark.slow),
    pytest.param("matrix_fp32", marks=pytest.mark.slow),
    pytest.param("tiny", marks=pytest.mark.slow),
    pytest.param("core", marks=pytest.mark.slow),
]
WITH_MATRIX = [preset for preset in EVERY if preset != EVERY[-1]]
#: Presets that take seconds to emit are slow.
ALL = [
    name if name in ("tiny_matrix", "tiny_hetero") else pytest.param(name, marks=pytest.mark.slow)
    for name in PRESETS
]
#: Blocks that a cluster has in several sizes.
OF_SEVERAL_SIZES = {
    *("Arbiter", "DataArray", "L2Table", "ReplacementPolicy"),
    # Parts of both L1 caches.
    *("LineReads", "Mshr", "MshrFile", "Refill", "ReplayArbiter"),
}
MASTER = {
    "aw": ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "valid", "ready"),
    "w": ("data", "strb", "last", "valid", "ready"),
    "b": ("id", "resp", "valid", "ready"),
    "ar": ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "valid", "ready"),
    "r": ("id", "data", "resp", "last", "valid", "ready"),
}


@pytest.mark.parametrize("preset", EVERY)
@pytest.mark.full
def test_same_bytes_in_every_process(preset):
    program = (
        "import hashlib; from spica.hw.presets import PRESETS; "
        "from spica.hw.emit.emitter import emit; "
        "from spica.hw.machine.machine import Machine; "
        f"text = emit(Machine(PRESETS[{preset!r}]), {preset!r}).verilog; "
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    here = hashlib.sha256(emit(Machine(PRESETS[preset]), preset).verilog.encode()).hexdigest()
    for seed in ("0", "12345"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == here


@pytest.mark.parametrize("preset", ALL)
@pytest.mark.quick("tiny_matrix")
def test_lint_is_clean(preset):
    assert lint(emit_cached(PRESETS[preset], preset)) == []


@pytest.mark.parametrize("preset", WITH_MATRIX)
def test_one_module_per_distinct_block(preset):
    emission = emit_cached(PRESETS[preset], preset)
    matrix = PRESETS[preset].units[0]
    assert matrix is not None
    modules = re.findall(r"^module (\w+) \(", emission.verilog, re.M)
    assert len(modules) == len(set(modules))
    elements = [block for block in emission.modules if "Element" in block.component]
    assert [block.instances for block in elements] == [matrix.rows * matrix.columns]
    name = elements[0].name
    assert modules.count(name) == 1


@pytest.mark.parametrize("preset", ["tiny_matrix", pytest.param("tiny", marks=pytest.mark.full)])
def test_only_blocks_of_several_sizes_have_several_modules(preset):
    modules = Counter(block.component for block in emit_cached(PRESETS[preset], preset).modules)
    assert {component for component, count in modules.items() if count > 1} <= OF_SEVERAL_SIZES


@pytest.mark.full
def test_matrix_units_of_a_cluster_have_elements_of_their_own():
    emission = emit_cached(PRESETS["tiny_hetero"], "tiny_hetero")
    elements = [block for block in emission.modules if "Element" in block.component]
    macs = sorted(matrix.macs for matrix in PRESETS["tiny_hetero"].units)
    assert sorted(block.instances for block in elements) == macs


@pytest.mark.parametrize("preset", EVERY)
def test_ports_have_their_standard_names(preset):
    emission = emit_cached(PRESETS[preset], preset)
    names = {port.name for port in emission.ports}
    masters = range(PRESETS[preset].axi.masters)
    expected = {
        f"m_axi{c}_{channel}{member}"
        for c in masters
        for channel, members in MASTER.items()
        for member in members
    }
    for channel in ("aw", "ar"):
        expected |= {f"s_axil_{channel}{member}" for member in ("addr", "prot", "valid", "ready")}
    for channel, members in (("w", ("data", "strb")), ("b", ("resp",)), ("r", ("data", "resp"))):
        expected |= {f"s_axil_{channel}{member}" for member in (*members, "valid", "ready")}
    expected |= {"clk", "rst", "irq"}
    for domain in gated_domains(PRESETS[preset]):
        expected |= {f"{domain}_clk", f"{domain}_rst", f"{domain}_busy"}
    assert names == expected


@pytest.mark.parametrize("preset", EVERY[-2:])
def test_one_module_for_all_cores(preset):
    emission = emit_cached(PRESETS[preset], preset)
    counts = {block.component: block.instances for block in emission.modules}
    assert counts["Core"] == counts["MemoryUnit"] == PRESETS[preset].cores
    assert counts["AxiMux"] == PRESETS[preset].axi.masters


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("preset", PRESETS_READ)
@pytest.mark.quick("tiny_matrix-memories")
def test_slang_reads_it_without_a_warning(preset, form, tmp_path):
    emitted = emission(preset, form)
    (tmp_path / f"{preset}.v").write_text(emitted.verilog + emitted.sram_models)
    options = "-Weverything", "--top", preset, f"{preset}.v"
    design = read_by_slang(*options, folder=tmp_path)
    assert design.messages == 0
    ports = {port.name: (port.direction, port.width) for port in design.ports.values()}
    assert ports == {port.name: (port.direction, port.width) for port in emitted.ports}


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
