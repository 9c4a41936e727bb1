"""Tests of own programs from Python, on the instruction-set model and on the RTL."""

import numpy as np
import pytest

import spica
from spica.base.errors import MachineError, UserError

SOURCE = """
#include <spica.h>
typedef struct { float a; uint32_t n; const float *x; float *y; } Arguments;
static void scale(uint32_t i, void *p) { const Arguments *g = p; g->y[i] += g->a * g->x[i]; }
int main(void) {
    const Arguments *g = spica_arguments();
    spica_spawn_tasks(g->n, scale, (void *)g);
    return (int)(g->n == 13);
}
"""
X, Y = np.arange(20, dtype=np.float32), np.full(20, 0.5, np.float32)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "scale.c"
    path.write_text(SOURCE)
    return path


def machine(**options):
    return spica.Machine("tiny", **({"engine": "iss"} | options))


def test_arguments_have_names_or_places(program):
    named = {"a": 2.0, "n": 20, "x": X, "y": Y}
    run = machine().run(program, args=named, expect={"y": 2 * X + Y})
    assert list(run) == ["x", "y"]
    assert np.array_equal(run["y"], 2 * X + Y) and run["y"].dtype == np.float32
    assert np.array_equal(run["x"], X)
    run = machine().run(
        str(program), args=[np.float32(2), np.int64(20), X, Y], expect={3: 2 * X + Y}
    )
    assert np.array_equal(run[3], 2 * X + Y)
    assert np.array_equal(Y, np.full(20, 0.5))
    assert repr(run) == "<Run of scale.c on tiny: no clock; buffers: 2, 3>"


def test_cycles_counters_and_frame(program):
    made = machine(engine="verilator", dram=spica.Dram(latency=30))
    run = made.run(
        program, args=[2.0, 20, X, Y], expect={3: 2 * X + Y}, lockstep=True, profile=True
    )
    assert "scale.c" in {str(row["file"]) for row in run.to_dict()["source_profile"]["lines"]}
    assert run.cycles is not None and run.cycles > 100 and made.last is run
    assert run.counters["l1d_reads"] > 0
    assert run.to_dict()["kernel"] == "scale.c"
    frame = run.to_pandas()
    assert frame.shape[0] == 1
    assert frame["cycles"][0] == run.cycles and frame["preset"][0] == "tiny"
    assert frame["l1d_reads"][0] == run.counters["l1d_reads"]


def test_a_profile_needs_a_clock(program):
    with pytest.raises(UserError, match="on engine iss; leave it out"):
        machine().run(program, args=[2.0, 20, X, Y], profile=True)


def test_settings_change_the_machine():
    assert machine(set={"core.warps": 2}).config.core.warps == 2
    with pytest.raises(UserError, match=r"unknown field 'core.wraps'; did you mean 'core.warps'"):
        machine(set={"core.wraps": 2})
    with pytest.raises(UserError, match="warps must be"):
        machine(set={"core.warps": 99})


def test_a_deviation_must_be_allowed(program):
    near = (2 * X + Y) * np.float32(1 + 2**-20)
    args = [2.0, 20, X, Y]
    with pytest.raises(MachineError, match=r"scale.c failed its check: 3: \d+ of 20 elements"):
        machine().run(program, args=args, expect={3: near})
    assert machine().run(program, args=args, expect={3: near}, rtol=1e-5)
    assert machine().run(program, args=args, expect={3: 2 * X + Y + 0.25}, atol=0.25)
    with pytest.raises(MachineError, match=r"3\[0\] is 0.5, not 0.75"):
        machine().run(program, args=args, expect={3: 2 * X + Y + 0.25}, atol=0.2)
    assert machine().run(program, args=args)


def test_headers_and_macros(tmp_path):
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "own.h").write_text("#define OTHER 3\n")
    path = tmp_path / "macros.c"
    path.write_text(
        '#include <spica.h>\n#include "own.h"\n'
        "int main(void) { return **(int **)spica_arguments() - VALUE - OTHER; }\n"
    )
    one = np.array([4], np.int32)
    headers = [tmp_path / "headers"]
    assert machine().run(path, args=[one], includes=headers, defines=["VALUE=1"])
    with pytest.raises(MachineError, match="exit code 4"):
        machine().run(path, args=[one], includes=headers, defines=["VALUE=-3"])
    (tmp_path / "headers" / "own.h").write_text("#define OTHER 2\n")
    with pytest.raises(MachineError, match="exit code 1"):
        machine().run(path, args=[one], includes=headers, defines=["VALUE=1"])


def test_exit_codes_fail(program):
    with pytest.raises(MachineError, match=r"scale.c failed its check: exit code 1"):
        machine().run(program, args=[2.0, 13, X, Y])


@pytest.mark.parametrize(
    ("args", "expect", "message"),
    [
        ([1.0, X.astype(float)], {}, "args 1 must be numbers of 8, 16 or 32 bits, not float64"),
        ({"n": "20"}, {}, "args n must be an array or a number, not str"),
        ([1] * 1025, {}, "args must be at most 1024 words, not 1025"),
        ({"x": X}, {"y": X}, "expect must name arrays of args, which are x, not 'y'"),
        ([1, X], {0: X}, "expect must name arrays of args, which are 1, not 0"),
    ],
)
def test_bad_arguments(program, args, expect, message):
    with pytest.raises(UserError, match=message):
        machine().run(program, args=args, expect=expect)


def test_kernels_have_their_own_arguments():
    assert set(machine().run("vecadd", n=9)) == {"x", "y", "z"}
    with pytest.raises(UserError, match="kernel vecadd has its own files, arguments and check"):
        machine().run("vecadd", args=[1], n=9)
    with pytest.raises(UserError, match="has no size n; give it in args"):
        machine().run("scale.c", n=9)
    with pytest.raises(UserError, match="does not exist"):
        machine().run("nothing.c")
