"""``spica generate``: Verilog of a preset, its descriptions, and files for other tools."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..api.progress import ProgressDisplay
from ..base.errors import UserError
from ..hw.config.rtl_support import require_rtl
from ..hw.emit.emission import Emission
from ..hw.emit.sram_macros import MacroLimits
from ..hw.machine.artifacts import MARK
from ..hw.machine.package.package import PACKAGE_ENDINGS, package
from ..hw.machine.package.system_verilog import SYSTEM_VERILOG_ENDING
from ..kernels.gemm.host.exported import exported_product
from ..sim.engine.emission_cache import emit_cached
from ..sim.run.request.machine import configured
from ..sim.run.request.sizes import parsed_size
from .files import write_together
from .options import Flag, JsonOption, JsonOutput, SetOption, Whole, standard_output

__all__ = ["generate"]

MARK_BYTES = 200  # the mark lies within this many bytes from the start of a file


def generate(
    preset: str,
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    force: Flag = False,
    sram_macros: Flag = False,
    sram_minimum: Whole = None,
    sram_words: Whole = None,
    sv: Flag = False,
    source_lines: Flag = False,
    commands: Annotated[str | None, Parameter(show_default=False)] = None,
    settings: SetOption = (),
    json: JsonOption = None,
):
    """Write the Verilog of a preset, its descriptions, and files for other tools.

    Beside the Verilog: a JSON description, a C header, a register description, a FuseSoC core, a
    file list, timing constraints, project scripts, lint waivers and a test bench
    (docs/integration.md). Files of the same names that Spica wrote are replaced; other files are
    kept.

    Parameters
    ----------
    preset
        Preset of `spica list`.
    output
        Folder of the files; created if it does not exist.
    force
        Replace files of the same names, even if Spica did not write them.
    sram_macros
        Instantiate SRAM macros for large memories: one wrapper module per shape, with behavioural
        models in a separate file (docs/integration.md).
    sram_minimum
        Smallest memory, in bits, that becomes a macro; default: 1024.
    sram_words
        Smallest memory, in words, that becomes a macro; default: 32.
    sv
        Also write a top level in SystemVerilog, with the AXI ports as packed structs.
    source_lines
        Name the line of Python of each register in a comment.
    commands
        Also write the command list of a product for a host, as JSON and as C, for example
        `--commands gemm:64x64x64` (docs/integration.md).

    """
    config = configured(preset, settings)
    require_rtl(config, config.clusters)
    if output.exists() and not output.is_dir():
        raise UserError(f"--output must be a folder, not the file {output}")
    limits = macro_limits(sram_macros, sram_minimum, sram_words)
    lists = {} if commands is None else exported_product(config, preset, **product(commands))
    endings = [".v", ".h", ".json", *PACKAGE_ENDINGS]
    endings += (["_sram.v"] if limits else []) + ([SYSTEM_VERILOG_ENDING] if sv else [])
    paths = [output / name for name in (*(f"{preset}{ending}" for ending in endings), *lists)]
    if not force:
        refuse_foreign(paths)
    with JsonOutput(json) as result:
        with ProgressDisplay() as progress:
            emission = emit_cached(
                config, preset, progress, limits=limits, has_source_lines=source_lines
            )
        texts = package(emission, has_structs=sv) | lists
        write_together([(output / name, text) for name, text in texts.items()])
        people = result.write({
            "preset": preset,
            "output": str(output),
            "files": {name: len(text.encode()) for name, text in texts.items()},
            "modules": len(emission.modules),
            **({} if emission.srams is None else {"srams": count_srams(emission)}),
        })
    if people:
        out = standard_output()
        for name, text in texts.items():
            out.print(f"{output / name}: {len(text.splitlines()):,} lines", soft_wrap=True)
        if emission.srams is not None:
            shapes, srams = len(emission.srams), count_srams(emission)
            out.print(f"SRAM macros: {srams:,} memories of {shapes} shapes")


def product(commands: str) -> dict[str, int]:
    """Return the sizes of ``--commands``."""
    kernel, colon, size = commands.partition(":")
    if not colon or kernel != "gemm":
        raise UserError(
            f"--commands must be gemm:MxNxK, for example gemm:64x64x64, not {commands!r}"
        )
    return parsed_size(("m", "n", "k"), size, "--commands gemm")


def count_srams(emission: Emission) -> int:
    """Return the number of memories that are SRAM macros."""
    return sum(sram.instances for sram in emission.srams or ())


def macro_limits(has_macros: bool, minimum: int | None, words: int | None) -> MacroLimits | None:
    """Return the limits of ``--sram-...``; None without ``--sram-macros``."""
    given = {"bits": ("--sram-minimum", minimum), "words": ("--sram-words", words)}
    options = [option for option, value in given.values() if value is not None]
    if not has_macros:
        if options:
            raise UserError(f"{options[0]} needs --sram-macros")
        return None
    try:
        return MacroLimits(**{
            name: value for name, (_, value) in given.items() if value is not None
        })
    except ValueError as error:
        raise UserError(f"{' and '.join(options)}: {error}") from None


def refuse_foreign(paths: list[Path]):
    """Raise if a file to be replaced was not written by Spica."""
    for path in paths:
        if not path.exists():
            continue
        if path.is_dir():
            raise UserError(f"{path} is a folder, not a file; choose another --output")
        with path.open("rb") as file:
            if MARK.encode() not in file.read(MARK_BYTES):
                raise UserError(f"{path} was not written by Spica; --force replaces it")
