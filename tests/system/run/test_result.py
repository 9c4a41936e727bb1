"""Every kind of run, on every engine, ends with a result of the one schema."""

import copy
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from spica import Machine
from spica.base.errors import MachineError
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.csr import COUNTERS
from spica.hw.machine.counters import counter_table
from spica.hw.presets import PRESETS
from spica.kernels.gemm.data import KINDS
from spica.kernels.kernel import find_kernel
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.profile import POLLING
from spica.sim.machine.saving import Saving
from spica.sim.report.result import ISSUE_SLOTS, SCHEMA, VERSION, result_schema
from spica.sim.report.run_report import report
from spica.sim.report.utilization import ACTIVITIES
from spica.sim.run.options import RunOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.workload import run_workload
from support.command_line import run_spica
from support.core.lockstep_fuzz import FUZZ_CONFIGS, OPTIMIZE
from support.runs import run_kernel, run_program

TINY, MATRIX = PRESETS["tiny"], PRESETS["tiny_matrix"]
VALIDATOR = Draft202012Validator(result_schema())
NOTHING = "int main(void) { return 0; }\n"
NULL_POINTER = "int main(void) { return *(volatile int *)4; }\n"
#: Of the cluster of the preset `tiny` on Verilator.
CLUSTER = {"engine": "verilator", "memory": DramConfig()}
#: Of cores alone: those of other tests, which are built already.
ALONE = {
    **{"config": FUZZ_CONFIGS[0], "engine": "verilator", "model_optimize": OPTIMIZE},
    "memory": CoreMemoryConfig(latency=3, jitter=2, stall=0.1),
}


def valid(result):
    """Return a result as a file has it, if it is one of the schema."""
    read = json.loads(json.dumps(result, allow_nan=False))
    errors = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(read)]
    assert not errors, "\n".join(errors)
    assert list(read) == list(result_schema()["properties"])
    return read


def product(**options):
    return run_workload(
        ProductWorkload(m=9, n=8, k=7), "tiny_matrix", MATRIX, RunOptions(**options)
    )


def kernel(name="vecadd", *, config="tiny", size=(24,), **options):
    return run_kernel(name, size, config, **options)


def program(folder, text, *, config="tiny", **options):
    source = folder / "own.c"
    source.write_text(text)
    return run_program(source, config, **options)


def test_the_schema_is_one():
    Draft202012Validator.check_schema(result_schema())
    properties = result_schema()["properties"]
    assert (properties["schema"]["const"], properties["schema_version"]["const"]) == (
        SCHEMA,
        VERSION,
    )
    breakdown = properties["matrix_units"]["additionalProperties"]["properties"]["breakdown"]
    assert breakdown["propertyNames"]["enum"] == list(ACTIVITIES)
    for kind in KINDS:
        assert f"`{kind}`" in properties["options"]["properties"]["data"]["description"]


def test_every_object_is_closed_and_every_key_described():
    objects = 0

    def visit(part, path):
        nonlocal objects
        if "$ref" in part:
            return
        kinds = part.get("type", [])
        assert not path.endswith("}") or part.get("description") or kinds, path
        if "object" in kinds:
            objects += 1
            assert "additionalProperties" in part, path
            assert part.get("required", []) == list(part.get("properties", [])), path
        for name, inner in part.get("properties", {}).items():
            assert inner["description"].endswith("."), (path, name)
            visit(inner, f"{path}.{name}")
        for name in ("items", "additionalProperties"):
            if isinstance(part.get(name), dict):
                visit(part[name], f"{path}[]")

    visit(result_schema(), "result")
    for name, part in result_schema()["$defs"].items():
        visit(part, name)
    assert objects > 20


@pytest.mark.parametrize("engine", ["verilator", "amaranth"])
@pytest.mark.full
def test_a_product_commanded_by_a_host(engine):
    result = valid(product(engine=engine, seed=3))
    assert (result["status"], result["check"]["verdict"]) == ("complete", "pass")
    assert (result["driver"], result["engine"], result["seed"]) == ("host", engine, 3)
    assert list(result["counters"]) == [counter.name for counter in counter_table(MATRIX)]
    assert result["cores"] is None and result["instructions"] is None
    assert result["cycles"] == result["region"]["end"] - result["region"]["begin"]
    assert result["cycles"] < result["run_cycles"]
    assert report(result).startswith("PASS: gemm m=9 n=8 k=7 on tiny_matrix\n")


