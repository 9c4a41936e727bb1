"""Tests of ``spica generate --commands``: the command list of a product for a host."""

import json
import re

import pytest

from spica.hw.isa.memory_map import DMA, DMA_BASE
from spica.hw.machine.package.package import PACKAGE_ENDINGS
from spica.hw.presets import PRESETS
from spica.kernels.commands import Operation
from spica.kernels.gemm.host.exported import exported_product
from spica.kernels.gemm.host.schedule import schedule
from spica.kernels.gemm.problem import GemmProblem
from support.command_line import refused, run_spica

SIZES = {"m": 20, "n": 12, "k": 40}


@pytest.fixture(scope="module")
def exported():
    """Return the files of a product on `tiny_matrix`."""
    return exported_product(PRESETS["tiny_matrix"], "tiny_matrix", **SIZES)


@pytest.fixture(scope="module")
def rows():
    """Return the command list that `spica run` executes for it."""
    problem = GemmProblem.placed(**SIZES)
    return schedule(PRESETS["tiny_matrix"], problem).commands.rows


def test_json_has_the_commands_of_the_schedule(exported, rows):
    description = json.loads(exported["tiny_matrix_gemm.json"])
    listed = [
        (
            Operation[command["operation"].upper()],
            command["address"],
            command["data"],
            command["mask"],
        )
        for command in description["commands"]
    ]
    assert listed == rows
    assert description["matrices"]["b"] == {
        "address": GemmProblem.placed(**SIZES).b_base,
        "rows": 40,
        "columns": 12,
        "pitch": 12,
        "format": "fp16",
    }


def test_every_command_has_the_name_of_its_register(exported):
    description = json.loads(exported["tiny_matrix_gemm.json"])["commands"]
    starts = [command for command in description if command["register"] == "dma.start"]
    assert starts
    assert {command["address"] for command in starts} == {DMA_BASE + DMA["start"].offset}
    assert all("." in command["register"] for command in description)


def test_c_header_has_the_commands_of_the_schedule(exported, rows):
    text = exported["tiny_matrix_gemm.h"]
    codes = dict(re.findall(r"#define SPICA_(\w+) (\d)u /\*", text))
    listed = [
        (int(codes[name]), *(int(word, 16) for word in words))
        for name, *words in re.findall(r"\{SPICA_(\w+), (\w+)u, (\w+)u, (\w+)u\}", text)
    ]
    assert listed == rows
    assert "#define SPICA_GEMM_A_ROWS 20\n" in text


def test_files_are_written_beside_the_verilog(tmp_path, capsys):
    command = f"generate tiny_matrix -o {tmp_path} --commands gemm:8x8x8"
    assert run_spica(command) == 0
    names = {path.name for path in tmp_path.iterdir()}
    endings = (".v", ".h", ".json", *PACKAGE_ENDINGS, "_gemm.h", "_gemm.json")
    assert names == {f"tiny_matrix{ending}" for ending in endings}
    assert "tiny_matrix_gemm.h: " in capsys.readouterr().out
    assert run_spica(command) == 0, "files of Spica are replaced"


def test_foreign_file_is_kept(tmp_path, capsys):
    (tmp_path / "tiny_matrix_gemm.h").write_text("own")
    command = f"generate tiny_matrix -o {tmp_path} --commands gemm:8"
    assert "tiny_matrix_gemm.h was not written by Spica" in refused(capsys, command)


@pytest.mark.parametrize(
    ("preset", "commands", "sentence"),
    [
        ("tiny_matrix", "gemm", "--commands must be gemm:MxNxK, for example gemm:64x64x64"),
        ("tiny_matrix", "sgemm:4", "--commands must be gemm:MxNxK, for example gemm:64x64x64"),
        ("tiny_matrix", "gemm:4x4", "--commands gemm must have one number or 3, mxnxk, not 4x4"),
        ("tiny_matrix", "gemm:0", "--commands gemm must be at least 1, not 0"),
        ("tiny_matrix", "gemm:4x", "--commands gemm must be a number, or numbers joined by x"),
        ("tiny_matrix", "gemm:100000", "must lie within DRAM"),
        ("core", "gemm:4", "gemm needs a matrix unit; this machine has none"),
    ],
)
def test_bad_commands_are_refused_in_one_sentence(tmp_path, capsys, preset, commands, sentence):
    command = f"generate {preset} -o {tmp_path / 'x'} --commands {commands}"
    assert sentence in refused(capsys, command)
    assert not (tmp_path / "x").exists()
