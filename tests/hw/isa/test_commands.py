"""Tests of command words against those in programs for Virgo's machine."""

import pytest

from spica.hw.isa.commands import (
    CISC_MAPS,
    CiscKind,
    Function,
    bounds_sizes,
    cisc_strides,
    cisc_word,
    encode,
    encode_cisc,
    loop_parts,
    rocc_word,
)


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (Function.LOOP_WS, 0x1020B07B),
        (Function.BOUNDS, 0x1220B07B),
        (Function.STRIDES_AB, 0x1820B07B),
        (Function.STRIDES_DC, 0x1A20B07B),
        (Function.SPAD_AB, 0x3020B07B),
    ],
)
def test_rocc_words(function, word):
    assert rocc_word(function) == word


def test_loop_parts_are_the_words_of_the_cisc_commands():
    skips = {f"skip_{part}": 1 for part in ("load_a", "load_b", "load_d", "compute", "store")}

    def parts(*done, **others):
        return encode(loop_parts, **(skips | {f"skip_{part}": 0 for part in done} | others))

    assert parts("compute", shared_only=1) == 0x2B8
    assert parts("compute", "store", shared_only=1) == 0x238
    assert parts("store", shared_only=1) == 0x278
    assert parts("load_a", "load_b", shared_only=1) == 0x2E0
    assert parts("store") == 0x78
    assert parts("store", c_row=5) == 0x5_0000_0078


@pytest.mark.parametrize(
    ("cisc_map", "name", "fields", "word"),
    [
        ("current", "compute", {"a": 4, "b": 15, "c": 1}, 0x010F0400),
        ("current", "compute_spill", {"a": 0, "b": 11, "c": 9}, 0x090B0001),
        ("current", "strides_ab", {"first": 256, "second": 128}, 0x08010008),
        ("current", "strides_dc", {"first": 0, "second": 0xFFF}, 0xFFF0000B),
        ("current", "spill", {"a": 8}, 0x00000809),
        ("current", "load", {"a": 0, "b": 11}, 0x000B000A),
        ("current", "store", {}, 0x0000000C),
        ("current", "store", {"unit": 1, "square": 1}, 0x000000AC),
        ("legacy", "compute_second", {}, 3),
        ("legacy", "load_high", {}, 13),
    ],
)
def test_cisc_words(cisc_map, name, fields, word):
    assert encode_cisc(cisc_map, name, **fields) == word


def test_fields_do_not_overlap():
    for layout in (loop_parts, cisc_word, cisc_strides, bounds_sizes):
        bits = [set(range(f.offset, f.offset + f.width)) for _, f in layout]
        assert len(set().union(*bits)) == sum(map(len, bits))


def test_every_code_fits_its_field():
    for commands in CISC_MAPS.values():
        assert all(code < 32 for code in commands)
        names = [command.name for command in commands.values()]
        assert len(set(names)) == len(names)
        assert all(command.kind in CiscKind for command in commands.values())


def test_bad_fields_are_refused():
    with pytest.raises(ValueError, match="a must fit 8 bits, not 256"):
        encode_cisc("current", "load", a=256)
    with pytest.raises(ValueError, match=r"name must be one of compute_first, .*, not 'store'"):
        encode_cisc("legacy", "store")
