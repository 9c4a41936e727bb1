"""Tests of the check of memory: planted accesses by line and name, on the model and the RTL."""

import json

import numpy as np
import pytest

import spica
from spica.base.errors import MachineError, UserError
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.program import Program
from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.report.result import PASS
from support.command_line import run_spica
from support.runs import run_program

HEAD = "#include <spica.h>\n#define WORDS ((volatile uint32_t *)spica_shared())\n"
TAIL = "int main(void) { vx_spawn_tasks(COUNT, task, 0); return 0; }\n"
TASK = "static void task(uint32_t i, void *argument) { (void)argument;\n"
#: Program with its wrong line marked, presets, kind, object, words about the address.
PLANTED = {
    "past_an_array": (
        "static volatile uint32_t first[8], second[8] = {1};\n#define COUNT 12\n"
        + TASK
        + "first[i] = i; /* HERE */\n second[i % 8] = first[i % 8]; }\n"
        + TAIL,
        ("store between objects", "first", "just beyond first, 32 bytes at", 4),
    ),
    "before_an_array": (
        "static volatile uint16_t some[8], more[8];\n"
        "int main(void) {\n more[0] = 1; some[1] = more[0];\n"
        " return some[(int)more[1] - 1]; /* HERE */ }\n",
        ("load between objects", "some", "2 bytes before some, 16 bytes at", 1),
    ),
    "past_a_table": (
        "static const volatile uint32_t table[4] = {1, 2, 3, 4};\n"
        "int main(void) {\n return (int)table[vx_num_threads()] * 0; /* HERE */ }\n",
        ("load between objects", "table", "bytes beyond the end of table", 1),
    ),
    "unwritten_shared": (
        "static volatile uint32_t sums[8];\n#define COUNT 8\n"
        + TASK
        + "SPICA_IF (i < 4) { WORDS[i] = i; } SPICA_END_IF\n"
        + "sums[i] = WORDS[i] + 1; /* HERE */ }\n"
        + TAIL,
        ("load of bytes that nothing wrote", None, "byte 16 of shared memory", 4),
    ),
    "unwritten_copy": (
        "static volatile uint32_t copy;\n"
        "int main(void) {\n copy = WORDS[9]; /* HERE */\n return 0; }\n",
        ("load of bytes that nothing wrote", None, "byte 36 of shared memory", 1),
    ),
    "unwritten_half": (
        "int main(void) { volatile uint16_t *half = (volatile uint16_t *)WORDS;\n half[0] = 1;\n"
        " return WORDS[0] == 5; /* HERE */ }\n",
        ("load of bytes that nothing wrote", None, "byte 0 of shared memory", 1),
    ),
    "unwritten_local": (
        "int main(void) {\n volatile uint32_t local[4];\n local[1] = 0;\n"
        " return (int)(local[1] + local[2]) * 0 + (local[2] > 7); /* HERE */ }\n",
        ("load of bytes that nothing wrote", None, "in the stack of core 0, warp 0, lane 0", None),
    ),
    "left_frame": (
        "static volatile uint32_t *kept;\n"
        "__attribute__((noinline)) static void leave(void) {\n"
        " volatile uint32_t local[4]; local[0] = 3; kept = local; }\n"
        "int main(void) { leave();\n *kept = 4; /* HERE */\n return 0; }\n",
        ("store below the stack pointer of its thread", None, "in the stack of core 0", 1),
    ),
}


def planted(tmp_path, text):
    path = tmp_path / "planted.c"
    path.write_text(HEAD + text)
    lines = path.read_text().splitlines()
    return path, next((k for k, line in enumerate(lines, 1) if "HERE" in line), None)


def run(path, preset="core", **options):
    return run_program(path, preset, **options)


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.quick(3)
def test_a_planted_access_is_found(name, tmp_path):
    text, (kind, owner, near, count) = PLANTED[name]
    path, line = planted(tmp_path, text)
    with pytest.raises(ProgramError) as caught:
        run(path)
    (finding,) = caught.value.diagnostics["findings"]
    assert (finding["kind"], finding["object"]) == (kind, owner)
    assert finding["location"]["line"] == line and near in finding["near"]
    assert count is None or finding["count"] == count
    said = " ".join(str(caught.value).split())
    assert said.startswith("memory check: wrong accesses in 1 line") and near in said
    assert f"planted.c:{line} in " in said and f"{finding['address']:#010x}" in said
    assert run(path, check="none")["check"]["verdict"] in ("pass", "fail")


