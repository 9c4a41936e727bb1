"""Tests of the axes of a sweep: parsing, combinations, and messages for bad input."""

import pytest

from spica.base.errors import UserError
from spica.explore.points.axes import (
    Axis,
    combinations,
    on_machine,
    on_memory,
    parsed_axes,
    require_known,
)
from spica.hw.presets import PRESETS
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.run.options import RunOptions

BOTH = [PRESETS["tiny"], PRESETS["matrix"]]


def test_values_in_parentheses_keep_their_commas():
    first, second = parsed_axes(["core.warps=4, 8", "matrix.tile=(32,16,32),(64,32,128)"])
    assert first == Axis("core.warps", ("4", "8"))
    assert second == Axis("matrix.tile", ("(32,16,32)", "(64,32,128)"))


def test_the_last_field_changes_first():
    axes = parsed_axes(["a=1,2", "b=3,4"])
    points = [tuple(point.values()) for point in combinations(axes)]
    assert points == [("1", "3"), ("1", "4"), ("2", "3"), ("2", "4")]
    assert list(combinations([])) == [{}]


def test_fields_go_to_the_machine_or_to_its_memory():
    settings = {"core.warps": "8", "dram.latency": "7", "dram.bytes_per_cycle": "2.5"}
    assert on_machine(PRESETS["tiny"], settings).core.warps == 8
    expected = DramConfig(latency=7, bytes_per_cycle=2.5, seed=3)
    assert on_memory(RunOptions(seed=3), settings).memory == expected
    given = on_memory(RunOptions(memory=DramConfig(banks=4)), {"dram.latency": "7"}).memory
    assert given == DramConfig(banks=4, latency=7)
    simple = on_memory(RunOptions(seed=3), {"memory.jitter": "2"}).memory
    assert simple == CoreMemoryConfig(jitter=2, seed=3)
    assert on_memory(RunOptions(), {"core.warps": "8"}).memory is None


def test_one_run_has_one_memory_model():
    with pytest.raises(UserError, match=r"memory\.\* does not apply"):
        on_memory(RunOptions(memory=DramConfig()), {"memory.latency": "3"})


@pytest.mark.parametrize("text", ["core.warps", "core.warps=", "=4", "core.warps=4,,8", ""])
def test_an_axis_needs_a_field_and_values(text):
    with pytest.raises(UserError, match="must be a field with its values"):
        parsed_axes([text])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("core.wraps=4", r"unknown field 'core.wraps'; did you mean 'core.warps'\?"),
        ("core.warps=many", "core.warps must be an integer, not 'many'"),
        ("core=4", "core is a group of fields"),
        ("dram.latencies=4", r"unknown field 'latencies'; did you mean 'latency'\?"),
        ("dram.latency=x", "latency must be an integer"),
    ],
)
def test_fields_and_types_of_values_are_checked_at_once(text, message):
    with pytest.raises(UserError, match=f"cannot vary .*: {message}"):
        require_known(parsed_axes([text]), BOTH, "verilator", has_dram=False)


def test_a_field_of_one_preset_is_enough():
    axes = parsed_axes(["core.warps=4,3", "dram.latency=4"])
    require_known(axes, BOTH, "verilator", has_dram=True)
    with pytest.raises(UserError, match=r"unknown field 'matrix1\.rows'"):
        require_known(parsed_axes(["matrix1.rows=4"]), BOTH, "verilator", has_dram=True)
    require_known(
        parsed_axes(["matrix1.rows=4"]),
        [*BOTH, PRESETS["virgo_hetero"]],
        "verilator",
        has_dram=True,
    )


def test_memory_needs_an_engine_with_timing_and_a_kernel_that_uses_it():
    with pytest.raises(UserError, match=r"dram\.latency does not apply to engine iss"):
        require_known(parsed_axes(["dram.latency=4"]), BOTH, "iss", has_dram=False)
    with pytest.raises(
        UserError, match=r"memory\.latency does not apply to a kernel of the matrix"
    ):
        require_known(parsed_axes(["memory.latency=4"]), BOTH, "verilator", has_dram=True)


def test_repetitions_are_refused():
    with pytest.raises(UserError, match=r"values of core\.warps must differ, and 4 is repeated"):
        parsed_axes(["core.warps=4,4"])
    with pytest.raises(UserError, match="fields of a sweep must differ, and cores is repeated"):
        require_known(parsed_axes(["cores=1", "cores=2"]), BOTH, "iss", has_dram=False)
