"""Tests of refused configs of parts that the units share; the units test the parts themselves."""

import re

import pytest

from spica.hw.core.units.lane_dispatch import BeatsConfig
from spica.hw.core.units.writeback_slots import WritebackSlotsConfig


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"threads": 0}, "threads must be between 1 and 32, not 0"),
        ({"threads": 33}, "threads must be between 1 and 32, not 33"),
        ({"lanes": 5}, "lanes must be between 1 and 4, not 5"),
        ({"lanes": 3}, "lanes must divide the 4 threads, not be 3"),
        (
            {"per_thread": {"place": 1}},
            "per_thread must not have a member named place, reserved for beats",
        ),
    ],
)
def test_beats_refused(fields, message):
    good = {"threads": 4, "lanes": 2, "common": 1, "per_thread": {"a": 32}}
    with pytest.raises(ValueError, match=re.escape(message)):
        BeatsConfig(**good | fields)


def test_writeback_slots_refused():
    with pytest.raises(ValueError, match=re.escape("latency must be between 2 and 16, not 1")):
        WritebackSlotsConfig(latency=1, common=1, value=1)
