"""Tests of settings: every field of a config can change, errors use the config's messages."""

import dataclasses
import re

import pytest

from spica.hw.machine.fields import field_names, members
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override

MATRIX = PRESETS["matrix"]


def test_settings_apply_together():
    # The tile alone is refused: it would not fit the accumulator.
    changed = override(
        PRESETS["tiny_matrix"],
        ["matrix.accumulator_bytes=4096", "matrix.tile=64, 16, 32", "axi.masters=0x1"],
    )
    assert changed.units[0].tile == (64, 16, 32)
    assert changed.axi.masters == 1
    assert changed.shared == PRESETS["tiny_matrix"].shared


def test_no_settings_change_nothing():
    assert override(MATRIX, []) == MATRIX


def test_every_field_can_be_set_to_what_it_is():
    for name in field_names(MATRIX):
        value = MATRIX
        for step in name.split("."):
            value = members(value)[step]
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        assert override(MATRIX, [f"{name}={text}"]) == MATRIX


def test_a_part_can_be_taken_away():
    assert override(MATRIX, ["matrix=none"]).units == ()


def test_a_machine_without_dma_has_no_fields_of_one():
    without = override(PRESETS["ampere"], ["dma=none"])
    assert without == PRESETS["volta"]
    with pytest.raises(ValueError, match=r"dma\.queue cannot be set: dma is none in this config"):
        override(without, ["dma.queue=2"])
    with pytest.raises(ValueError, match="dma must not be none with matrix units"):
        override(MATRIX, ["dma=none"])


def test_one_of_several_parts():
    hetero = PRESETS["virgo_hetero"]
    changed = override(hetero, ["matrix1.rows=4", "matrix1.columns=4"])
    assert changed.units[1].macs == 16
    assert changed.units[0] == hetero.units[0]
    assert override(hetero, ["matrix1=none"]) == PRESETS["virgo"]
    assert override(hetero, ["matrix=none"]).units == hetero.units[1:]

    for setting, message in (
        ("matrix2.rows=4", "did you mean 'matrix.rows'?"),
        ("matrix1=4", "matrix1 is a group of fields; set one of matrix1.operand, "),
        ("units=none", "unknown field 'units'"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            override(hetero, [setting])


def test_a_tuple_of_any_length():
    for text, sources in (("none", ()), ("()", ()), ("2", (2,)), ("0, 3", (0, 3))):
        changed = override(PRESETS["virgo"], [f"l2.no_allocate_sources={text}"])
        assert changed.l2.no_allocate_sources == sources


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["matrix.rows=3"], "rows must be a power of two, not 3"),
        (["matrix.rows=many"], "matrix.rows must be an integer, not 'many'"),
        (
            ["matrix.operand=fp13"],
            "operand must be one of fp16, bf16, fp8_e4m3, fp8_e5m2, fp32, int8, not 'fp13'",
        ),
        (["matrix.read_scale=2"], "matrix.read_scale must be true or false, not '2'"),
        (["matrix.tile=1,2"], "matrix.tile must be 3 values with commas, not '1,2'"),
        (["matrix.rows"], "a setting must be written name=value, not 'matrix.rows'"),
        (["matrx.rows=4"], "unknown field 'matrx.rows'; did you mean 'matrix.rows'?"),
        (["rows=4"], "unknown field 'rows'; did you mean 'matrix.rows'?"),
        (
            ["zzz=4"],
            "unknown field 'zzz'; known are cores, core, barriers, barrier_scope, shared.…, ",
        ),
        (["matrix=4"], "matrix is a group of fields; set one of matrix.operand, "),
        (["axi.masters.x=4"], "axi.masters has no subfields, so 'axi.masters.x' names"),
        (["matrix=none", "matrix.rows=4"], "another setting takes matrix away"),
    ],
)
def test_wrong_settings_are_reported(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        override(MATRIX, settings)


def test_a_part_that_is_not_there_has_no_fields_to_set():
    without = dataclasses.replace(MATRIX, units=())
    with pytest.raises(ValueError, match=r"matrix\.rows cannot be set: matrix is none"):
        override(without, ["matrix.rows=4"])
    with pytest.raises(ValueError, match="matrix cannot be set to '4'"):
        override(without, ["matrix=4"])
    assert override(without, ["matrix=none"]) == without
