"""Tests of kernels and programs on the instruction-set model: placement, run, check, accounts."""

import json
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.kernel import Buffer, Kernel, Problem, find_kernel
from spica.kernels.program import Program
from spica.sim.report.run_report import report
from spica.sim.run.inputs.own_programs import own_kernel
from spica.sim.run.loading import program_regions
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import ProgramWorkload
from spica.sim.run.workload import run_workload
from support.runs import failure_of, run_kernel, run_program

TINY = PRESETS["tiny"]
SCALE = """
#include <spica.h>
typedef struct { uint32_t n; const float *x; float *y; float factor; int32_t offset; } Arguments;
static void scale(uint32_t i, void *arg) {
    const Arguments *a = arg;
    a->y[i] = a->factor * a->x[i] + (float)a->offset;
}
int main(void) {
    const Arguments *a = spica_arguments();
    vx_spawn_tasks(a->n, scale, (void *)a);
    SABOTAGE
    return 0;
}
"""


def pose(rng, *, n):
    if n > 1000:
        raise ValueError(f"n must be at most 1000, not {n}")
    x = rng.standard_normal(n).astype(np.float32)
    expected = 0.5 * x.astype(np.float64) - 3
    pattern = np.full(n, np.nan, np.float32)
    return Problem(
        buffers={
            "x": Buffer(data=x),
            "y": Buffer(data=pattern, expected=expected, bound=2.0**-22 + 0 * expected),
        },
        arguments=(n, "x", "y", 0.5, -3),
        operations=2 * n,
    )


@pytest.fixture
def scale(tmp_path):
    """Return a kernel factory; the source ends with a statement given by the test."""

    def make(sabotage=""):
        source = tmp_path / "kernel.c"
        source.write_text(SCALE.replace("SABOTAGE", sabotage))

        class Local(Kernel):
            @property
            def sources(self):
                return [source]

        return Local(name="scale", dimensions=("n",), pose=pose)

    return make


def run(kernel, n=100, machine="tiny", **options):
    return run_kernel(kernel, (n,), machine, **options)


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("optimize", [2, 3])
def test_a_right_kernel(scale, schedule, optimize):
    result = run(scale(), schedule=schedule, optimize=optimize)
    assert result["check"]["verdict"] == "pass"
    assert result["check"]["buffers"]["y"]["elements"] == 100
    assert 0 < result["check"]["buffers"]["y"]["max_bound_share"] <= 1
    counts = result["instructions"]
    assert 0 < counts["warp"] < counts["thread"] <= 4 * counts["warp"]
    assert result["lane_utilization"] == pytest.approx(counts["thread"] / counts["warp"] / 4)
    assert sum(counts["by_unit"].values()) == sum(counts["by_name"].values()) == counts["warp"]
    assert sum(core["instructions"] for core in result["cores"]) == counts["warp"]
    assert result["operations_per_instruction"] == 200 / counts["warp"]
    assert report(result).startswith("PASS: scale n=100 on tiny\nCycles: none, engine iss has no")
    assert "Check: y 100 values, largest error" in report(result)
    assert "1 input buffer unchanged" in report(result)


def test_a_wrong_value_is_shown(scale):
    result = run(scale("if (vx_core_id() == 0) a->y[7] = 1e30f;"))
    assert result["check"]["verdict"] == "fail"
    assert result["check"]["buffers"]["y"]["wrong"] == 1
    (example,) = result["check"]["buffers"]["y"]["examples"]
    assert example["index"] == [7]
    assert example["got"] == pytest.approx(1e30)
    text = report(result)
    assert "1 of 100 values of y lie outside the float64 bound\n    y[7]: expected" in text


def test_a_changed_input_is_wrong(scale):
    result = run(scale("((float *)a->x)[3] = -a->x[3];"))
    assert result["check"]["verdict"] == "fail"
    assert result["check"]["buffers"]["x"]["wrong"] == 1
    assert "1 of 100 values of x, which is only read, were changed" in report(result)


def test_what_was_not_written_is_wrong(scale):
    result = run(scale("((uint32_t *)a->y)[0] = 0x7fc00000u;"))  # the pattern it held before
    assert result["check"]["verdict"] == "fail"
    assert result["check"]["buffers"]["y"]["examples"][0]["got"] == "nan"


