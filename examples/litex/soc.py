"""LiteX SoC: VexRiscv, ROM, SRAM, a RAM for matrices, and a Spica cluster on its bus."""

import json

from litex.build.generic_platform import GenericPlatform, Pins
from litex.build.io import CRG
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import axi, wishbone
from litex.soc.interconnect.csr import CSRStorage
from migen import ClockSignal, Instance, ResetSignal

PADS = [
    *((name, 0, Pins(1)) for name in ("clk", "rst", "console_valid", "finish_valid")),
    *((name, 0, Pins(8)) for name in ("console_data", "finish_data")),
]


class Cluster(LiteXModule):
    """A generated cluster: an AXI4-Lite slave `control`, and AXI4 masters `memory`.

    Parameters
    ----------
    description : dict
        Contents of the JSON file that `spica generate` writes beside the Verilog.

    """

    def __init__(self, description):
        config, ports = description["config"], description["ports"]
        self.control = axi.AXILiteInterface(data_width=32, address_width=32)
        self.memory = [
            axi.AXIInterface(
                data_width=config["axi"]["data_width"],
                id_width=next(
                    signal["width"] for signal in ports if signal["name"] == f"m_axi{n}_arid"
                ),
            )
            for n in range(config["axi"]["masters"])
        ]
        buses = {"s_axil": self.control} | {f"m_axi{n}": bus for n, bus in enumerate(self.memory)}
        connections = {
            f"{port['direction'][0]}_{port['name']}": self.signal(port["name"], buses)
            for port in ports
            if not port["name"].endswith("_busy")  # for clock gates
        }
        self.specials += Instance(description["name"], **connections)

    def signal(self, name, buses):
        """Return the signal of a port; all clock domains have the clock of the SoC."""
        if name == "clk" or name.endswith("_clk"):
            return ClockSignal("sys")
        if name == "rst" or name.endswith("_rst"):
            return ResetSignal("sys")
        bus, _, rest = name.rpartition("_")
        channel = "ar" if rest.startswith("ar") else "aw" if rest.startswith("aw") else rest[0]
        return getattr(getattr(buses[bus], channel), rest.removeprefix(channel))


class Board(LiteXModule):
    """Console and exit code of the firmware, as registers and pads of the testbench."""

    def __init__(self, platform):
        self.console = CSRStorage(8)
        self.finish = CSRStorage(8)
        for register in (self.console, self.finish):
            self.comb += [
                platform.request(f"{register.name}_valid").eq(register.re),
                platform.request(f"{register.name}_data").eq(register.storage),
            ]


class AcceleratorSoC(SoCCore):
    """SoC without BIOS whose CPU starts in an initialised ROM.

    The RAM of the matrices is at the address of the cluster's DRAM, beyond the cached region.
    """

    def __init__(self, folder, preset, ram_bytes=64 << 10):
        description = json.loads((folder / f"{preset}.json").read_text())
        platform = GenericPlatform("simulation", PADS, name="soc")
        super().__init__(
            platform,
            clk_freq=int(100e6),
            cpu_type="vexriscv",
            integrated_rom_size=16 << 10,
            integrated_sram_size=8 << 10,
            with_uart=False,
        )
        self.crg = CRG(platform.request("clk"), rst=platform.request("rst"))
        self.board = Board(platform)
        self.cluster = Cluster(description)
        self.bus.add_slave(
            "spica", self.cluster.control, SoCRegion(0xE000_0000, 1 << 16, cached=False)
        )
        self.add_shared_ram(description["memory"]["dram"][0], ram_bytes)

    def add_shared_ram(self, origin, size):
        """Add a RAM as wide as the cluster's masters, which the CPU reaches over its own bus."""
        width = self.cluster.memory[0].data_width
        from_cpu = wishbone.Interface(width, address_width=32)
        self.bus.add_slave("ram", from_cpu, SoCRegion(origin, size, mode="rw", cached=False))
        ports = [from_cpu]
        for master in self.cluster.memory:
            ports.append(wishbone.Interface(width, address_width=32))
            self.submodules += axi.AXI2Wishbone(master, ports[-1])
        self.ram = wishbone.SRAM(size, bus=wishbone.Interface(width, address_width=32))
        self.ram_arbiter = wishbone.Arbiter(ports, self.ram.bus)

    def header(self):
        """Return the addresses that the firmware needs, as C; the SoC must be finalised."""
        csr = self.csr.regions["board"].origin
        return "".join(
            f"#define {name} {address:#010x}u\n"
            for name, address in (
                ("SPICA_SLAVE", self.bus.regions["spica"].origin),
                ("CONSOLE", csr),
                ("FINISH", csr + 4),
            )
        )
