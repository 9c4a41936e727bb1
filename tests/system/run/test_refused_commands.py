"""Tests of commands that a unit refuses, and of unit registers on cores alone, on every engine."""

import re

import pytest

from support.command_line import run_spica
from support.runs import failure_of, passed, run_program

ENGINES = ["iss", "verilator"]
#: Statement that sends a command, the reason, and the command with its name.
COMMANDS = {
    "no such command": ("spica_cisc(7);", "an illegal command", "0x00000007"),
    "no such unit": ("spica_cisc(2 << 5 | SPICA_CISC_STORE);", "", ""),
    "out of range": (
        "spica_cisc(SPICA_CISC_LOAD | 15 << 8 | 15 << 16);",
        "a command out of range",
        "0x000F0F0A, load",
    ),
    "no RoCC word": (
        "*(volatile uint32_t *)SPICA_MATRIX_INSTRUCTION = 0x12345678;",
        "an illegal command",
        "0x12345678",
    ),
    "an empty product": (
        "*(volatile uint32_t *)SPICA_MATRIX_INSTRUCTION = SPICA_ROCC_LOOP_WS;",
        "a command out of range",
        "0x1020B07B, loop_ws",
    ),
}


def source(tmp_path, statement):
    path = tmp_path / "refused.c"
    path.write_text(
        "#include <spica.h>\n#include <virgo.h>\nint main(void)\n{\n"
        "    if (vx_core_id() == 0) {\n        virgo_fence(0);\n"
        f"        {statement} /* line 7 */\n        virgo_fence(0);\n    }}\n    return 0;\n}}\n"
    )
    return path


def check_of(path, **options):
    return run_program(path, **options)["check"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "no such unit"])
@pytest.mark.quick("*-iss")
def test_a_refused_command_fails_the_run_and_is_named(tmp_path, name, engine):
    statement, reason, command = COMMANDS[name]
    check = check_of(source(tmp_path, statement), engine=engine)
    assert (check["verdict"], check["exit_code"]) == ("fail", 0)
    assert re.fullmatch(
        rf"the matrix unit reported {reason} \(first rejected command: {command}, sent by "
        r"core 0, warp 0 at 0x8000[0-9a-f]{4}, \S*refused\.c:7 in main\)",
        check["device_errors"],
    )


@pytest.mark.full
def test_without_lockstep_the_command_is_named(tmp_path):
    check = check_of(
        source(tmp_path, COMMANDS["out of range"][0]), engine="verilator", lockstep=False
    )
    assert check["verdict"] == "fail"
    assert check["device_errors"] == (
        "the matrix unit reported a command out of range (first rejected command: 0x000F0F0A, "
        "load; run in lockstep for the instruction)"
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.quick("iss")
def test_a_command_for_a_missing_unit_fails_the_run(tmp_path, engine):
    check = check_of(source(tmp_path, COMMANDS["no such unit"][0]), engine=engine)
    assert check["verdict"] == "fail" and check["device_errors"]


def test_a_program_that_clears_the_error_passes(tmp_path):
    statement = "spica_cisc(7); *(volatile uint32_t *)SPICA_MATRIX_ERROR = 0;"
    assert check_of(source(tmp_path, statement), engine="iss")["verdict"] == "pass"


def test_the_command_line(tmp_path, capsys):
    path = source(tmp_path, COMMANDS["no such command"][0])
    assert run_spica(f"run {path} --preset tiny --engine iss") == 1
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("FAIL: ") and "Exit code: 0 Error: the matrix unit reported an ill" in out
    assert "refused.c:7 in main)" in out


#: An access to the register window, and words of the model about it.
WINDOW = {
    "store": (
        "*(volatile uint32_t *)(SPICA_WINDOW_BASE + 0x1000) = 5;",
        "0xff005000 is register dma.dram",
    ),
    "load": (
        "(void)*(volatile uint32_t *)(SPICA_WINDOW_BASE + 0x3020);",
        "0xff007020 is byte 12,320 of the register window",
    ),
    "end of the window": (
        "*(volatile uint32_t *)(SPICA_WINDOW_BASE + 0x3FFC) = 5;",
        "0xff007ffc is byte 16,380 of the register window",
    ),
}


@pytest.mark.parametrize("engine", [*ENGINES, "no lockstep"])
@pytest.mark.parametrize("name", WINDOW)
@pytest.mark.quick("*-iss")
def test_cores_alone_have_no_unit_registers(tmp_path, name, engine):
    """The model and the RTL stop at the same instruction."""
    statement, words = WINDOW[name]
    path = tmp_path / "window.c"
    path.write_text(f"#include <spica.h>\nint main(void)\n{{\n    {statement}\n    return 0;\n}}\n")
    chosen = "iss" if engine == "iss" else "verilator"
    _, text = failure_of(path, "core", engine=chosen, lockstep=engine != "no lockstep")
    assert "window.c:4 in main" in text
    if engine == "no lockstep":
        assert text.startswith("access refused by memory to 0xff00")
    else:
        assert text.startswith("access outside memory") and words in text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.quick("iss")
def test_print_buffers_are_memory_of_cores_alone(tmp_path, engine):
    path = tmp_path / "buffer.c"
    path.write_text(
        "#include <spica.h>\nint main(void)\n{\n"
        "    volatile uint32_t *buffer = (volatile uint32_t *)(SPICA_WINDOW_BASE + 0x40);\n"
        "    *buffer = 5;\n    return (int)*buffer - 5;\n}\n"
    )
    passed(run_program(path, "core", engine=engine))