def test_an_exit_code_is_wrong(scale):
    result = run(scale("return 5;"))
    assert result["check"]["exit_code"] == 5
    assert result["check"]["verdict"] == "fail"
    assert "the program ended with exit code 5" in report(result)


def test_sizes_a_kernel_does_not_take_are_bad_input(scale):
    with pytest.raises(UserError, match="scale 1001: n must be at most 1000, not 1001"):
        run(scale(), n=1001)


def test_machines_without_cores_are_refused(scale):
    with pytest.raises(UserError, match="scale needs cores; matrix has none"):
        run(scale(), machine="matrix")


MAIN = """
#include <spica.h>
int part(int number);
int main(void) {
    printf("part of 4 is %d\\n", part(4));
    return part(4) == 12 ? 0 : 7;
}
"""
PARTS = {
    "part.c": "int part(int number) { return 3 * number; }",
    "part.cpp": "template <int k> int times(int n) { return k * n; }\n"
    'extern "C" int part(int number) { return times<3>(number); }',
    "part.S": ".globl part\npart: slli a1, a0, 1\nadd a0, a0, a1\nret\n",
}


def own(tmp_path, part, text, console=None):
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / part).write_text(text)
    return run_workload(
        ProgramWorkload([tmp_path / "main.c", tmp_path / part]),
        "tiny",
        TINY,
        SimtOptions(),
        console=console,
    )


@pytest.mark.parametrize("part", PARTS)
def test_programs_of_several_files(tmp_path, part):
    heard = []
    result = own(tmp_path, part, PARTS[part], heard.append)
    assert b"".join(heard) == b"part of 4 is 12\n"
    assert result["console"] == "part of 4 is 12\n"
    assert (result["check"]["exit_code"], result["check"]["verdict"]) == (0, "pass")
    assert " ".join(report(result).split()).startswith(f"PASS: {result['program'][0]} ")
    assert "Exit code: 0\n" in report(result)


def test_the_exit_code_of_a_program_is_its_verdict(tmp_path):
    result = own(tmp_path, "part.c", "int part(int number) { return number; }")
    assert (result["check"]["exit_code"], result["check"]["verdict"]) == (7, "fail")
    assert report(result).startswith("FAIL: ")


def test_a_program_that_is_built_already(tmp_path):
    (tmp_path / "main.c").write_text(MAIN + PARTS["part.c"])
    built = compile_program([tmp_path / "main.c"], TINY)
    assert run_program(built)["console"] == "part of 4 is 12\n"
    with pytest.raises(UserError, match=r"an ELF file must be the only program file; .* of 2"):
        run_workload(ProgramWorkload([built, tmp_path / "main.c"]), "tiny", TINY, SimtOptions())


SPILLS = """
#include <spica.h>
static volatile uint32_t sink[64];
static void spill(uint32_t i, void *arg) {
    volatile uint32_t kept = i;
    sink[i & 63] = kept;
    (void)arg;
}
"""


def test_a_spill_is_wrong_unless_allowed(scale, monkeypatch):
    monkeypatch.setattr(__name__ + ".SCALE", SPILLS + SCALE)
    kernel = scale("vx_spawn_tasks(64, spill, 0);")
    result = run(kernel)
    assert result["check"]["verdict"] == "fail"
    assert result["check"]["buffers"]["y"]["wrong"] == 0
    assert "spill, which every thread runs, stores to its stack" in report(result)
    text = " ".join(report(result).split())
    assert "(--allow-spills accepts it); y 100 values, largest error" in text
    allowed = run(kernel, allow_spills=True)
    assert allowed["check"]["verdict"] == "pass"
    assert allowed["check"]["code_warnings"] == result["check"]["code_warnings"] != []
    assert "Warning: spill, which every thread runs" in report(allowed)


@pytest.mark.parametrize("arguments", [False, True])
def test_splits_without_joins_fail(tmp_path, arguments):
    """The exit code does not show that threads were lost."""
    source = tmp_path / "lost.c"
    source.write_text(
        "#include <spica.h>\nstatic void task(uint32_t i, void *argument) { vx_split(~i & 1); }\n"
        "int main(void) { vx_spawn_tasks(4, task, 0); return 0; }\n"
    )
    options = {"allow_spills": True, "max_instructions": 20_000}
    if arguments:
        result = run_kernel(own_kernel([source], [1], {}), (), **options)
    else:
        result = run_program(source, **options)
    assert (result["check"]["verdict"], result["check"]["exit_code"]) == ("fail", 0)
    assert ("    " if arguments else "Error: ") + "task has 1 splits and 0 joins" in report(result)


