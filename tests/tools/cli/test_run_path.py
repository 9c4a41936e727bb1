"""Path of a run from the command line to its machine: packages whose functions are called.

The path begins with the function of the command. The machine starts when the workload is prepared:
its program is built, then its model. The execution of a module on its import is no call.
"""

import sys
from pathlib import Path

import spica
from spica.base.errors import MachineError
from spica.cli.main import import_commands
from support.command_line import run_spica

ROOT = Path(spica.__file__).parent
RUN = "run gemm --preset tiny --size 8"
#: Most packages up to the start of the machine.
MOST = 11
#: Packages that build the program: constants of its headers, checks of its code, the build cache.
BUILD = {
    *("base", "hw.isa", "hw.machine", "hw.styles", "hw.styles.cluster_array"),
    *("kernels.divergence", "kernels.forks"),
}


def packages_until(monkeypatch, start: str) -> set[str]:
    """Return the packages that a run enters from its command up to the function `start`."""
    import_commands()
    first = sys.modules["spica.cli.run"].run.__code__
    packages: set[str] = set()

    def profile(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event != "call" or not (packages or frame.f_code is first):
            return
        if file.is_relative_to(ROOT) and frame.f_code.co_name != "<module>":
            folders = file.relative_to(ROOT).parts[:-1]
            if folders[:1] not in [("tests",), (".venv",)]:
                packages.add(".".join(folders))

    def stop(*arguments, **options):
        sys.setprofile(None)
        raise MachineError("the machine starts")

    monkeypatch.setattr(start, stop)
    sys.setprofile(profile)
    try:
        assert run_spica(RUN) == 1
    finally:
        sys.setprofile(None)
    return packages


def test_few_packages_decide_about_a_run(monkeypatch):
    start = "spica.sim.run.program_workload.ProgramWorkload.prepare"
    packages = packages_until(monkeypatch, start)
    assert {"cli", "sim.run.request", "sim.run", "kernels.gemm"} <= packages
    assert len(packages) <= MOST, sorted(packages)


def test_only_the_build_of_the_program_precedes_that_of_the_model(monkeypatch):
    packages = packages_until(monkeypatch, "spica.sim.run.program_workload.build_machine")
    assert len(packages - BUILD) <= MOST, sorted(packages)
