"""Tests of the arguments of an own program on the command line."""

import numpy as np
import pytest

import spica
from spica.base.errors import UserError
from support.command_line import message_of, refused, run_spica

SCALE = """
#include <spica.h>
int main(void) {
    const uint32_t *words = spica_arguments();
    float *x = (float *)words[0], factor = *(const float *)&words[2];
    for (uint32_t k = 0; k < words[1]; k++) x[k] *= factor;
    return 0;
}
"""
RUN = "run scale.c --preset core --engine iss"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.c").write_text(SCALE)
    np.save("x.npy", np.arange(5, dtype=np.float32))
    return tmp_path


def test_numbers_and_arrays(folder):
    arguments = "--arg x.npy --arg 0x5 --arg -1.5 --dump 0=y.npy"
    assert run_spica(f"{RUN} {arguments}") == 0
    stored = np.load("y.npy")
    assert stored.dtype == np.float32
    assert np.array_equal(stored, np.arange(5) * np.float32(-1.5))


def test_arguments_that_are_read_and_not_given(folder, capsys):
    assert "of spica_arguments() and was given none: give numbers" in message_of(capsys, RUN)
    with pytest.raises(UserError, match="was given none"):
        spica.Machine("core", engine="iss", progress=False).run("scale.c")


@pytest.mark.slow
@pytest.mark.parametrize("lockstep", "--lockstep --no-lockstep")
@pytest.mark.parametrize("preset", ["core", "tiny"])
def test_arguments_that_are_not_given_on_the_rtl(folder, capsys, preset, lockstep):
    assert "of spica_arguments() and was given none: give numbers" in refused(
        capsys, f"run scale.c --preset {preset} {lockstep}"
    )


def test_fewer_arguments_than_are_read(folder, capsys):
    assert run_spica(f"{RUN} --arg x.npy") == 1
    assert "but the program has 1 word of arguments" in capsys.readouterr().err


REFUSED = {
    "word": ("a", "--arg must be a number or a file FILE.npy, not 'a'"),
    "missing": ("a.npy", "--arg a.npy cannot be read: No such file or directory"),
    "damaged": ("bad.npy", "--arg bad.npy must be an array of NumPy"),
    "objects": ("objects.npy", "--arg objects.npy must be an array of NumPy"),
    "wide": ("wide.npy", "elements of --arg 0 must be numbers of 8, 16 or 32 bits, not float64"),
    "empty": ("empty.npy", "--arg 0 must have at least one element"),
    "large": ("0x100000000", "--arg 0 must fit 32 bits, not 4294967296"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_arguments(folder, capsys, case):
    value, sentence = REFUSED[case]
    (folder / "bad.npy").write_bytes(b"\x93NUMPY")
    np.save("objects.npy", np.array([None]), allow_pickle=True)
    np.save("wide.npy", np.zeros(3))
    np.save("empty.npy", np.zeros(0, np.int32))
    assert sentence in refused(capsys, f"{RUN} --arg {value}")


def test_arrays_replace_the_inputs_of_a_kernel(folder, capsys):
    kernel = "run reduce --preset core --engine iss"
    np.save("x.npy", np.float32([1, 2, 4]))
    assert run_spica(f"{kernel} --arg x=x.npy --dump total=y.npy") == 0
    assert np.load("y.npy") == 7
    for options, sentence in {
        "--arg 1": "--arg must be ARRAY=FILE.npy, once for an array of reduce, which are x",
        "--arg y=x.npy": "not 'y=x.npy'",
        "--arg x=x.npy --size 4": "x must have the shape (n,) = (4,), not (3,)",
    }.items():
        assert sentence in message_of(capsys, f"{kernel} {options}")
    assert "--arg does not apply to gemm" in refused(capsys, "run gemm --preset tiny --arg a=x.npy")