WARNED = '#include <spica.h>\nint main(void) { printf("%d", "text"); return CODE; }\n'


def test_warnings_of_the_compiler_are_shown_each_time(tmp_path):
    """Also if the program is found in the cache, and if it fails."""
    source = tmp_path / "warned.c"
    for code in ("0", "0", "3"):
        source.write_text(WARNED.replace("CODE", code))
        result = run_program(source)
        assert result["check"]["exit_code"] == int(code)
        assert "Warning: warned.c:2:31: format specifies type 'int' but" in report(result)
    result = run_kernel(own_kernel([source], [1], {}), ())
    assert "warned.c:2:31: format specifies type" in report(result)
    source.write_text(WARNED.replace("CODE", "*(volatile int *)4"))
    assert "warning: warned.c:2:31: format specifies" in failure_of(source)[1]


def test_a_program_with_a_spill_has_a_remark(tmp_path):
    source = tmp_path / "spill.c"
    source.write_text(SPILLS + "int main(void) { vx_spawn_tasks(9, spill, 0); return 0; }")
    result = run_program(source)
    assert result["check"]["verdict"] == "pass"
    assert "Warning: spill, which every thread runs, stores to its stack" in report(result)


@pytest.mark.parametrize("kernel", ["vecadd", "sgemm"])
@pytest.mark.parametrize("preset", ["tiny", "core", "virgo"])
def test_kernels_of_the_library(kernel, preset):
    described = find_kernel(kernel)
    size = (37,) * len(described.dimensions)
    result = run_kernel(described, size, preset, schedule="random", allow_spills=True)
    assert result["check"]["verdict"] == "pass", report(result)
    assert len(result["cores"]) == PRESETS[preset].cores
    assert json.loads(json.dumps(result, allow_nan=False)) == json.loads(json.dumps(result))


FAR = """
#include <spica.h>
int main(void) {
    volatile uint32_t *word = (volatile uint32_t *)0xB0000000u;
    word[15] = 7;
    return word[15] != 7;
}
"""


@pytest.mark.full
def test_other_memory_must_be_allowed(tmp_path):
    source = tmp_path / "far.c"
    source.write_text(FAR)
    allowed = run_program(source, allow_regions=((0xB000_0000, 64),))
    assert allowed["check"]["exit_code"] == 0
    _, text = failure_of(source, allow_regions=((0xB000_0000, 60),))
    assert "just beyond allowed memory, 60 bytes at 0xb" in text
    assert "0xb000003c is far from all placed regions" in failure_of(source)[1]


REFUSED = """
#include <spica.h>
int main(void) {
    *(volatile uint32_t *)SPICA_DMA_DRAM = 0;
    *(volatile uint32_t *)SPICA_DMA_SHAPE = 1 | 64 << 16;
    *(volatile uint32_t *)SPICA_DMA_FILL = 1 | 64 << 16;
    *(volatile uint32_t *)SPICA_DMA_START = 0;
    return 0;
}
"""


def test_what_a_device_refused_is_reported(tmp_path, scale, monkeypatch):
    source = tmp_path / "refused.c"
    source.write_text(REFUSED)
    result = run_program(source)
    assert result["check"]["verdict"] == "fail"  # a program that expects it clears the register
    assert "the DMA reported a descriptor out of range" in " ".join(report(result).split())
    statements = "".join(REFUSED.splitlines(keepends=True)[3:-2])
    result = run(scale(statements))
    assert result["check"]["verdict"] == "fail"
    assert "the DMA reported a descriptor out of range" in " ".join(report(result).split())


def test_segments_that_adjoin_are_one_region():
    segments = [(0x8000_9000, b"far"), (0x8000_0000, b"text"), (0x8000_0020, b"data")]
    regions = program_regions(cast(Program, SimpleNamespace(segments=segments)))
    assert [(region.address, region.nbytes) for region in regions] == [
        (0x8000_0000, 0x24),
        (0x8000_9000, 3),
    ]
