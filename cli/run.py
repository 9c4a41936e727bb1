"""``spica run``: run of one kernel or program on one machine, with check and report."""

from dataclasses import replace
from typing import Annotated

from cyclopts import Parameter

from ..sim.run.request.resolve import resolve
from .catalog import list_runs
from .execution import carry_out, execution_of
from .files import parsed_dumps
from .run_options import Options
from .saving import command_of, saved_to

__all__ = ["run"]


#: Options of a command line that has none.
DEFAULTS = Options()


def run(
    kernel: str | None = None,
    /,
    *files: str,
    options: Annotated[Options, Parameter(name="*")] = DEFAULTS,
) -> int:
    """Run a kernel or a program, check it, and report cycles, utilisation and losses.

    Without a kernel, list what can be run. A kernel alone runs on a preset and a size that suit it.
    Exit code 0 if the check passes, or if the program's own exit code is 0; otherwise 1, also if
    the machine faults or hangs.

    Parameters
    ----------
    kernel
        Kernel of `spica list`, or a file: C, C++, assembly or ELF.
    files
        Further files of the same program.

    """
    if kernel is None:
        list_runs()
        return 0
    work = resolve(options.request(kernel, *files))
    execute = execution_of(options, work)
    # A checkpoint has the machine that is meant, not the default of another version.
    options = replace(options, preset=work.preset)
    with saved_to(options, command_of(kernel, files, options)) as saving:
        work = replace(work, options=replace(work.options, saving=saving))
        return carry_out(work, options.json, parsed_dumps(options.dump), execute)
