"""Tests of files of a run: options of the compiler, contents of memory, outputs."""

import numpy as np
import pytest

from spica.cli.files import Draft
from spica.kernels.kernel import find_kernel
from support.command_line import refused, run_spica

VECADD = "run vecadd --preset tiny --size 9"
PLACE = 0x9F00_0000
PROGRAM = f"""
#include <spica.h>
#include <own.h>
int main(void) {{
    volatile uint32_t *at = (volatile uint32_t *){PLACE:#x};
    at[0] = FIRST;
    at[1] = SECOND;
    return 0;
}}
"""


def test_a_buffer_and_a_range_of_memory(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    dumps = "--dump z=z.npy --dump 0x90000000:8=x.npy --dump 0x90000001:2=two.npy"
    assert run_spica(f"{VECADD} --engine iss {dumps}") == 0
    problem = find_kernel("vecadd").problem({"n": 9}, 1)
    x = problem.buffers["x"].data
    assert np.allclose(np.load("z.npy"), problem.buffers["z"].expected, equal_nan=True)
    assert np.array_equal(np.load("x.npy"), x[:2].view(np.uint32))
    assert np.array_equal(np.load("two.npy"), x.view(np.uint8)[1:3])
    assert {path.name for path in tmp_path.iterdir()} == {"z.npy", "x.npy", "two.npy"}


def test_headers_macros_and_memory_of_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "own.h").write_text("#define SECOND 7\n")
    own = "run program.c --preset tiny --engine iss -D FIRST=5"
    memory = f"--allow-region {PLACE:#x}:4096 --dump {PLACE:#x}:8=words.npy"
    assert run_spica(f"{own} {memory} -I headers") == 0
    assert np.load("words.npy").tolist() == [5, 7]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--dump q=z.npy", "a dump must be one of the buffers x, y, z, or address:bytes, not"),
        ("--dump z=z.txt", "--dump must be BUFFER=FILE.npy or ADDRESS:BYTES=FILE.npy, not"),
        ("--dump z.npy", "--dump must be BUFFER=FILE.npy or ADDRESS:BYTES=FILE.npy, not"),
        ("--dump 0x10:4=z.npy", "a dump must lie within 0x80000000 to"),
        ("--dump a:b=z.npy", "a dump must be address:bytes, not 'a:b'"),
        ("-I absent", "a folder of headers must exist;"),
        ("-D 5x", "a macro must be NAME or NAME=VALUE, not '5x'"),
    ],
)
def test_bad_options(options, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, f"{VECADD} --engine iss {options}")
    assert not list(tmp_path.iterdir())


def test_a_host_has_no_dumps(capsys):
    assert "--dump does not apply to gemm driven by a host" in refused(
        capsys, "run gemm --preset tiny_matrix --dump c=c.npy"
    )


def test_a_folder_that_is_created_is_named(tmp_path, capsys):
    with Draft(tmp_path / "new" / "one" / "result.json") as draft:
        draft.write("{}")
        draft.commit()
    assert capsys.readouterr().err == f"note: created the folder {tmp_path / 'new' / 'one'}\n"
    with Draft(tmp_path / "new" / "other.json"):
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "options",
    [
        "--dump x=out.npy --json ./out.npy --engine iss",
        "--dump x=out.npy --dump y=out.npy --engine iss",
        "--json out.json --trace out.json",
    ],
)
def test_two_outputs_have_two_files(tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # a refused command keeps no place
        command = f"run vecadd --preset tiny --size 3 {options}"
        assert "each output must have a file of its own, not two" in refused(capsys, command)
        assert not list(tmp_path.iterdir())
    with Draft("out.npy") as draft:
        draft.commit()
    with Draft("out.npy"):
        pass