@pytest.mark.parametrize("name", ["past_an_array", "unwritten_shared"])
@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.quick(1)
def test_a_run_on_the_rtl_begins_with_the_check(name, lockstep, tmp_path):
    text, (kind, *_) = PLANTED[name]
    path, line = planted(tmp_path, text)
    with pytest.raises(ProgramError) as caught:
        run(path, engine="verilator", lockstep=lockstep)
    (finding,) = caught.value.diagnostics["findings"]
    assert finding["kind"] == kind and finding["location"]["line"] == line


#: Right programs that load what nothing wrote, or padding, and do not use it.
CORRECT = {
    "selection": "int main(void) { return (int)spica_select(vx_core_id() == 0, 0, WORDS[3]); }\n",
    "padding": (
        "struct pair { uint8_t small; uint32_t large; };\nstatic struct pair kept[2];\n"
        "int main(void) { struct pair local; local.small = 1; local.large = 2;\n"
        ' __asm__ volatile("" : : "r"(&local) : "memory");\n'
        " volatile struct pair *shared = (volatile struct pair *)WORDS;\n"
        " shared[0].small = 3; shared[0].large = 4; kept[0] = local;\n"
        " memmove((void *)(shared + 1), &local, sizeof local);\n"
        " return shared[1].small + shared[1].large + kept[0].small - 4; }\n"
    ),
    "bits": (
        "struct bits { uint32_t low : 3, high : 29; };\n"
        "int main(void) { volatile struct bits *at = (volatile struct bits *)WORDS;\n"
        " at->low = 5; return at->low - 5; }\n"
    ),
    "caller's locals": (
        "static void task(uint32_t i, void *argument) { ((volatile uint32_t *)argument)[i] = i; }\n"
        "int main(void) { volatile uint32_t local[8];\n"
        " vx_spawn_tasks(8, task, (void *)local); return (int)local[7] - 7; }\n"
    ),
    "variables": (
        "static volatile uint32_t zero[3]; static volatile uint8_t one = 1;\n"
        "int main(void) { return (int)(zero[0] + zero[2]) + one - 1; }\n"
    ),
}


@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("optimize", [0, 3])
@pytest.mark.quick(4)
def test_a_right_program_has_no_finding(name, optimize, tmp_path):
    path, _ = planted(tmp_path, CORRECT[name])
    assert run(path, optimize=optimize)["check"]["verdict"] == PASS


UPDATES = (
    "static volatile uint32_t counts[4];\n"
    + TASK
    + "counts[i % 3]++; /* HERE */ }\n#define COUNT {}\n"
    + TAIL
)


@pytest.mark.parametrize("engine", ["iss", "verilator"])
@pytest.mark.parametrize("tasks", [8, 64])
@pytest.mark.quick(2)
def test_a_lost_update_of_a_histogram_is_a_race(engine, tasks, tmp_path):
    """Within one warp, and between warps."""
    path, line = planted(tmp_path, UPDATES.replace("{}", str(tasks)))
    with pytest.raises(ProgramError, match=r"^race: ") as caught:
        run(path, engine=engine)
    finding = caught.value.diagnostics
    assert finding["location"]["line"] == finding["partner"]["location"]["line"] == line
    assert "from the start of counts" in str(caught.value)


def test_updates_by_a_whole_warp_or_of_own_elements_are_none(tmp_path):
    text = (
        "static volatile uint32_t state[SPICA_WARPS], own[64];\n"
        + TASK
        + "state[vx_warp_id()] += 2; own[i]++; }\n#define COUNT 64\n"
        + TAIL
    )
    assert run(planted(tmp_path, text)[0])["check"]["verdict"] == PASS


