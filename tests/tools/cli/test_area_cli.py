"""Tests of ``spica area``: tables, files, and one-sentence errors for bad input."""

import json
from collections import Counter
from pathlib import Path

import pytest

from spica.synth.fpga.area import Resources
from spica.synth.measure import BlockMeasurement, Measurement
from spica.synth.memories import MemoryShape, memory_nand2
from support.charts import marks_of
from support.command_line import refused, run_spica

BANK = MemoryShape(depth=256, width=32, ports="1r1w")
LIBRARY = """
library (tiny) {
  cell (NAND2) { area : 4; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Y) { direction : output; function : "!(A & B)"; } }
  cell (DFF) { area : 20; ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; } }
}
"""
TABLE = "macro,ports,words,width,area_um2\nwide,2,256,32,1000\n"


def machine(name, banks):
    """Return a machine with this many banks of shared memory, and a mesh."""
    bank = BlockMeasurement(
        name="bank_1",
        instances=banks,
        cells=7,
        nand2=100.5,
        flip_flops=3,
        flip_flop_nand2=20.5,
        sram_bits=BANK.bits,
        memories=Counter({BANK: 1}),
        depth=9,
        area=400.0,
        flip_flop_area=60.0,
        groups={"shared memory": banks},
    )
    mesh = BlockMeasurement(
        name="mesh_1",
        instances=1,
        cells=10,
        nand2=598.0,
        flip_flops=0,
        sram_bits=0,
        depth=12,
        area=2000.0,
        flip_flop_area=0.0,
        groups={"mesh": 1},
    )
    return Measurement(
        name=name,
        cells=10 + 7 * banks,
        nand2=598.0 + 100.5 * banks,
        flip_flops=3 * banks,
        sram_bits=BANK.bits * banks,
        depth=12,
        area=2000.0 + 400.0 * banks,
        blocks=(mesh, bank),
    )


@pytest.fixture
def fake(monkeypatch):
    """Replace synthesis: a machine has as many banks as its config."""
    requested = []

    def measure(config, name, *, liberty, progress):
        requested.append((name, config))
        progress("bank_1", 1)
        return machine(name, config.shared.banks)

    def take(design, technology, *, progress):
        progress("bank_1", 1)
        groups = {"mesh": Counter(lut=3_000_003, ff=20, dsp=4)}
        groups["DMA"] = Counter(lut=1_000_001, bram=1.5)
        whole = groups["mesh"] + groups["DMA"]
        return Resources(whole=whole, groups=groups, blocks={"mesh_1": (2, Counter(lut=150))})

    monkeypatch.setattr("spica.cli.area.command.measure_cluster", measure)
    monkeypatch.setattr("spica.cli.area.command.cluster_design", lambda config, name: None)
    monkeypatch.setattr("spica.cli.area.command.measure_technology", take)
    return requested


def row_of(text, name):
    return next(line for line in text.splitlines() if line.strip().startswith(name)).split()


def test_groups_are_a_table_and_json(fake, capsys, tmp_path):
    target = tmp_path / "area.json"
    assert run_spica(f"area matrix --json {target}") == 0
    sram = memory_nand2(BANK) * 4
    whole = 1000 + sram
    printed = capsys.readouterr()
    row = row_of(printed.out, "shared memory")
    assert row[2:8] == ["4", "28", "320", "82", f"{4 * BANK.bits:,}", f"{sram:,.0f}"]
    assert row[8:] == [f"{402 + sram:,.0f}", f"{(402 + sram) / whole:.1%}", "9"]
    assert row_of(printed.out, "total")[-1] == "12"
    assert "bank_1" not in printed.out
    assert "synthesising matrix" in printed.err
    (written,) = json.loads(target.read_text())["machines"]
    assert written["name"] == "matrix"
    assert written["blocks"][1]["instances"] == 4
    groups = {group["name"]: group for group in written["groups"]}
    assert groups["shared memory"]["sram_bits"] == {"1r1w": 4 * BANK.bits}
    assert groups["mesh"]["share"] == pytest.approx(598 / whole)
    assert written["sram_nand2_estimate"] == sram
    assert written["rules"]["nand2_weights"]["$_NAND_"] == 1


def test_blocks_on_request(fake, capsys):
    assert run_spica("area matrix --blocks") == 0
    out = capsys.readouterr().out
    assert row_of(out, "bank_1")[:6] == ["bank_1", "(shared", "memory)", "4", "7", "100"]
    assert row_of(out, "256 x 32")[:5] == ["256", "x", "32", "1r1w", "4"]


def test_presets_stand_beside_each_other_with_ratios(fake, capsys):
    assert run_spica("area matrix tiny_matrix") == 0
    out = capsys.readouterr().out
    table = out[out.index("NAND2 equivalents, including SRAM") :]
    assert row_of(table, "mesh") == ["mesh", "598", "598", "1.00"]
    assert row_of(table, "shared memory")[-1] == "0.50"
    assert [name for name, _ in fake] == ["matrix", "tiny_matrix"]


