"""Files of Python have up to 300 lines, so that each holds one concept."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOMS = (
    *("base", "hw", "kernels", "sim", "synth", "explore", "api", "cli"),
    *("bench", "formal", "docs"),
)
LIMIT = 300
#: Tables: a row for each instruction, operation, block or coefficient.
TABLES = {
    "hw/arith/special/coefficients.py",
    "hw/config/blocks.py",
    "hw/isa/instructions.py",
    "hw/isa/operations.py",
}
#: Files of more than one concept.
TOO_LONG = {
    "api/machine.py",
    "docs/tensor_numerics.py",
    "hw/cluster/cluster.py",
    "hw/memory/memory_unit/data_memory_unit.py",
    "sim/golden/core/front_end/decode.py",
    "sim/golden/matrix/command/command_decoder.py",
    "sim/iss/machine.py",
    "sim/machine/program_machine.py",
    "sim/report/run_report.py",
    "sim/run/program_workload.py",
    "sim/run/rtl_executor.py",
    "synth/energy/power_library.py",
}


@pytest.mark.parametrize("room", ROOMS)
def test_files_have_up_to_300_lines(room):
    files = {path: path.read_text() for path in (ROOT / room).rglob("*.py")}
    lines = {path.relative_to(ROOT).as_posix(): text.count("\n") for path, text in files.items()}
    assert {path for path, count in lines.items() if count > LIMIT} <= TABLES | TOO_LONG


def test_exceptions_exist():
    assert all((ROOT / path).exists() for path in TABLES | TOO_LONG)
