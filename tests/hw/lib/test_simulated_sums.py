"""Tests of adders written as one expression for simulators, against those for synthesis."""

from unittest.mock import patch

import pytest

from spica.hw.emit.emitter import emit
from spica.hw.lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from spica.hw.machine.machine import Machine
from spica.hw.presets import PRESETS
from spica.synth.equivalence import require_equal
from spica.synth.yosys import YosysError


def both(config: CarrySelectAddConfig) -> tuple[str, str]:
    """Return the Verilog of an adder for synthesis, and the one for a simulator."""
    blocks, whole = (
        emit(CarrySelectAdd(config), "adder", simulated=simulated).verilog
        for simulated in (False, True)
    )
    return blocks, whole


def adders_of(preset: str) -> set[CarrySelectAddConfig]:
    """Return the configs of all adders in a preset."""
    configs, check = [], CarrySelectAddConfig.__post_init__

    def recorded(self):
        check(self)
        configs.append(self)

    with patch.object(CarrySelectAddConfig, "__post_init__", recorded):
        verilog = emit(Machine(PRESETS[preset]), preset, simulated=True).verilog
    assert "without_" not in verilog
    return set(configs)


@pytest.mark.parametrize(
    "preset",
    ["tiny_hetero", *(pytest.param(name, marks=pytest.mark.slow) for name in ("core", "virgo"))],
)
@pytest.mark.full
def test_adders_of_presets_are_the_same(preset):
    configs = adders_of(preset)
    assert len(configs) > 5
    for config in configs:
        blocks, whole = both(config)
        assert blocks.count("without_")
        assert f"{config.width} are proven" in require_equal(blocks, whole, "adder")


@pytest.mark.parametrize(("old", "new"), [("1'b1", "1'b0"), ("total_5[3] ?", "total_5[2] ?")])
@pytest.mark.quick(1)
def test_another_sum_is_found(old, new):
    blocks, whole = both(CarrySelectAddConfig(width=12, blocks=(5, 8)))
    assert old in blocks
    with pytest.raises(YosysError, match="unproven"):
        require_equal(blocks.replace(old, new), whole, "adder")