@pytest.mark.parametrize("name", ["vecadd", "gemm"])
@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.quick(2)
def test_a_kernel_on_the_model(name, schedule):
    result = valid(kernel(name, size=(9, 8, 7) if name == "gemm" else (24,), schedule=schedule))
    assert (result["engine"], result["memory"]["model"]) == ("iss", "functional")
    assert (result["cycles"], result["issue_utilization"], result["counters"]) == (None,) * 3
    assert result["instructions"]["warp"] == result["cores"][0]["instructions"] > 0
    assert (result["options"]["formats"] is None) == (name != "gemm")
    assert report(result).splitlines()[:2] == [
        f"PASS: {name} {'m=9 n=8 k=7' if name == 'gemm' else 'n=24'} on tiny",
        "Cycles: none, engine iss has no clock",
    ]


@pytest.mark.parametrize("lockstep", [False, True])
@pytest.mark.full
def test_a_kernel_on_a_cluster(lockstep):
    result = valid(kernel(lockstep=lockstep, **CLUSTER))
    assert result["memory"]["model"] == "dram"
    assert result["cycles"] == result["run_cycles"] - result["region"]["begin"]
    assert result["cycles"] > result["flush_cycles"] > 0
    assert result["mac_utilization"] is None
    (core,) = result["cores"]
    assert list(core["issue_slots"]) == list(ISSUE_SLOTS)
    assert core["issue_slots"]["issued"] == core["instructions"]
    assert list(core["counters"]) == list(COUNTERS)
    slots = sum(core["issue_slots"].values())
    assert result["issue_utilization"] == core["instructions"] / slots
    assert (result["instructions"]["by_unit"] is None) == (not lockstep)
    assert result["instructions"]["divergent_splits"] == 0
    assert list(result["counters"]) == [counter.name for counter in counter_table(TINY)]
    lines = report(result).splitlines()
    assert lines[0] == "PASS: vecadd n=24 on tiny"
    assert lines[1] == f"Cycles: {result['cycles']:,}, start of main to end of run"
    assert lines[2].startswith("Issue utilisation: ")
    assert lines[3].startswith("Largest losses: ") and lines[3].count(" %") == 3
    assert "Cycles of the matrix unit" not in report(result)
    assert ("Lockstep: " in report(result)) == lockstep


@pytest.mark.full
def test_a_product_commanded_by_cores():
    result = valid(kernel("gemm", size=(9, 8, 7), **CLUSTER))
    assert result["driver"] == "cores"
    assert result["options"]["formats"] == {"a": "fp16", "b": "fp16", "c": "fp16"}
    assert result["options"]["data"] == "random"
    region = result["region"]
    assert result["cycles"] == region["end"] - region["begin"] < result["run_cycles"]
    assert result["cores"][0]["region"] == {
        "begin": region["begin"],
        "end": result["cores"][0]["region"]["end"],
    }
    unit = result["matrix_units"]["matrix"]
    assert sum(part["cycles"] for part in unit["breakdown"].values()) == result["cycles"]
    profile, counts = result["profile"], result["instructions"]
    assert profile["main"]["cycles"] > 0
    assert sum(function["instructions"] for function in profile.values()) == counts["warp"]
    polled = [profile[name]["instructions"] for name in POLLING if name in profile]
    assert len(polled) > 1 and 0 < counts["polling"] == sum(polled) < counts["warp"]
    lines = report(result).splitlines()
    assert lines[1].startswith(f"Cycles: {result['cycles']:,}, begin marker to ")
    assert lines[2] == f"MAC utilisation: {100 * result['mac_utilization']:.2f} %"
    assert lines[3].startswith("Largest losses: no compute ")


MARKED = """\
#include <spica.h>
static volatile int values[64];
int main(void) {
    for (int k = 0; k < 64; k++) values[k] = k;
    spica_begin();
    int sum = 0;
    for (int k = 0; k < 10; k++) sum += values[k];
    spica_end();
    for (int k = 0; k < 64; k++) values[k] = sum;
    return sum - 45;
}
"""


@pytest.mark.parametrize("machine", [ALONE, CLUSTER])
@pytest.mark.quick(1)
def test_markers_bound_the_measured_cycles(machine, tmp_path):
    """Start-up, the stores before and those after the markers are not part of them."""
    result = valid(program(tmp_path, MARKED, **machine))
    region = result["region"]
    assert result["cycles"] == region["end"] - region["begin"] > 20
    assert (region["begin_event"], region["end_event"]) == ("begin_marker", "end_marker")
    assert 0 < region["begin"] < region["end"] < result["run_cycles"] - 100
    assert result["cores"][0]["region"] == {"begin": region["begin"], "end": region["end"]}
    assert f"Cycles: {result['cycles']:,}, begin marker to end marker" in report(result)