def test_a_sweep_is_a_machine_for_each_value(fake, capsys):
    assert run_spica("area matrix --sweep shared.banks=2,4,8 --set dma.queue=2") == 0
    assert [config.shared.banks for _, config in fake] == [2, 4, 8]
    assert {config.dma.queue for _, config in fake} == {2}
    assert row_of(capsys.readouterr().out, "group")[1:] != []
    assert run_spica("area matrix --sweep matrix.rows+matrix.columns=4,8") == 0
    assert [(c.units[0].rows, c.units[0].columns) for _, c in fake[3:]] == [(4, 4), (8, 8)]


def test_a_cell_library_and_a_table_of_macros(fake, capsys, tmp_path):
    library, table = tmp_path / "tiny.lib", tmp_path / "macros.csv"
    library.write_text(LIBRARY)
    table.write_text(TABLE)
    assert run_spica(f"area matrix --liberty {library}") == 0
    out = capsys.readouterr().out
    estimated = 4 * (400 + memory_nand2(BANK) * 4.0)
    assert row_of(out, "shared memory")[-2] == f"{estimated:,.0f}"
    assert run_spica(f"area matrix --liberty {library} --sram-table {table}") == 0
    out = capsys.readouterr().out
    assert row_of(out, "shared memory")[-2] == f"{4 * (400 + 1000):,}"
    assert row_of(out, "256 x 32")[-3:] == ["1", "x", "wide"]


def test_lookup_tables(fake, capsys, tmp_path):
    target = tmp_path / "taken.json"
    assert run_spica(f"area tiny --tech ecp5 --blocks --json {target}") == 0
    out = capsys.readouterr().out
    assert row_of(out, "mesh ") == ["mesh", "3,000,003", "20", "0", "4", "75.0%"]
    assert row_of(out, "total") == ["total", "4,000,004", "20", "1.5", "4", "100.0%"]
    assert row_of(out, "mesh_1") == ["mesh_1", "2", "150", "0", "0", "0"]
    assert "Each block is synthesised separately" in out
    (written,) = json.loads(target.read_text())["machines"]
    assert written["groups"]["DMA"] == {"lut": 1_000_001, "bram": 1.5}


def test_markdown_and_a_picture(fake, tmp_path, capsys):
    page, picture = tmp_path / "area.md", tmp_path / "area.svg"
    assert run_spica(f"area matrix tiny --markdown {page} --plot {picture}") == 0
    lines = page.read_text().splitlines()
    assert lines[0] == "# `spica area matrix tiny`"
    assert "## Area of matrix" in lines
    heads = [line for line in lines if line.startswith("| group |")]
    assert len(heads) == 3
    assert {line.count("|") for line in lines if line.startswith("| mesh |")} == {
        head.count("|") for head in heads
    }
    drawn = picture.read_text()
    assert drawn.startswith("<svg ") and drawn.endswith("</svg>\n")
    bars = [
        (values["label"], values["side"], values["figure"]) for values, _ in marks_of(drawn, "bar")
    ]
    assert {("mesh", "matrix", "598"), ("mesh", "tiny", "598")} <= set(bars)
    assert sum(row == "shared memory" for row, _, _ in bars) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--tech ecp6", "unknown --tech 'ecp6'; did you mean 'ecp5'?"),
        ("--liberty absent.lib", "there is none at absent.lib"),
        ("--liberty macros.csv", "holds no library (...)"),
        ("--liberty bare.lib", "must hold a flip-flop"),
        ("--sram-table macros.csv", "--sram-table needs --liberty"),
        ("--liberty tiny.lib --sram-table absent.csv", "none at absent.csv"),
        ("--liberty tiny.lib --sram-table bare.lib", "none called ports"),
        ("--liberty tiny.lib --tech ecp5", "--liberty needs --tech gates, not ecp5"),
        ("--paths -1", "--paths must be at least 0, not -1"),
        ("--paths 2 --tech ice40", "--paths needs --tech gates, not ice40"),
        ("--plot area.gif", "--plot must be a file with suffix .svg or .png, not area.gif"),
        ("--plot macros.csv/area.svg", "macros.csv is not a folder"),
        ("--markdown .", "an output must be a file"),
        ("--sweep shared.banks", "must be a field of one preset with its values"),
        ("tiny --sweep shared.banks=2", "not shared.banks=2 of 2 presets"),
        ("--sweep shared.banks=2,3", "cannot set shared.banks=3: shared.banks must be a power of"),
        ("--sweep shared.bank=2", "unknown field 'shared.bank'"),
    ],
)
def test_bad_input_is_one_sentence(fake, capsys, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    files = {"tiny.lib": LIBRARY, "bare.lib": "library (a) {\n}\n", "macros.csv": TABLE}
    for name, text in files.items():
        Path(name).write_text(text)
    assert sentence in refused(capsys, f"area matrix {arguments} --json result.json")
    assert fake == []
    assert {path.name for path in tmp_path.iterdir()} == files.keys()


def test_presets_that_have_no_rtl_are_refused_before_anything_runs(fake, capsys):
    sets = "--set shared.subbanks=4 --set axi.data_width=128"
    assert "shared must have lines of 32 bytes or more" in refused(
        capsys, f"area core hopper {sets}"
    )
    assert fake == []
