"""Tests of faulty programs on RTL: one screen shows who waits for what, and why."""

from types import SimpleNamespace

import pytest

from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.hw.presets import PRESETS
from spica.sim.diagnose.core_diagnostics import core_diagnostics_text, explain_fault
from spica.sim.harness import dram
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.machine.memory_layout import MemoryLayout, Region
from spica.sim.machine.program_outcome import CoreFault
from support.core.lockstep_fuzz import FUZZ_CONFIGS, OPTIMIZE
from support.mistakes import FOLDER, checked
from support.runs import failure_of

CONFIG = FUZZ_CONFIGS[0]
#: Faulting programs: the cause in the RTL's words, and in the model's.
FAULTS = {
    "null_pointer": (
        "access outside memory to 0x00000004 at",
        "0x00000004 is a null pointer plus 4 bytes",
    ),
    "nowhere": (
        "access outside memory to 0x40000000 at",
        "0x40000000 is an unmapped address",
    ),
    "misaligned": ("misaligned access to", "which is not a multiple of 4"),
    "divergent_branch": ("divergent branch", "these lanes disagree with lane"),
    "illegal_instruction": ("illegal instruction at", "0xffffffff is not an instruction"),
    "jump_to_data": ("instruction fetch outside the program", "outside the placed program"),
}


def diagnostics(name: str, **options):
    """Return the description of a program's end, and its text."""
    settings = {"engine": "verilator", "model_optimize": OPTIMIZE, "max_cycles": 20_000, **options}
    return checked(failure_of(FOLDER / f"{name}.c", CONFIG, **settings))


@pytest.mark.parametrize("lockstep", [True, False], ids=["lockstep", "alone"])
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.full
def test_a_fault_names_its_place(name, lockstep):
    cause, words = FAULTS[name]
    report, text = diagnostics(name, lockstep=lockstep)
    assert report["stop"] == "fault"
    assert report["sentence"].startswith(cause)
    assert f"{name}.c:" in text or (name == "jump_to_data" and not lockstep)
    if report["address"] is None or "outside memory" not in cause:
        assert (words in text) == lockstep
    else:  # the region of the address is known without the model
        assert words in text
    assert f"in cycle {report['cycles']:,}" in " ".join(text.split())


def test_a_fault_of_the_rtl_names_the_buffer():
    config = PRESETS["tiny"]
    layout = MemoryLayout(config, [Region("buffer out", 0x9000_0000, 400)])
    locator = SimpleNamespace(at=lambda pc: None)
    fault = CoreFault(0, 1, 0x8000_0204, MemoryFault.REFUSED, 0b1011, 0x9000_0190)
    report = explain_fault(fault, locator, layout)  # pyright: ignore[reportArgumentType]: a stub
    report |= {
        "stop": "fault",
        "cycles": 1_234_567_890_123,
        "instructions": 12_345_678,
        "mismatch": "",
    }
    report |= {"program": None, "lockstep": False, "cores": [], "units": "", "trace": None}
    text = core_diagnostics_text(report)
    lines = text.splitlines()
    assert lines[0].startswith(
        "access refused by memory to 0x90000190 at 0x80000204, core 0, warp 1"
    )
    assert lines[1].endswith("1,234,567,890,123, after 12,345,678 instructions")
    assert lines[2] == "  0x90000190 is just beyond buffer out, 400 bytes at 0x90000000"


@pytest.mark.parametrize("lockstep", [True, False], ids=["lockstep", "alone"])
@pytest.mark.full
def test_a_barrier_nobody_else_reaches(lockstep):
    report, text = diagnostics("missing_warp", lockstep=lockstep)
    assert report["stop"] == "deadlock"
    assert "waits at a barrier" in text
    assert "missing_warp.c:" in text
    assert ("run in lockstep with the model" in text) == (not lockstep)


@pytest.mark.full
def test_an_endless_loop_ends_at_the_limit():
    report, text = diagnostics("endless_loop")
    assert (report["stop"], report["cycles"]) == ("limit", 20_000)
    assert "endless_loop.c:" in text


@pytest.mark.parametrize("lockstep", [True, False], ids=["lockstep", "alone"])
@pytest.mark.full
def test_memory_that_never_answers_is_a_hang(lockstep, monkeypatch):
    # An answer in a thousand million cycles, for which the watchdog would wait.
    monkeypatch.setattr(dram, "PATIENCE", 0)
    memory = CoreMemoryConfig(silence=0.999_999_9)
    report, text = diagnostics(
        "endless_loop", memory=memory, max_cycles=1_000_000, lockstep=lockstep
    )
    assert report["stop"] == "hang"
    assert "no progress for a long time" in text
    assert "core 0, warp 0: waits for instructions; instructions in flight: 0" in text
    assert "fetches in flight: 2, accesses: 0" in text


@pytest.mark.full
def test_a_trace_is_written_before_the_report(tmp_path):
    target = tmp_path / "run.log"
    report, _ = diagnostics("misaligned", trace=target)
    # One line per executed instruction.
    assert len(target.read_text().splitlines()) >= report["instructions"] > 0
