"""Tests of taking snapshots: coverage, equal trees, planted changes, interrupts."""

import dataclasses
import itertools
import json
import re
import shutil
import signal

import pytest

from bench.snapshot import __main__ as snapshot
from bench.snapshot import cases, sizes
from bench.snapshot.selection import Selection
from bench.snapshot.source import tree_key
from spica import cli, kernels
from spica.cli.catalog import kernel_names
from spica.explore.work.record import Record
from spica.hw.presets import PRESETS
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.run import product_run

#: A machine without cores: one kernel, whose model is built in seconds.
SMALL = ("--quick", "--presets", "tiny_matrix", "--kernels", "gemm", "--no-area")
#: The same kernel on tensor units, by the instruction-set model.
MODEL = ("--presets", "ampere", "--kernels", "gemm", "--engine", "iss")


def take(file, *options, code=0):
    """Take a snapshot of small products with this exit code; return its entries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sizes.SIZES, "gemm", ({"size": "16x16x16"}, {"size": "21x18x33"}))
        assert snapshot.main(["take", str(file), *options]) == code
    return json.loads(file.read_text())["entries"]


def compare(*arguments):
    return snapshot.main(["compare", *map(str, arguments)])


def rows(text, *words):
    """Return the lines of a comparison with all words."""
    return [line for line in text.splitlines() if all(word in line for word in words)]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Snapshot of the small machine."""
    file = tmp_path_factory.mktemp("snapshot") / "small.json"
    take(file, *SMALL)
    return file


def record_names(monkeypatch, names, *kinds):
    """Let cases of some kinds add their name to a list instead of their work."""
    for kind in kinds:
        monkeypatch.setattr(
            kind, "record", lambda case, _: names.append(case.name) or Record(status="pass")
        )


def pairs(selected):
    """Return the pairs of kernel and preset among cases."""
    return {(case.kernel, case.preset) for case in selected if isinstance(case, cases.RunCase)}


def test_every_preset_and_every_kernel_has_its_cases():
    selected = Selection().cases()
    names = [case.name for case in selected]
    assert len(set(names)) == len(names)
    assert pairs(selected) == set(itertools.product(kernel_names(), PRESETS))
    for kind in ("config", "Verilog", "area"):
        assert {f"{kind} of {preset}" for preset in PRESETS} <= set(names)
    assert all(f"gemm 64x64x64 on {preset}, driver host" in names for preset in ("tiny", "virgo"))
    runs = [case for case in selected if isinstance(case, cases.RunCase)]
    assert all(
        len({case.options["size"] for case in runs if case.kernel == kernel}) >= 2
        for kernel in kernel_names()
    )


def test_a_new_preset_and_a_new_kernel_have_their_cases(monkeypatch, tmp_path):
    monkeypatch.setitem(PRESETS, "tiny_new", PRESETS["tiny"])
    folder = tmp_path / "hadamard"
    shutil.copytree(f"{kernels.__path__[0]}/sgemm", folder)
    monkeypatch.setattr(kernels, "__path__", [*kernels.__path__, str(tmp_path)])
    monkeypatch.setattr("spica.kernels.kernel.__file__", str(tmp_path / "kernel.py"))
    selected = Selection(is_quick=True).cases()
    assert ("hadamard", "tiny_new") in pairs(selected)
    names = {case.name for case in selected}
    assert {"hadamard 16x16x16 on tiny_new", "hadamard 13x17x11 on tiny_new"} <= names
    assert {"config of tiny_new", "Verilog of tiny_new", "area of tiny_new"} <= names


def test_two_snapshots_of_a_tree_are_equal(small, tmp_path, capsys):
    again = tmp_path / "again.json"
    entries = take(again, *SMALL)
    assert capsys.readouterr().out.splitlines()[-1] == "4 pass"
    assert {entry["status"] for entry in entries.values()} == {"pass"}
    run = entries["gemm 21x18x33 on tiny_matrix"]["facts"]
    assert run["cycles"]["cycles"] > 1_000
    assert run["counters"]["counters.matrix_active"] > 500
    assert len(run["values"]["c SHA-256"]) == 64
    verilog = entries["Verilog of tiny_matrix"]["facts"]
    assert verilog["interfaces"]["ports.clk"] == "input 1"
    assert verilog["verilog"]["modules"] > 20
    assert compare(small, again) == 0
    assert capsys.readouterr().out.splitlines() == ["4 cases: 0 changes, 0 of them not allowed"]


