"""FPGA boards: chip, and pins of clock, lights and serial line."""

import difflib
import importlib
import pkgutil
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ...base.errors import UserError

__all__ = ["Board", "Pin", "board_names", "find_board"]

#: Supported parts: family, nextpnr's option for the die, number of LUTs.
DIES = {
    "LFE5U-12F": ("ecp5", "--12k", 12_000),
    "LFE5U-25F": ("ecp5", "--25k", 24_288),
    "LFE5U-45F": ("ecp5", "--45k", 43_848),
    "LFE5U-85F": ("ecp5", "--85k", 83_640),
    "LFE5UM-25F": ("ecp5", "--um-25k", 24_288),
    "LFE5UM-45F": ("ecp5", "--um-45k", 43_848),
    "LFE5UM-85F": ("ecp5", "--um-85k", 83_640),
    "LFE5UM5G-25F": ("ecp5", "--um5g-25k", 24_288),
    "LFE5UM5G-45F": ("ecp5", "--um5g-45k", 43_848),
    "LFE5UM5G-85F": ("ecp5", "--um5g-85k", 83_640),
    "iCE40LP1K": ("ice40", "--lp1k", 1_280),
    "iCE40HX1K": ("ice40", "--hx1k", 1_280),
    "iCE40LP8K": ("ice40", "--lp8k", 7_680),
    "iCE40HX8K": ("ice40", "--hx8k", 7_680),
    "iCE40HX4K": ("ice40", "--hx8k", 7_680),
    "iCE40UP5K": ("ice40", "--up5k", 5_280),
}


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One pin of the chip: site, inversion on the board, electrical attributes."""

    site: str
    inverted: bool
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Board:
    """Board description for the FPGA flow.

    Parameters
    ----------
    name : str
    device, package, speed : str
        Names of the chip's part, package and speed grade by its maker; iCE40s have no speed.
    clock : Pin
    frequency : float
        Clock frequency in hertz.
    lights : tuple of Pin
        Up to three lights.
    serial : Pin or None
        Output of the serial line.

    """

    name: str
    device: str
    package: str
    speed: str
    clock: Pin
    frequency: float
    lights: tuple[Pin, ...]
    serial: Pin | None

    @property
    def family(self) -> str:
        """``ecp5`` or ``ice40``."""
        return DIES[self.device][0]

    @property
    def die(self) -> str:
        """Nextpnr's option for the chip."""
        return DIES[self.device][1]

    @property
    def luts(self) -> int:
        """Number of four-input look-up tables of the chip."""
        return DIES[self.device][2]


def platforms() -> dict[str, type]:
    """Return all board classes by module name; modules with several boards add the device size."""
    try:
        import amaranth_boards
    except ImportError:
        raise UserError(
            "spica fpga needs the packages of the extra `fpga`: pip install 'spica[fpga]'"
        ) from None
    platform_classes = {}
    for module in pkgutil.iter_modules(amaranth_boards.__path__):
        if module.ispkg or module.name == "test":
            continue
        boards = importlib.import_module(f"amaranth_boards.{module.name}")
        kinds = [
            kind
            for name, kind in vars(boards).items()
            if name.endswith("Platform")
            and not name.startswith("_")
            and kind.__module__ == boards.__name__
            and getattr(kind, "device", None) in DIES
        ]
        for kind in kinds:
            name = module.name
            if len(kinds) > 1:
                name = f"{name}_{kind.device.rpartition('-')[2].lower()}"
            platform_classes[name] = kind
    return platform_classes


def board_names() -> list[str]:
    """Return the names of all supported boards."""
    return sorted(name for name, platform in platforms().items() if has_clock(platform()))


def has_clock(platform) -> bool:
    """Return whether a board has a single-pin clock, and lights or a serial line."""
    names = {name for name, _ in platform.resources}
    if platform.default_clk not in names or not names & {"led", "rgb_led", "uart"}:
        return False
    return hasattr(platform.lookup(platform.default_clk).ios[0], "names")


def find_board(name: str) -> Board:
    """Return the board of this name; raise `UserError` if it is unknown."""
    names = board_names()
    if name not in names:
        close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
        raise UserError(f"unknown board {name!r}; {hint}")
    platform = platforms()[name]()
    clock = platform.lookup(platform.default_clk)
    lights = [
        pin
        for resource, number in sorted(platform.resources)
        if resource == "led" or resource == "rgb_led"
        for pin in pins_of(platform, platform.lookup(resource, number))
    ]
    serial = None
    if ("uart", 0) in platform.resources:
        (serial,) = pins_of(platform, platform.lookup("uart"), only="tx")
    sites = [pin.site for pin in (*lights, *([serial] if serial else []))]
    lights = [light for light in lights if sites.count(light.site) == 1]
    return Board(
        name=name,
        device=platform.device,
        package=platform.package,
        speed=getattr(platform, "speed", ""),
        clock=pins_of(platform, clock)[0],
        frequency=clock.clock.frequency,
        lights=tuple(lights[:3]),
        serial=serial,
    )


def pins_of(platform, resource, only: str | None = None) -> list[Pin]:
    """Return the pins of a board's resource, or of its subsignal `only`."""
    from amaranth.build import Subsignal

    pins = []
    for part in resource.ios:
        if isinstance(part, Subsignal):
            named: Any = part
            if only in (None, named.name):
                inside = SimpleNamespace(ios=named.ios, attrs={**resource.attrs, **named.attrs})
                pins += pins_of(platform, inside)
        elif only is None:
            # If jumpers set a voltage, the attribute is a function of the board.
            values = {
                name: value(platform) if callable(value) else value
                for name, value in resource.attrs.items()
            }
            attributes = tuple(
                (name, str(value)) for name, value in values.items() if value is not None
            )
            pins += [
                Pin(site=site, inverted=part.invert, attributes=attributes) for site in part.names
            ]
    return pins
