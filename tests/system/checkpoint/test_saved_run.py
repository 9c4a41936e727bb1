"""Tests of save files: complete or refused with a message, and only for the same run."""

import struct
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from spica import Machine
from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.program import Program
from spica.sim.engine.amaranth_engine import AmaranthEngine
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.machine.machine import require_checkpointable
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.machine.saved_run import HEAD, MAGIC, START, SavedRun
from spica.sim.machine.saving import Saving, saving_to
from spica.sim.machine.snapshot import Snapshot, program_digest, require_like
from spica.sim.run.options import RunOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.workload import run_workload
from support.runs import run_kernel

NAME = "tiny_matrix"
TINY = PRESETS[NAME]
SNAPSHOT = Snapshot(
    identity="abc", machine={"gating": "gated"}, cycle=7, facts={}, state=b"state" * 99, model=b"m"
)
RUN = SavedRun(arguments={"kernel": "none", "seed": 1}, command=None, snapshot=SNAPSHOT)


@pytest.fixture
def file(tmp_path):
    """Return a file with `RUN`."""
    path = tmp_path / "run.spica"
    RUN.write(path)
    return path


def test_a_file_gives_back_what_was_written(file):
    assert SavedRun.read(file) == RUN
    assert [path.name for path in file.parent.iterdir()] == ["run.spica"]


@pytest.mark.parametrize("part", ["magic", "checksum", "description", "state", "end"])
def test_a_damaged_file_is_refused(file, part):
    data = bytearray(file.read_bytes())
    places = {"magic": 3, "checksum": START - 5, "description": START + 9, "end": len(data) - 1}
    data[places.get(part, len(data) - 20)] ^= 4
    file.write_bytes(data)
    said = "is not a checkpoint of Spica" if part == "magic" else "is damaged"
    with pytest.raises(UserError, match=said):
        SavedRun.read(file)


def test_a_file_with_more_behind_it_is_refused(file):
    file.write_bytes(file.read_bytes() + b"!")
    with pytest.raises(UserError, match="is damaged"):
        SavedRun.read(file)


def test_a_cut_file_is_refused_wherever_it_is_cut(file):
    data = file.read_bytes()
    for size in range(len(data)):
        file.write_bytes(data[:size])
        with pytest.raises(UserError, match=r"is incomplete|is not a checkpoint"):
            SavedRun.read(file)


def test_another_format_is_refused(file):
    data = bytearray(file.read_bytes())
    struct.pack_into("<I", data, len(MAGIC), 99)
    file.write_bytes(data)
    with pytest.raises(UserError, match=r"must have format 2, .* has format 99"):
        SavedRun.read(file)
    assert HEAD.size == 20


def test_no_file_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match=r"cannot read checkpoint .*absent: no such file"):
        SavedRun.read(tmp_path / "absent")
    with pytest.raises(UserError, match=r"cannot write .*: "):
        RUN.write(tmp_path / "no folder" / "run.spica")


def test_what_differs_is_named():
    saved = {"memory": {"latency": 3, "jitter": 0}, "seed": 1}
    require_like("the run", saved, saved)
    said = r"the run: memory.jitter must be 0 as in the checkpoint, not 4"
    with pytest.raises(UserError, match=said):
        require_like("the run", saved, {"memory": {"latency": 3, "jitter": 4}, "seed": 1})
    with pytest.raises(UserError, match="the run: seed must be 1 as in the checkpoint, not None"):
        require_like("the run", saved, {"memory": saved["memory"]})


def test_programs_differ_by_what_is_placed():
    empty = {"symbols": {}, "functions": [], "text": [], "runtime": range(0), "image": b""}
    make = partial(Program, path="a.c", **empty)
    one = program_digest(make(entry=4, segments=[(0, b"ab")]))
    assert one == program_digest(make(entry=4, segments=[(0, b"ab")]))
    others = [(8, [(0, b"ab")]), (4, [(1, b"ab")]), (4, [(0, b"ac")])]
    assert all(program_digest(make(entry=e, segments=s)) != one for e, s in others)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"at": 5}, "must be above 7, where the run begins"),
        ({"at": 100}, "below its limit of 100, not 100"),
        ({"limit": 7}, "the cycle limit must be above 7"),
        ({"engine": "amaranth"}, "need engine verilator, not amaranth"),
        ({"engine": "iss"}, "need engine verilator, not iss"),
        ({"has_trace": True}, "cannot write a trace"),
    ],
)
def test_what_cannot_be_saved_is_refused(options, said):
    saving = Saving(keep=print, at=options.pop("at", None), restored=RUN)
    given = {"engine": "verilator", "has_trace": False, "limit": 100} | options
    with pytest.raises(UserError, match=said):
        saving.require_sound(**given)
    replace(saving, keep=None, restored=None).require_sound("iss", True, 1)


def test_a_run_that_is_to_be_saved_needs_a_place_and_a_cycle(file):
    with pytest.raises(UserError, match="exists: remove it or choose another name"):
        saving_to(file, 5, None)
    with pytest.raises(UserError, match="must be given together"):
        saving_to(file, None, None)


