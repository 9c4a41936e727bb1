"""Kernels on machines that are too small or unlike those they need: refused in one sentence."""

import re

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from support.command_line import run_spica

#: Kernel, sizes, preset and setting; the message.
NEEDS = [
    ("nbody", "12", "core", "shared.size=256", "nbody needs a larger shared.size than 256: "),
    ("sgemm", "16", "virgo", "shared.size=256", "sgemm needs a larger shared.size than 256: "),
    (
        *("gemm", "16", "tiny", "shared.size=64"),
        "gemm on cores needs two tiles of A and two of B in shared memory, 512 and 256 bytes of "
        "its parts of 32 and 32: choose a larger shared.size than 64, or a smaller matrix.tile "
        "than 32,16,32",
    ),
    (
        *("gemm", "16", "ampere", "shared.size=2048"),
        "gemm on tensor units needs 3 tiles of 6 fragments of 256 bytes in each bank of shared "
        "memory, 4608 bytes, not 512: choose a larger shared.size than 2048, or fewer "
        "shared.banks than 4",
    ),
    (
        *("gemm", "16", "hopper", "shared.banks=64"),
        "gemm with hgmma needs the operands of 2 steps in each bank of shared memory, 2 x 3 x 1024 "
        "= 6144 bytes, not 2048: choose a larger shared.size than 131072, or fewer shared.banks "
        "than 64",
    ),
    (
        *("attention", "16x64", "virgo", "core.threads=16"),
        "attention needs another core.threads than 16: warps must have 1, 2, 4 or 8 threads",
    ),
    (
        *("gemm", "16", "ampere", "core.threads=32"),
        "gemm on tensor units needs core.threads=8, not 32: its fragments are those of warps of 8",
    ),
    (
        *("attention", "16x64", "ampere", "core.threads=32"),
        "attention needs core.threads=8, not 32: its fragments are those of warps of 8 threads",
    ),
]


@pytest.mark.parametrize(("kernel", "size", "preset", "setting", "message"), NEEDS)
def test_a_kernel_names_the_field_that_must_change(
    kernel, size, preset, setting, message, capsys, monkeypatch
):
    monkeypatch.setenv("SPICA_PROGRESS", "0")
    run = f"run {kernel} --preset {preset} --size {size} --engine iss --set {setting}"
    assert run_spica(run) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"spica: {message}")


def test_assertions_of_own_programs_stay_errors_of_the_compiler(tmp_path):
    source = tmp_path / "own.c"
    source.write_text('_Static_assert(0, "no room");\nint main(void) { return 0; }\n')
    with pytest.raises(UserError, match=re.compile(r"own\.c does not compile:.*no room", re.S)):
        compile_program([source], PRESETS["tiny"])
