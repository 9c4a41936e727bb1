"""Tests of the comparison of snapshots: facts, order, allowances, refused input."""

import json
from collections import Counter

import pytest

from bench.snapshot import __main__ as snapshot
from bench.snapshot import facts
from spica.synth.area import area_report
from spica.synth.measure import BlockMeasurement, Measurement
from spica.synth.memories import MemoryShape

#: Entry of a case without facts.
ENTRY = {"status": "pass", "reason": "", "facts": {}}


def compare(*arguments):
    return snapshot.main(["compare", *map(str, arguments)])


def rows(text, *words):
    """Return the lines of a comparison with all words."""
    return [line for line in text.splitlines() if all(word in line for word in words)]


def written(file, entries, **others):
    """Write a snapshot with entries; return its file."""
    head = {"schema": "spica.snapshot", "version": 1, "source": "", "versions": {}}
    file.write_text(json.dumps(head | {"entries": entries} | others))
    return file


def both(folder, *counts):
    """Write snapshots of one run with these counters; return their files."""
    return [
        written(folder / f"{number}.json", {"run": ENTRY | {"facts": {"counters": count}}})
        for number, count in enumerate(counts)
    ]


def test_the_largest_changes_are_first_and_rows_are_limited(tmp_path, capsys):
    counts = [{f"x{place}": 100 + factor * place for place in range(9)} for factor in (0, 1)]
    old, new = both(tmp_path, *counts)
    assert compare(old, new, "--rows", 2) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].rstrip() == "counters: 8 changed in 1 cases"
    assert shown[2].split() == ["run", "x8", "100", "108", "+8", "%"]
    assert "6 more changes of counters; --rows 0 lists all" in shown
    assert compare(old, new, "--rows", 0) == 1
    assert len(rows(capsys.readouterr().out, "run", " %")) == 8
    assert compare(old, new, "--allow", "counters:7.9%") == 1
    assert compare(old, new, "--allow", "counters:8%") == 0
    assert compare(new, old, "--allow", "counters:7.4%") == 1
    assert compare(new, old, "--allow", "counters:7.5%") == 0


def test_quantities_of_one_snapshot_only_are_last(tmp_path, capsys):
    counts = {"gone": 5, "same": 1, "large": 10, "text": "a"}, {"text": "b", "large": 30, "same": 1}
    old, new = both(tmp_path, *counts)
    assert compare(old, new) == 1
    table = capsys.readouterr().out.splitlines()[2:5]
    assert [line.split()[1:4] for line in table] == [
        ["text", "a", "b"],
        ["large", "10", "30"],
        ["gone", "5", "none"],
    ]


def test_cases_of_one_snapshot_only(tmp_path, capsys):
    old = written(tmp_path / "old.json", {"a": ENTRY, "b": ENTRY})
    new = written(tmp_path / "new.json", {"a": ENTRY, "c": ENTRY | {"status": "refused"}})
    assert compare(old, new) == 1
    shown = capsys.readouterr().out
    assert rows(shown, " b ", "pass", "none") and rows(shown, " c ", "none", "refused")
    assert compare(old, new, "--allow", "cases") == 0
    assert compare(old, new, "--allow", "cases:5%") == 1


def test_values_from_zero_and_texts_have_no_percentage(tmp_path, capsys):
    old, new = both(tmp_path, {"stalls": 0, "kind": "a"}, {"stalls": 3, "kind": "b"})
    assert compare(old, new, "--allow", "counters:1000%") == 1
    shown = capsys.readouterr().out
    assert rows(shown, "stalls", "0", "3") and "2 of them not allowed" in shown
    assert compare(old, new, "--allow", "counters") == 0


def test_snapshots_of_other_tools_are_mentioned(tmp_path, capsys):
    old = written(tmp_path / "old.json", {}, versions={"numpy": "1", "python": "3"})
    new = written(tmp_path / "new.json", {}, versions={"numpy": "2", "python": "3"})
    assert compare(old, new) == 0
    assert "note: other tools: numpy 1 and 2" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "a snapshot must be a JSON file, and {} is none"),
        ("[]", "a snapshot must have the schema spica.snapshot, and {} has another"),
        ('{"schema": "x"}', "a snapshot must have the schema spica.snapshot, and {} has another"),
        (
            '{"schema": "spica.snapshot", "version": 0}',
            "a snapshot must have version 1, and {} has 0; take it again",
        ),
        (
            '{"schema": "spica.snapshot", "version": 1}',
            "a snapshot must have source, versions and entries, and {} lacks one; take it again",
        ),
        (None, "cannot read {}: no such file or directory"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused(content, message, tmp_path, capsys):
    file = tmp_path / "file.json"
    if content is not None:
        file.write_text(content)
    assert compare(file, file) == 2
    assert capsys.readouterr().err == f"bench.snapshot: {message.format(file)}\n"
    if content is not None:
        assert snapshot.main(["take", str(file)]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "a", "b", "--allow", "cycle"), "unknown group of --allow 'cycle'; did you"),
        (("compare", "a", "b", "--allow", "cycles:5"), "--allow must be a group, or a group with"),
        (("compare", "a", "b", "--rows", "-1"), "--rows must be at least 0, not -1"),
        (("take", "a", "--presets", "virgos"), "unknown preset 'virgos'; did you mean 'virgo'?"),
        (("take", "a", "--kernels", "gemmm"), "unknown kernel 'gemmm'; did you mean 'gemm'?"),
        (("take", "a", "--engine", "rtl"), "unknown --engine 'rtl'; choose one of verilator"),
        (("take", "a", "--workers", "0"), "--workers must be at least 1, not 0"),
        (("take", "a", "--quick", "--presets", "core"), "--quick takes presets whose names begin"),
    ],
)
def test_wrong_options_are_refused(arguments, message, capsys):
    assert snapshot.main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"bench.snapshot: {message}")


def test_areas_and_depths_of_groups_memories_and_blocks():
    shape = MemoryShape(depth=256, width=32, ports="1r1w")
    block = BlockMeasurement(
        name="bank_1",
        instances=3,
        cells=7,
        nand2=1 / 3,
        flip_flops=5,
        sram_bits=shape.bits,
        depth=9,
        memories=Counter({shape: 1}),
        groups={"shared memory": 3},
    )
    whole = {"cells": 21, "nand2": 1.0, "flip_flops": 15, "sram_bits": 3 * shape.bits, "depth": 11}
    measured = Measurement(name="tiny", area=None, blocks=(block,), **whole)
    area_facts = facts.area_facts(area_report(measured))
    depths = {"depth": 11, "groups.shared memory.depth": 9, "blocks.bank_1.depth": 9}
    assert area_facts["depth"] == depths
    area = area_facts["area"]
    assert area["cells"] == 21 and area["blocks.bank_1.cells"] == 7
    assert area["blocks.bank_1.nand2"] == 0.333333333333
    assert area["groups.shared memory.instances"] == 3
    assert area["memories.depth 256 width 32 ports 1r1w.count"] == 3