UNMARKED = """\
#include <spica.h>
static volatile int values[5000], sums[3];
int main(void) {
    for (int k = 0; k < 5000; k += 100) sums[1] += values[k];
    for (int k = 0; k < 3; k++) sums[0] |= sums[k];
    return sums[0];
}
"""


@pytest.mark.parametrize("machine", [ALONE, CLUSTER])
@pytest.mark.quick(1)
def test_start_up_is_not_measured(machine, tmp_path):
    """All warps clear variables before main; the region is from there to the end of the run."""
    result = valid(program(tmp_path, UNMARKED, **machine))
    region = result["region"]
    assert (region["begin_event"], region["end_event"]) == ("main", "end_of_run")
    assert region["end"] == result["run_cycles"] > region["begin"] + 50
    assert result["cycles"] == region["end"] - region["begin"]
    assert f"Cycles: {result['cycles']:,}, start of main to end of run" in report(result)
    text = UNMARKED.replace("values[5000]", "values[4 * 5000]")
    larger = valid(program(tmp_path, text, **machine))
    assert larger["region"]["begin"] > 2 * region["begin"]
    before, after = (run["cycles"] - (run["flush_cycles"] or 0) for run in (result, larger))
    # Apart from the final write-back; misses of main depend on the lines that are still cached.
    longer_start = larger["region"]["begin"] - region["begin"]
    assert after - before < 0.05 * longer_start


@pytest.mark.full
def test_a_kernel_on_cores_alone():
    result = valid(kernel(**ALONE))
    assert (result["memory"]["model"], result["memory"]["traffic"]) == ("simple", None)
    assert (result["counters"], result["load_latency"], result["profile"]) == (None,) * 3
    assert result["instructions"]["polling"] is None
    assert result["cycles"] == result["run_cycles"] - result["region"]["begin"]
    assert "Memory: simple memory, latency 3 cycles, jitter up to 2 cycles" in report(result)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [CoreMemoryConfig(), DramConfig()], ids=["simple", "dram"])
def test_both_engines_have_the_same_result(memory):
    verilator, amaranth = (
        valid(kernel(size=(8,), engine=engine, memory=memory))
        for engine in ("verilator", "amaranth")
    )
    # The simulator of Amaranth never gates a clock.
    unlike = {key for key in verilator if verilator[key] != amaranth[key]}
    assert unlike <= {"engine", "speed", "clocked_cycles"}


@pytest.mark.parametrize("options", [{}, ALONE, CLUSTER], ids=["model", "alone", "cluster"])
@pytest.mark.quick("model")
def test_a_program_of_ones_own(options, tmp_path):
    result = valid(program(tmp_path, NOTHING, **options))
    assert (result["kernel"], result["sizes"], result["operations"]) == (None,) * 3
    assert result["program"] == [str(tmp_path / "own.c")]
    assert (result["check"]["verdict"], result["check"]["buffers"]) == ("pass", {})
    failed = valid(program(tmp_path, NOTHING.replace("0", "3"), **options))
    assert (failed["status"], failed["check"]["verdict"]) == ("complete", "fail")
    assert "\nExit code: 3\n" in report(failed)


@pytest.mark.parametrize("options", [{}, ALONE, CLUSTER], ids=["model", "alone", "cluster"])
@pytest.mark.quick("model")
def test_a_program_that_faults(options, tmp_path):
    with pytest.raises(MachineError) as caught:
        program(tmp_path, NULL_POINTER, **options)
    result = valid(caught.value.result)
    assert (result["status"], result["check"]["verdict"]) == ("stopped", "fail")
    assert result["failure"]["message"] == str(caught.value)
    assert result["failure"]["diagnosis"]["stop"] in ("fault", "mismatch")
    assert result["cycles"] is None and result["config"]["cores"] >= 1


def test_a_run_of_the_host_that_takes_too_long():
    with pytest.raises(MachineError) as caught:
        product(max_cycles=50)
    result = valid(caught.value.result)
    assert (result["status"], result["check"]["verdict"]) == ("stopped", "fail")
    assert result["failure"]["diagnosis"] is None
    assert "50 cycles" in result["failure"]["message"]