def test_amaranth_has_no_state_to_save():
    with pytest.raises(UserError, match="need engine verilator, not amaranth"):
        require_checkpointable(AmaranthEngine.__new__(AmaranthEngine))


@pytest.mark.full
def test_lockstep_must_be_as_in_the_checkpoint():
    config = small_config(cores=2, warps=2, threads=2)
    with ProgramMachine(config, optimize=0, lockstep=True) as machine:
        machine.run(5)
        saved = machine.save()
    with ProgramMachine(config, optimize=0) as machine:
        with pytest.raises(UserError, match="lockstep must be on as in the checkpoint, not off"):
            machine.restore(saved)
        machine.run(5)
        saved = machine.save()
    refused = pytest.raises(UserError, match="lockstep must be off as in the checkpoint, not on")
    with ProgramMachine(config, optimize=0, lockstep=True) as machine, refused:
        machine.restore(saved)


@pytest.mark.full
def test_what_has_not_begun_or_has_ended_is_not_saved():
    with ProgramMachine(small_config(cores=2, warps=2, threads=2), optimize=0) as machine:
        with pytest.raises(UserError, match="only after its start and before its end"):
            machine.save()
        machine.run(5)
        saved = machine.save()
        machine.run()  # nothing was placed: a fault
        with pytest.raises(UserError, match="only after its start and before its end"):
            machine.save()
        with pytest.raises(UserError, match="must be of this design and this version"):
            machine.restore(replace(saved, identity="another"))


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("the machine: memory.latency must be", {"memory": CoreMemoryConfig(latency=2)}),
        ("the machine: gating must be", {"gating": "random"}),
        ("the machine: watchdog must be", {"watchdog": 99}),
        ("the machine: record must be", {"record": (0, 5)}),
        ("of kind flat, as in the checkpoint, not blocks", {"composed": True}),
    ],
)
@pytest.mark.full
def test_another_machine_refuses_a_run(said, options):
    make = partial(ProgramMachine, small_config(cores=2, warps=2, threads=2), optimize=0)
    with make() as machine, make(**options) as other:
        machine.run(5)
        with pytest.raises(UserError, match=said):
            other.restore(machine.save())


@pytest.mark.full
def test_a_model_of_another_design_refuses_a_run():
    with (
        CommandMachine(TINY, name=NAME) as machine,
        ProgramMachine(small_config(cores=2, warps=2, threads=2), optimize=0) as other,
    ):
        machine.begin(np.zeros((1, 4), np.uint32))
        with pytest.raises(UserError, match="must be of this design and this version"):
            other.restore(machine.save())


@pytest.mark.full
def test_a_machine_of_python_saves_and_restores(tmp_path):
    path = tmp_path / "product.spica"
    a, b = (np.arange(64).reshape(8, 8) % divisor for divisor in (7, 5))
    first, second = Machine(NAME), Machine(NAME)
    expected = first.matmul(a, b)
    assert (first.matmul(a, b, save=path, save_at=300) == expected).all()
    assert first.last is not None
    assert (second.matmul(a, b, restore=path) == expected).all()
    assert second.last is not None
    assert second.last.counters == first.last.counters
    assert second.last.cycles == first.last.cycles
    with pytest.raises(UserError, match="the resumed run: data must be"):
        second.matmul(a, b + 1, restore=path)


def test_a_run_at_its_limit_ends_saved(tmp_path):
    path = tmp_path / "product.spica"

    def run(**saving):
        limit = saving.pop("limit", 1 << 40)
        options = RunOptions(max_cycles=limit, saving=Saving(**saving))
        return run_workload(ProductWorkload(m=8, n=8, k=8), NAME, TINY, options)

    paused = run(limit=400, keep=lambda run: run.write(path))
    assert (paused["status"], paused["check"]["verdict"]) == ("saved", None)
    later = run(limit=700, keep=lambda run: run.write(path), restored=SavedRun.read(path))
    assert later == paused
    assert SavedRun.read(path).snapshot.cycle == 700
    done, expected = run(restored=SavedRun.read(path)), run()
    assert done["speed"]["model"] == expected["speed"]["model"] == "blocks"
    assert done["check"]["verdict"] == "pass"
    for result in (done, expected):
        del result["speed"]
    assert done == expected


@pytest.mark.full
def test_a_resumed_run_takes_the_model_of_its_checkpoint(tmp_path):
    path = tmp_path / "product.spica"

    def run(build, **saving):
        options = RunOptions(build=build, saving=Saving(**saving))
        return run_workload(ProductWorkload(m=8, n=8, k=8), NAME, TINY, options)

    run("fast", at=400, keep=lambda run: run.write(path))
    resumed, expected = run(None, restored=SavedRun.read(path)), run("quick")
    assert [outcome["speed"].pop("model") for outcome in (resumed, expected)] == ["flat", "blocks"]
    for result in (resumed, expected):
        del result["speed"]
    assert resumed == expected
    with pytest.raises(UserError, match="of kind flat, as in the checkpoint, not blocks"):
        run("quick", restored=SavedRun.read(path))


def test_the_model_alone_is_not_saved():
    with pytest.raises(UserError, match="need engine verilator, not iss"):
        run_kernel("vecadd", (4,), engine="iss", saving=Saving(keep=print, at=5))
