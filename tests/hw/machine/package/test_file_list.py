"""Tests of the file list: read by Verilator, slang and Icarus, in its folder and from another."""

import subprocess

import pytest

from support.need_tools import need_icarus
from support.verilog.slang import read_by_slang
from support.verilog.verilator import verilator_complaints

FORMS = {"memories": False, "macros": True}


@pytest.fixture(params=FORMS)
def folder(request, generated):
    """Return the folder of a design."""
    return generated("tiny_matrix", macros=FORMS[request.param])


@pytest.mark.full
@pytest.mark.parametrize("option", ["-f", "-F"])
def test_verilator_lints_the_files(folder, tmp_path, option):
    here, there = (folder, "") if option == "-f" else (tmp_path, f"{folder}/")
    files = (f"{there}tiny_matrix.vlt", option, f"{there}tiny_matrix.f")
    assert verilator_complaints("-Wall", *files, folder=here) == ""


@pytest.mark.parametrize("option", ["-f", "-F"])
def test_slang_reads_the_files_without_a_message(folder, tmp_path, option):
    here, there = (folder, "") if option == "-f" else (tmp_path, f"{folder}/")
    design = read_by_slang(option, f"{there}tiny_matrix.f", folder=here)
    assert (design.top, design.messages) == ("tiny_matrix", 0)


@pytest.mark.full
def test_icarus_reads_the_files(folder):
    need_icarus()
    command = ["iverilog", "-g2005", "-t", "null", "-f", "tiny_matrix.f"]
    subprocess.run(command, cwd=folder, check=True)
