"""Builds the SoC of `soc.py` and its firmware, simulates it in Verilator, and ends as it does.

    python examples/litex/run.py [--size 16x16x24] [--output build/examples/litex]

Needs the extra `examples` of Spica; neither a RISC-V toolchain nor a system Verilator.
"""

import argparse
import ctypes
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile
from soc import AcceleratorSoC

from spica.api.progress import ProgressDisplay
from spica.base.zig import zig_environment
from spica.sim.engine.foreign_design import TOP, build_foreign_design

HERE = Path(__file__).resolve().parent
DRIVER = HERE.parent / "bare_metal"
PRESET = "tiny_matrix"
FIRMWARE_FLAGS = (
    *("-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m", "-mabi=ilp32"),
    *("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-ffreestanding", "-static"),
    *("-fno-sanitize=all", "-ffunction-sections", "-Wl,--gc-sections"),
)
LIMIT_CYCLES = 2_000_000


def run(*command, **options):
    """Run a command; end with its exit code if it fails."""
    done = subprocess.run([str(part) for part in command], **options)
    if done.returncode:
        sys.exit(done.returncode)


def firmware(folder, word_bytes):
    """Compile the firmware; return the words of the ROM, as wide as the bus."""
    sources = [HERE / "start.S", HERE / "firmware.c", DRIVER / "gemm.c", DRIVER / "spica_driver.c"]
    elf = folder / "firmware.elf"
    run(
        *(sys.executable, "-m", "ziglang", "cc", *FIRMWARE_FLAGS, f"-Wl,-T,{HERE / 'link.ld'}"),
        *(f"-I{folder}", f"-I{DRIVER}", *sources, "-o", elf),
        env=zig_environment(),
    )
    with elf.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text").data()
    text += bytes(-len(text) % word_bytes)
    words = (text[at : at + word_bytes] for at in range(0, len(text), word_bytes))
    return [int.from_bytes(word, "little") for word in words]


def verilog(folder):
    """Return the Verilog of the SoC; write the firmware as contents of its ROM."""
    logging.disable(logging.INFO)
    soc = AcceleratorSoC(folder, PRESET)
    soc.finalize()
    for name, region in soc.bus.regions.items():
        print(f"{region.origin:#010x} {region.size:6} bytes  {name}")
    (folder / "soc.h").write_text(soc.header())
    soc.init_rom("rom", firmware(folder, soc.bus.data_width // 8), auto_size=False)
    text = soc.platform.get_verilog(soc, name=TOP)
    for name, contents in text.data_files.items():
        (folder / name).write_text(contents)
    others = [folder / f"{PRESET}.v", *(Path(source[0]) for source in soc.platform.sources)]
    # Comments hold the time of generation, which would be another design in the cache of models.
    soc_text = re.sub(r"^//.*\n", "", text.main_source, flags=re.MULTILINE)
    return "\n".join([soc_text, *(path.read_text() for path in others)])


def main():
    """Generate, build, simulate."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", default="16x16x24", help="M, N and K of the product")
    parser.add_argument("--output", type=Path, default=Path("build/examples/litex"))
    options = parser.parse_args()
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    generate = ("generate", PRESET, "-o", folder, "--commands", f"gemm:{options.size}")
    run(sys.executable, "-m", "spica.cli", *generate)
    with ProgressDisplay() as progress:
        library = build_foreign_design(
            "litex_soc", verilog(folder), HERE / "testbench.cpp", progress=progress
        )
    sys.stdout.flush()
    os.chdir(folder)  # the contents of the ROM are a file of this folder
    simulate = ctypes.CDLL(str(library)).simulate
    simulate.argtypes = (ctypes.c_uint64,)
    sys.exit(simulate(LIMIT_CYCLES))


if __name__ == "__main__":
    main()
