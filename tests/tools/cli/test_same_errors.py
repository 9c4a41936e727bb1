"""One wrong input has one error on the command line and in Python, of runs, sweeps, comparisons."""

import pytest

import spica
from spica.base.errors import UserError
from support.command_line import refused

pytest.importorskip("pandas")

#: Beginning of the error of a sweep of which no point is legal.
NO_POINT = "no point of the sweep is legal: "
#: Kernel, preset, and options by their names in Python; the sentence on the command line, and its
#: beginning or end in Python.
CASES = {
    "kernel": ("vecad", "tiny", {}, "unknown kernel 'vecad'; did you mean 'vecadd'?", "'vecad'"),
    "preset": ("vecadd", "tinny", {}, "unknown preset 'tinny'; did you mean 'tiny'?", "'tinny'"),
    "engine": (
        *("vecadd", "tiny", {"engine": "isss"}),
        "unknown --engine 'isss'; did you mean 'iss'?",
        "engine must be one of verilator, amaranth, iss, not 'isss'",
    ),
    "driver": (
        *("gemm", "tiny", {"driver": "cpu"}),
        "unknown --driver 'cpu'; choose one of cores, host",
        "driver must be one of cores, host, not 'cpu'",
    ),
    "seed": (
        *("vecadd", "tiny", {"seed": -1}),
        "--seed must be at least 0, not -1",
        "seed must be at least 0, not -1",
    ),
    "no driver": (
        *("vecadd", "tiny", {"driver": "host"}),
        "--driver does not apply to vecadd on engine verilator; leave it out",
        "driver does not apply to vecadd on engine verilator; leave it out",
    ),
    "no cores": (
        *("vecadd", "matrix", {}),
        "vecadd needs cores; matrix has none: choose ampere, ampere_fp32, core, hopper, tiny, "
        "virgo, virgo_fp32, virgo_hetero or volta",
        "vecadd needs cores; matrix has none: choose ampere, ampere_fp32, core, hopper, tiny, "
        "virgo, virgo_fp32, virgo_hetero or volta",
    ),
    "no matrix unit": (
        *("gemm", "core", {}),
        "gemm needs a matrix unit; this machine has none",
        "gemm needs a matrix unit; this machine has none",
    ),
    "no model of the host": (
        *("gemm", "tiny_matrix", {"engine": "iss"}),
        "gemm driven by a host does not run on engine iss; choose --engine verilator or amaranth",
        "gemm driven by a host does not run on engine iss; choose engine verilator or amaranth",
    ),
}
SIZES = {"vecadd": {"n": 4}, "vecad": {"n": 4}, "gemm": {"m": 4, "n": 4, "k": 4}}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_commands_refuse_with_one_sentence(case, capsys):
    kernel, preset, options, sentence, _ = case
    words = " ".join(f"--{name} {value}" for name, value in options.items())
    for command in ("run", "sweep", "compare"):
        text = refused(capsys, f"{command} {kernel} --preset {preset} --size 4 {words}")
        assert text.removeprefix(NO_POINT) == sentence, command


def test_python_refuses_with_the_same_sentence(case):
    kernel, preset, options, _, sentence = case
    sizes = SIZES[kernel]

    def machine_run():
        spica.Machine(preset, **options).run(kernel, **sizes)

    calls = [
        machine_run,
        lambda: spica.sweep(kernel, preset, **options, **sizes),
        lambda: spica.compare(kernel, preset, **options, **sizes),
    ]
    if preset == "tiny_matrix" or options.get("driver") == "host":
        calls.remove(machine_run)  # no model without cores; the driver is that of products
    for call in calls:
        with pytest.raises(UserError) as refusal:
            call()
        assert str(refusal.value).removeprefix(NO_POINT).endswith(sentence)