@pytest.mark.full
def test_a_condition_on_the_old_value_loses_updates_too(tmp_path):
    text = (
        "static volatile uint32_t largest[2];\n"
        + TASK
        + "SPICA_IF (largest[0] < i + 1) {\n largest[0] = i + 1; /* HERE */\n} SPICA_END_IF }\n"
        + "#define COUNT 4\n"
        + TAIL
    )
    path, line = planted(tmp_path, text)
    with pytest.raises(ProgramError, match=r"^race: .*by several lanes") as caught:
        run(path)
    assert caught.value.diagnostics["location"]["line"] == line


READS = """
#include <spica.h>
int main(void) {
    volatile float *const *given = (volatile float *const *)spica_arguments();
    given[0][0] = given[1][2] + 1.0f;
    return 0;
}
"""


def test_an_array_that_nobody_wrote(tmp_path):
    path = tmp_path / "reads.c"
    path.write_text(READS)
    machine = spica.Machine("core", engine="iss")
    x, y = np.zeros(4, np.float32), spica.Unwritten(4, np.float32)
    assert machine.run(path, args={"y": y, "x": x})["y"][0] == 1
    with pytest.raises(MachineError, match=r"buffer y\b") as caught:
        machine.run(path, args={"x": x, "y": y})
    assert "reads.c:5 in main" in str(caught.value)
    assert machine.run(path, args={"x": x, "y": y}, check="none")["x"][0] == 1
    with pytest.raises(UserError, match="check must be one of all, races, memory, none"):
        machine.run(path, args={"x": x, "y": y}, check="some")


@pytest.mark.full
def test_findings_are_part_of_a_result(tmp_path, capsys):
    path, line = planted(tmp_path, PLANTED["past_an_array"][0])
    command = f"run {path} --preset core --engine iss"
    assert run_spica(f"{command} --json {tmp_path / 'result.json'}") == 1
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["options"]["check"] == "all"
    assert result["failure"]["diagnosis"]["findings"][0]["location"]["line"] == line
    assert "just beyond first" in capsys.readouterr().err
    assert run_spica(f"{command} --check none") == 0


DMA = """
#include <virgo.h>
static uint8_t source[64] __attribute__((section(".unset"), aligned(64))), target[32];
int main(void) {
    vx_fence(); /* after start-up has cleared `target` */
    virgo_dma_load(0, DEFINED ? (void *)0x80000000 : source, 32, 32, 2, 32, 0, 0); /* LOAD */
    virgo_dma_fence(0);
    virgo_dma_store(target, 0, 32, 32, 1 + DEFINED, 32); /* STORE */
    virgo_dma_fence(0);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("defined", "mark", "kind", "near"),
    [
        (0, "LOAD", "read by a unit of bytes that nothing wrote", "byte 0 of source, 64 bytes at"),
        (1, "STORE", "write by a unit between objects", "just beyond target, 32 bytes at"),
    ],
)
def test_transfers_are_checked(defined, mark, kind, near, tmp_path):
    path = tmp_path / "dma.c"
    path.write_text(DMA)
    lines = DMA.splitlines()
    line = next(number for number, text in enumerate(lines, 1) if f"/* {mark} */" in text)
    with pytest.raises(ProgramError) as caught:
        run(path, "tiny", defines=(f"DEFINED={defined}",))
    (finding,) = caught.value.diagnostics["findings"]
    assert finding["kind"] == kind and near in finding["near"]
    assert finding["location"]["line"] == line or f":{line}" in str(finding["location"]["calls"])
    assert "of the DMA" in finding["work"] and "started by core 0, warp 0" in str(caught.value)


def test_code_is_the_same_with_guards(tmp_path):
    text = "static volatile uint32_t a[3], b; int main(void) { a[b] = 1; return (int)b; }\n"
    path, _ = planted(tmp_path, text)
    plain, guarded = (
        Program.load(compile_program([path], PRESETS["core"], guarded=guarded))
        for guarded in (False, True)
    )
    assert [f.name for f in plain.functions] == [f.name for f in guarded.functions]
    assert plain.symbols.keys() <= guarded.symbols.keys()