def test_runs_that_are_saved():
    runs = []
    saving = Saving(keep=runs.append)
    for result in (
        product(max_cycles=400, saving=saving),
        kernel(max_cycles=400, saving=saving, **CLUSTER),
    ):
        assert (valid(result)["status"], result["check"]["verdict"]) == ("saved", None)
    assert len(runs) == 2


def test_the_result_of_a_machine_in_python():
    machine = Machine("tiny_matrix")
    machine.matmul(np.eye(4), np.eye(4))
    assert machine.last is not None
    result = valid(machine.last.result)
    assert result["options"]["data"] == "given"
    assert machine.last.cycles == result["cycles"]


def test_failing_checks(monkeypatch):
    described = find_kernel("vecadd")
    posed = described.problem({"n": 24}, 1)
    z = posed.buffers["z"]
    off = posed.buffers | {"z": replace(z, expected=-z.expected - 1)}
    planted = replace(posed, buffers=off)
    monkeypatch.setattr(type(described), "problem", lambda *_: planted)
    result = valid(kernel())
    assert (result["status"], result["check"]["verdict"]) == ("complete", "fail")
    assert result["check"]["buffers"]["z"]["wrong"] == 24
    assert len(result["check"]["buffers"]["z"]["examples"]) == 5
    assert report(result).startswith("FAIL: vecadd n=24 on tiny\n")
    assert "24 of 24 values of z lie outside the float64 bound" in report(result)


def test_files_of_the_command_line(tmp_path):
    target = tmp_path / "result.json"
    run = f"run vecadd --preset tiny --engine iss --json {target}"
    assert run_spica(f"{run} -n 24") == 0
    assert valid(json.loads(target.read_text()))["sizes"] == {"n": 24}
    source = tmp_path / "own.c"
    source.write_text(NULL_POINTER)
    assert run_spica(run.replace("vecadd", str(source))) == 1
    assert valid(json.loads(target.read_text()))["status"] == "stopped"
    host = "run gemm --preset tiny_matrix --size 8 --max-cycles 50"
    assert run_spica(f"{host} --json {target}") == 1
    assert valid(json.loads(target.read_text()))["failure"]["message"]


@pytest.fixture(scope="module")
def sound():
    """Return a result that is valid."""
    return valid(kernel())


BREAK = {
    "a key too many": lambda r: r.update(more=1),
    "a missing key": lambda r: r.pop("seed"),
    "another schema": lambda r: r.update(schema="other"),
    "another version": lambda r: r.update(schema_version=2),
    "another verdict": lambda r: r["check"].update(verdict="right"),
    "no verdict": lambda r: r["check"].update(verdict=None),
    "a buffer with a key too many": lambda r: r["check"]["buffers"]["z"].update(name="z"),
    "a buffer with a missing key": lambda r: r["check"]["buffers"]["z"].pop("wrong"),
    "an unknown option": lambda r: r["options"].update(speed=1),
    "kernel and program": lambda r: r.update(program=["a.c"]),
    "a kernel without sizes": lambda r: r.update(sizes=None),
    "cycles without a clock": lambda r: r.update(cycles=5),
    "cycles that are text": lambda r: r.update(cycles="5"),
    "a share above 1": lambda r: r.update(lane_utilization=80.9),
    "a failure of a complete run": lambda r: r.update(failure={"message": "", "diagnosis": None}),
    "a stopped run that passes": lambda r: r.update(status="stopped"),
    "a saved run with a verdict": lambda r: r.update(status="saved"),
    "another memory": lambda r: r["memory"].update(model="dram"),
    "no instructions": lambda r: r.update(instructions=None),
    "a count that is negative": lambda r: r["instructions"].update(warp=-1),
}


@pytest.mark.parametrize("change", BREAK)
def test_what_is_not_of_the_schema_is_seen(sound, change):
    broken = copy.deepcopy(sound)
    BREAK[change](broken)
    assert list(VALIDATOR.iter_errors(broken))


def test_stall_reasons_have_the_names_of_the_hardware():
    issued, *reasons = StallReason
    assert issued is StallReason.NONE
    assert list(ISSUE_SLOTS) == ["issued", *(reason.name.lower() for reason in reasons)]
    assert all(ISSUE_SLOTS.values())


def test_the_schema_needs_no_more_than_python():
    """Results are written without `jsonschema`, which only tests import."""
    code = (
        "import sys; sys.modules['jsonschema'] = None; "
        "from spica.sim.report.result import result_schema; "
        "print(len(result_schema()['properties']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(result_schema()["properties"])
