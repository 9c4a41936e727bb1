"""Tests of the command line: output, exit codes, and one-sentence errors for bad input."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spica import kernels
from spica.base.errors import MachineError, UserError
from spica.cli import files
from spica.cli.catalog import kernel_names
from spica.hw.presets import PRESETS
from spica.kernels.kernel import every_kernel, find_kernel
from spica.sim.engine.engines import ENGINES
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import RunOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.program_workload import KernelWorkload
from support import fake_attention
from support.command_line import message_of, refused, run_spica
from support.fake_run import FakeRun

GEMM = "run gemm --preset tiny_matrix"
ON_RTL = "run vecadd --preset core --size 4"
VECADD = "run vecadd --preset core --engine iss"
FAR = f"{VECADD} --size 4 --allow-region"
CORELESS = "run vecadd --preset matrix --engine iss"
#: Shared memory with lines of 16 bytes.
NARROW = "--set shared.subbanks=4 --set axi.data_width=128"
OWN = "run absent.c --preset core --engine iss"


@pytest.fixture
def fake(monkeypatch):
    return FakeRun(monkeypatch, ProductWorkload, "took {cycles} cycles\n")


def test_run_alone_lists_what_can_be_run(capsys):
    assert run_spica("run") == 0
    listed = capsys.readouterr().out
    for kernel in kernel_names():
        assert re.search(rf"^ {kernel} .*x?\d+ .* (core|virgo|virgo_hetero) *$", listed, re.M)
    assert "spica run vecadd" in listed and "ampere_fp32" in listed


@pytest.mark.parametrize(
    ("kernel", "preset", "sizes"),
    [
        ("vecadd", "core", {"n": 8192}),
        ("chase", "core", {"n": 1024, "stride": 16, "steps": 256}),
        ("gemm", "virgo", {"m": 256, "n": 256, "k": 256}),
        ("gemm_add", "virgo", {"m": 256, "n": 256, "k": 256}),
        ("gemm_pair", "virgo_hetero", {"m": 256, "n": 256, "k": 256}),
        ("attention", "virgo", {"queries": 256, "depth": 64}),
    ],
)
def test_a_kernel_alone_has_a_preset_and_a_size(kernel, preset, sizes, monkeypatch):
    seen = {}

    def carry_out(run, *_):
        seen.update(preset=run.preset, config=run.config, sizes=run.workload.subject["sizes"])
        return 0

    monkeypatch.setattr("spica.cli.run.carry_out", carry_out)
    fake_attention.install(monkeypatch)
    assert run_spica(f"run {kernel}") == 0
    assert seen == {"preset": preset, "config": PRESETS[preset], "sizes": sizes}


def test_folders_without_a_kernel_are_no_kernels():
    folders = {path.name for path in Path(kernels.__path__[0]).iterdir() if path.is_dir()}
    names = set(kernel_names())
    assert names <= folders and {"vecadd", "gemm", "gemm_bias_relu", "attention"} <= names
    assert not {"runtime", "forks"} & names


def test_every_default_size_is_legal():
    for name in kernel_names():
        if name not in EXACT_KERNELS:
            kernel = find_kernel(name)
            sizes = dict(zip(kernel.dimensions, kernel.usual, strict=True))
            assert kernel.problem(sizes, 1).operations >= 0


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("rum", 'Unknown command "rum". Did you mean "run"?'),
        ("run gem --preset matrix --size 4", "unknown kernel 'gem'; did you mean"),
        ("run gemm --preset matrx --size 4", "unknown preset 'matrx'; did you"),
        ("run gemm --preset zzz --size 4", "unknown preset 'zzz'; choose one of ti"),
        (f"{GEMM} -m 4 -k 4", "-n and -k; -n is missing"),
        (f"{GEMM} --size 4 -m 4", "either by --size or by -m, -n and -k, not by both"),
        (f"{GEMM} --size 0", "--size must be at least 1, not 0"),
        (f"{GEMM} -m 1 -n -3 -k 1", "-n must be at least 1, not -3"),
        (f"{GEMM} --size many", "--size must be a number, or numbers joined by x, not 'many'"),
        (f"{GEMM} --size ٣", "--size must be a number, or numbers joined by x, not '٣'"),
        (f"{GEMM} -m 4.7", "Invalid value for -m: must be an integer, not 4.7"),
        (f"{GEMM} -m ٣", "Invalid value for -m: must be an integer, not ٣"),
        (f"{GEMM} --seed 1.5", "Invalid value for --seed: must be an integer, not 1.5"),
        ("sweep gemm --preset tiny --jobs 1.5", "--jobs: must be an integer, not"),
        ("run nope", "unknown kernel 'nope'; choose one of attention, bitonic_sort"),
        ("doctor extra", "spica doctor has no argument extra; leave it out"),
        (f"{GEMM} --set foo=1", "unknown field 'foo'; known are cores, core, barriers,"),
        (f"{VECADD} --set core.warps=99", "core.warps must be between 1 and 32, not 99"),
        (f"{GEMM} --size 4x4", "--size must have one number or 3, mxnxk, not 4x4"),
        (f"{GEMM} --size 4x0x4", "--size must be at least 1, not 0"),
        (
            f"{GEMM} --size 4 --max-instructions 9",
            "--max-instructions does not apply to gemm driven by a host; leave it out",
        ),
        (
            f"{GEMM} --size 4 --engine iss",
            "gemm driven by a host does not run on engine iss; choose",
        ),
        (
            f"{ON_RTL} --max-instructions 9",
            "--max-instructions does not apply to vecadd on engine veri",
        ),
        (f"{ON_RTL} --schedule random", "verilator; leave it out, or choose --engine iss"),
        (f"{ON_RTL} --check race", "unknown --check 'race'; did you mean 'races'"),
        (f"{ON_RTL} --data random", "--data does not apply to vecadd on engine verilator"),
        (f"{ON_RTL} --memory-latency 0", "--memory-latency must be between 1 and 10000, not 0"),
        (f"{ON_RTL} --memory-stall 1", "--memory-stall must be at least 0 and below 1, not 1"),
        (f"{ON_RTL} --trace t.xyz", "unknown suffix of --trace '.xyz'; choose one of .vcd,"),
        (f"{VECADD} --size 4 --memory-latency 9", "--memory-latency does not apply to"),
        (f"{GEMM} --size 4 --lockstep", "--lockstep does not apply to gemm driven by a host"),
        (
            f"{CORELESS} --size 4",
            "vecadd needs cores; matrix has none: choose ampere, ampere_fp32, core, hopper, tiny",
        ),
        (f"{VECADD} --size 4 -n 4", "be given either by --size or by -n, not by both"),
        (f"{VECADD} -m 4", "-m must be a dimension of the kernel, which has n"),
        (f"{VECADD} --size 4x4", "--size must have one number or 1, n, not 4x4"),
        (f"{VECADD} --size 4 --optimize 4", "--optimize must be between 0 and 3, not 4"),
        (f"{VECADD} --size 4 --schedule rnd", "unknown --schedule 'rnd'; did you mean 'r"),
        (f"{VECADD} --size 4 --max-instructions 0", "--max-instructions must be at least 1, not 0"),
        (f"{VECADD} --size 4 --trace t", "--trace does not apply to vecadd on engine iss"),
        (f"{VECADD} more.c --size 4", "a kernel runs without further files; leave out more.c"),
        (f"{OWN} --size 4", "--size does not apply to absent.c on engine iss; leave it out"),
        (OWN, "the program file absent.c does not exist"),
        (
            "run notes.txt --preset core --engine iss",
            "end in .c, .cpp, .cc, .cxx, .S, .elf, not notes.txt",
        ),
        (f"{FAR} far", "--allow-region must be address:bytes, not 'far'"),
        (f"{FAR} 0:4", "--allow-region must lie within 0x80000000 to 0xff000000, not 0:4"),
        (f"{FAR} 0xa0000000:0", "must lie within 0x80000000 to 0xff"),
        (
            f"generate hopper -o x {NARROW}",
            "shared must have lines of 32 bytes or more and a size of 2048 bytes or more in RTL",
        ),
        (
            "generate core -o x --set core.tensor_numerics=fp32",
            "core.tensor_numerics must be one of virgo_hmma, fp32_rne, ",
        ),
        (
            "generate core -o x --set core.tensor_operand=bf16",
            "tensor_operand applies to tensor hmma or hgmma; without it, tensor_operand must be",
        ),
        (f"{GEMM} --size 4 --engine verilate", "unknown --engine 'verilate'; did you mean 'verila"),
        (f"{GEMM} --size 4 --c fp8", "unknown --c 'fp8'; choose one of fp"),
        (f"{GEMM} --size 4 --dram-bandwidth 0", "--dram-bandwidth must be above 0"),
        (f"{GEMM} --size 4 --data zero", "unknown --data 'zero'; choose one of random,"),
        (f"{GEMM} --size 4 --gating gate", "unknown --gating 'gate'; did you mean 'gated'"),
        (f"{GEMM} --size 4 --max-cycles 0", "--max-cycles must be at least 1, not 0"),
        (f"{GEMM} --size 4 --trace-window 1:2", "--trace-window needs --trace"),
        (
            f"{GEMM} --size 4 --trace t --trace-window 9:2",
            "must be first:end with first below end, not '9:2'",
        ),
        (f"{GEMM} --size 4 --seed -1", "--seed must be at least 0, not -1"),
        (
            f"{GEMM} --size 4 --trace t --trace-window 1:2 --engine amaranth",
            "--trace-window needs --engine verilator; engine amaranth traces every cycle",
        ),
        (f"{GEMM} --size 4 --set rows=2", "unknown field 'rows'; did you mean 'matrix."),
        (f"{GEMM} --size 4 --set matrix.rows=3", "rows must be a power of two, not 3"),
        (f"{GEMM} --size 4 --json .", "an output must be a file, not the folder ."),
        ("generate matrix", 'Command "generate" parameter --output requires an argument.'),
        ("generate matric -o x", "unknown preset 'matric'; did you mean 'matrix'?"),
        (f"generate matrix -o {__file__}", "--output must be a folder, not the file "),
        ("area", "spica area needs a preset, as in spica area virgo; spica list shows all"),
        ("list everything", "spica list has no argument everything; leave it out"),
        ("list --json", 'Command "list" parameter --json requires an argument.'),
        ("list --json --verbose", "--json needs a file or -, not --verbose"),
    ],
)
def test_bad_input_is_one_sentence(fake, capsys, command, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, command)
    assert fake.calls == []
    assert list(tmp_path.iterdir()) == []


def test_run_passes_its_options_on(fake, capsys):
    sizes = "-m 3 -n 4 -k 5 --c fp32 --data extreme"
    memory = "--dram-bandwidth 16 --dram-latency 50 --max-cycles 99"
    engine = "--engine amaranth --gating random --seed 7"
    settings = "--set dma.queue=2 --set axi.masters=1"
    assert run_spica(f"{GEMM} {sizes} {memory} {engine} {settings}") == 0
    (call,) = fake.calls
    assert call.preset == "tiny_matrix"
    assert (call.config.dma.queue, call.config.axi.masters) == (2, 1)
    assert call.workload == ProductWorkload(m=3, n=4, k=5, data="extreme", c_format="fp32")
    assert call.options == RunOptions(
        engine="amaranth",
        memory=DramConfig(bytes_per_cycle=16, latency=50),
        gating="random",
        seed=7,
        max_cycles=99,
    )
    assert capsys.readouterr().out == "né\ntook 1234 cycles\n"


def test_result_goes_to_a_file(fake, capsys, tmp_path):
    target = tmp_path / "new" / "result.json"
    assert run_spica(f"{GEMM} --size 4 --json {target}") == 0
    assert json.loads(target.read_text())["cycles"] == 1234
    assert list(target.parent.iterdir()) == [target]
    assert "took" in capsys.readouterr().out


@pytest.mark.parametrize("command", [GEMM, VECADD])
def test_result_goes_to_standard_output_alone(fake, capsys, command):
    fake.kind = (ProductWorkload, KernelWorkload)
    assert run_spica(f"{command} --size 4 --json -") == 0
    out, error = capsys.readouterr()
    assert json.loads(out)["kernel"] == command.split()[1]
    assert "né\n" in error


@pytest.mark.parametrize("command", [GEMM, VECADD])
def test_a_wrong_value_is_exit_code_1(fake, tmp_path, command):
    fake.kind, fake.verdict = (ProductWorkload, KernelWorkload), "fail"
    target = tmp_path / "result.json"
    assert run_spica(f"{command} --size 4 --json {target}") == 1
    assert json.loads(target.read_text())["check"]["verdict"] == "fail"


def test_a_hang_is_exit_code_1_and_its_waveform_stays(fake, capsys, tmp_path):
    fake.error = MachineError("the machine hangs: nothing moved for 9 cycles\nbusy: dma 1")
    target, waveform = tmp_path / "result.json", tmp_path / "run.vcd"
    arguments = f"--json {target} --trace {waveform} --trace-window 10:20"
    assert run_spica(f"{GEMM} --size 4 {arguments}") == 1
    assert capsys.readouterr().err.endswith("nothing moved for 9 cycles\nbusy: dma 1\n")
    assert fake.calls[0].options.trace_window == (10, 20)
    assert waveform.read_text() == "waveform"
    assert list(tmp_path.iterdir()) == [waveform]


def test_what_the_simulation_refuses_is_bad_input(fake, capsys, tmp_path):
    fake.error = UserError("A of 90000 x 90000 must lie within DRAM")
    waveform = tmp_path / "run.vcd"
    message = message_of(capsys, f"{GEMM} --size 90000 --trace {waveform}")
    assert "spica: A of 90000 x 90000 must lie within DRAM\n" in message
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_reported(fake, capsys):
    fake.error = MemoryError()
    message = message_of(capsys, f"{GEMM} --size 20000")
    assert "not enough memory for this run; choose a smaller size\n" in message


def test_a_fault_of_spica_is_no_traceback_either(fake, capsys, monkeypatch):
    fake.error = RuntimeError("it broke")
    monkeypatch.delenv("SPICA_DEBUG", raising=False)
    assert run_spica(f"{GEMM} --size 4") == 1
    assert (
        "spica: RuntimeError: it broke (set SPICA_DEBUG=1 for the traceback)"
        in capsys.readouterr().err
    )
    monkeypatch.setenv("SPICA_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run_spica(f"{GEMM} --size 4")


def test_a_full_disk_is_reported(fake, capsys):
    assert "cannot write /dev/full: no space left" in refused(capsys, "list --json /dev/full")


def test_a_full_disk_leaves_nothing_half_written(fake, capsys, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, os.strerror(28))

    target = tmp_path / "result.json"
    target.write_text("older")
    monkeypatch.setattr(files.os, "fsync", full)
    assert "no space left on device" in refused(capsys, f"list --json {target}")
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text() == "older"


def test_an_unwritable_place_is_refused_before_the_run(fake, capsys, tmp_path):
    inside = tmp_path / "file"
    inside.write_text("")
    sentence = refused(capsys, f"{GEMM} --size 4 --json {inside / 'result.json'}")
    assert sentence.endswith("file is not a folder")
    assert fake.calls == []


def test_files_that_belong_together_appear_together(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(UserError, match="not the folder"):
        files.write_together([(tmp_path / "a", "text"), (tmp_path / "b", "text")])
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_missing_compiler_is_reported_with_its_remedy(capsys, monkeypatch):
    monkeypatch.setenv("SPICA_CXX", "no-such-compiler")
    assert run_spica("doctor --json -") == 2
    result = json.loads(capsys.readouterr().out)
    (compiler,) = [row for row in result["findings"] if row["name"] == "C++ compiler"]
    assert compiler["verdict"] == "missing"
    assert "not 'no-such-compiler'" in compiler["remedy"]
    assert result["ready"] is False
    assert run_spica("doctor") == 2
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Not ready, missing: C++ compiler (")


def test_doctor_finds_what_it_needs(capsys):
    assert run_spica("doctor") == 0
    out = capsys.readouterr().out
    assert "Ready: every required component is installed." in out
    assert "verilator" in out


def test_list_names_all(capsys):
    assert run_spica("list --json -") == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed) == {"presets", "arrays", "kernels", "engines", "versions"}
    assert {"tiny_matrix", "matrix"} <= set(listed["presets"])
    assert set(listed["engines"]) == {*ENGINES, "iss"}
    assert listed["presets"]["virgo"]["cores"] == "4 x 8 warps x 8 threads"
    assert listed["kernels"]["gemm"]["size"] == "m x n x k"
    assert set(listed["kernels"]) > {kernel.name for kernel in every_kernel()}
    for kernel in every_kernel():
        assert listed["kernels"][kernel.name]["size"] == " x ".join(kernel.dimensions)
        assert listed["kernels"][kernel.name]["description"]
    assert run_spica("list") == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    assert not set("─│┌╭") & set(plain)


def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m spica.cli list | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