def changes(capsys, old, new, machines=SMALL, allowed=()):
    """Take a snapshot that must differ from another one; return the comparison, and entries."""
    entries = take(new, *machines)
    capsys.readouterr()
    assert compare(old, new, *allowed) == 1
    return capsys.readouterr().out, entries


def test_a_changed_latency_is_named(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(DramConfig.__init__.__kwdefaults__, "latency", 120)
    shown, _ = changes(capsys, small, file := tmp_path / "slower.json")
    assert len(rows(shown, "memory.parameters.latency", "100", "120", "+20 %")) == 2
    assert len(re.findall(r"on tiny_matrix +cycles .*\+\d", shown)) == 2
    assert not rows(shown, "SHA-256")
    assert compare(small, file, "--allow", "inputs", "--allow", "counters") == 1
    allowed = ("--allow", "inputs", "--allow", "counters", "--allow", "cycles:0.01%")
    assert compare(small, file, *allowed) == 1
    assert compare(small, file, *allowed[:-1], "cycles:90%") == 0
    assert rows(capsys.readouterr().out, "cycles", "allowed")


def test_changed_numerics_are_named(tmp_path, capsys, monkeypatch):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    take(old, *MODEL)
    core = dataclasses.replace(
        PRESETS["ampere"].core, tensor=RegisterFedConfig(numerics="nvidia(volta)")
    )
    monkeypatch.setitem(PRESETS, "ampere", dataclasses.replace(PRESETS["ampere"], core=core))
    shown, _ = changes(capsys, old, new, MODEL)
    assert rows(shown, "config of ampere", "core.tensor_numerics", "nvidia(volta)")
    assert rows(shown, "gemm 16x16x16 on ampere, iss", "c SHA-256")
    assert not rows(shown, "outcomes")


def test_a_wrong_bit_of_a_golden_model_is_named(small, tmp_path, capsys, monkeypatch):
    golden = product_run.golden_product

    def wrong(*arguments):
        expected = golden(*arguments)
        expected.view("u2").flat[5] ^= 1
        return expected

    monkeypatch.setattr(product_run, "golden_product", wrong)
    shown, _ = changes(capsys, small, tmp_path / "wrong.json")
    assert len(rows(shown, "status", "pass", "fail")) == 2
    assert len(rows(shown, "check.buffers.c.mismatches", " 0 ", " 1 ")) == 2
    assert not rows(shown, "SHA-256")


def test_a_wrong_bit_of_a_result_is_named(small, tmp_path, capsys, monkeypatch):
    finish = product_run.ProductRun.finish

    def wrong(run, execution):
        finish(run, execution)
        run.c.view("u2").flat[5] ^= 1

    monkeypatch.setattr(product_run.ProductRun, "finish", wrong)
    allowed = ("--allow", "cycles", "--allow", "counters")
    shown, _ = changes(capsys, small, tmp_path / "wrong.json", allowed=allowed)
    assert len(rows(shown, "c SHA-256")) == 2


def test_a_pair_that_is_refused_is_named(tmp_path, capsys, monkeypatch):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    take(old, *MODEL)
    monkeypatch.setitem(PRESETS, "ampere", PRESETS["tiny_matrix"])
    shown, entries = changes(capsys, old, new, MODEL, allowed=("--allow", "config"))
    refused = entries["gemm 16x16x16 on ampere, iss"]
    assert refused["status"] == "refused" and refused["facts"] == {}
    assert refused["reason"].startswith("gemm driven by a host does not run on engine iss")
    assert rows(shown, "status", "pass", "refused")
    assert rows(shown, "reason", "gemm driven by a host")


@pytest.mark.full
def test_a_run_that_reaches_its_limit_is_named(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cases, "LIMIT", 500)
    shown, entries = changes(capsys, small, tmp_path / "stopped.json")
    assert entries["gemm 21x18x33 on tiny_matrix"]["facts"] == {}
    assert len(rows(shown, "status", "pass", "stopped")) == 2
    assert len(rows(shown, "reason", "500")) == 2


def test_a_terminated_snapshot_is_written_and_leaves_no_draft(tmp_path, monkeypatch):
    file = tmp_path / "ended.json"
    monkeypatch.setattr("spica.cli.main.stop_tools", lambda: None)
    monkeypatch.setattr(cases.RunCase, "record", lambda *_: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert snapshot.main(["take", str(file), *SMALL]) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert list(tmp_path.iterdir()) == [file]
    assert list(json.loads(file.read_text())["entries"]) == ["config of tiny_matrix"]


def test_a_cut_snapshot_continues(tmp_path, capsys, monkeypatch):
    file, done = tmp_path / "cut.json", []

    def record(case, progress):
        if done:
            raise KeyboardInterrupt
        done.append(case.name)
        return Record(status="pass")

    options = ("take", str(file), *SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(cases.RunCase, "record", record)
        assert snapshot.main(options) == 130
    entries = json.loads(file.read_text())["entries"]
    assert set(entries) == {"config of tiny_matrix", *done}
    assert "the same command continues" in capsys.readouterr().err
    record_names(monkeypatch, done, cases.RunCase, cases.PresetCase)
    assert snapshot.main(options) == 0
    assert done == [
        "gemm 64x64x64 on tiny_matrix",
        "gemm 133x70x51 on tiny_matrix",
        "gemm 45x37x51 on tiny_matrix, data extreme, c fp32",
        "Verilog of tiny_matrix",
    ]
    assert list(json.loads(file.read_text())["entries"]) == ["config of tiny_matrix", *done]


def test_a_snapshot_of_another_tree_is_not_continued(small, tmp_path, capsys):
    file = tmp_path / "other.json"
    content = json.loads(small.read_text())
    file.write_text(json.dumps(content | {"source": "0" * 24, "entries": {"old": {}}}))
    capsys.readouterr()
    assert snapshot.main(["take", str(file), *SMALL]) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert "is a snapshot of other sources or tools" in message
    assert "give another file, or --replace" in message
    assert "old" not in take(file, *SMALL, "--replace")


def test_a_change_of_the_command_line_is_another_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "__path__", [str(tmp_path)])
    keys = set()
    for text in ("", "DEFAULT = 1\n", "DEFAULT = 2\n", "DEFAULT = 1\n"):
        (tmp_path / "options.py").write_text(text)
        keys.add(tree_key.__wrapped__())
    assert len(keys) == 3


def test_an_entry_of_another_config_or_size_is_not_kept(tmp_path, capsys, monkeypatch):
    """The key of an entry has everything that determines it, beside the sources."""
    file, done = tmp_path / "one.json", []
    record_names(monkeypatch, done, cases.RunCase)
    take(file, *MODEL)
    take(file, *MODEL)
    assert len(done) == len(set(done)) == 4
    monkeypatch.setitem(PRESETS, "ampere", PRESETS["volta"])
    take(file, *MODEL)
    assert len(done) == 8


def test_an_unexpected_error_is_an_entry_that_is_tried_again(tmp_path, capsys, monkeypatch):
    file = tmp_path / "error.json"
    with monkeypatch.context() as patch:
        patch.setattr(cases, "run_facts", lambda *_: {}["counters"])
        entries = take(file, *MODEL, code=1)
    failed = entries["gemm 16x16x16 on ampere, iss"]
    assert failed["status"] == "error" and failed["reason"] == "KeyError: 'counters'"
    assert take(file, *MODEL)["gemm 16x16x16 on ampere, iss"]["status"] == "pass"


@pytest.mark.slow
def test_a_quick_snapshot_on_two_workers(tmp_path):
    alone, together = tmp_path / "alone.json", tmp_path / "together.json"
    assert snapshot.main(["take", str(alone), "--quick"]) == 0
    assert snapshot.main(["take", str(together), "--quick", "--workers", "2"]) == 0
    assert compare(alone, together) == 0
    entries = json.loads(alone.read_text())["entries"]
    assert {entry["status"] for entry in entries.values()} == {"pass", "refused"}
    area = entries["area of tiny_matrix"]["facts"]
    assert area["area"]["cells"] > 1_000 and 0 < area["depth"]["depth"] <= 60


@pytest.mark.slow
def test_a_changed_latency_of_a_unit_is_named(small, tmp_path, capsys, monkeypatch):
    """Another array: its config, its Verilog, and the cycles of its products."""
    tiny = PRESETS["tiny_matrix"]
    unit = dataclasses.replace(tiny.units[0], multiply_add_latency=3)
    monkeypatch.setitem(PRESETS, "tiny_matrix", dataclasses.replace(tiny, units=(unit,)))
    file = tmp_path / "slower.json"
    take(file, *SMALL)
    capsys.readouterr()
    assert compare(small, file, "--rows", 0) == 1
    shown = capsys.readouterr().out
    assert rows(shown, "config of tiny_matrix", "units.0.multiply_add_latency", "2", "3")
    assert rows(shown, "Verilog of tiny_matrix", "bytes")
    assert len(re.findall(r"on tiny_matrix +cycles .*\+\d", shown)) == 2
