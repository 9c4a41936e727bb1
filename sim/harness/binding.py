"""Port layout of a top module: two arrays of 32-bit words, shared by Python, C++ and engines."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...hw.emit.emission import Emission, EmittedPort
from ...hw.emit.module_ports import domain_ports

__all__ = ["DRIVE", "TOP", "Layout", "PackedPort", "binding_header"]

#: The module, and the input at whose rising edge it takes over all others but clocks.
TOP, DRIVE = "driven_top", "drive"


@dataclass(frozen=True)
class PackedPort:
    """Position of a port in its array: width in bits and first word."""

    name: str
    width: int
    word: int

    @property
    def words(self) -> int:
        """Words of the port."""
        return -(-self.width // 32)


def pack(ports: Iterable[EmittedPort]) -> tuple[tuple[PackedPort, ...], int]:
    """Place ports one after the other; return them and the total number of words."""
    packed = []
    word = 0
    for port in ports:
        packed.append(PackedPort(port.name, port.width, word))
        word += packed[-1].words
    return tuple(packed), word


class Layout:
    """Layout of a top module's inputs and outputs, without clocks and resets.

    Attributes
    ----------
    inputs, outputs : tuple of PackedPort
    input_words, output_words : int
    domains : tuple of str

    """

    def __init__(self, ports: Iterable[EmittedPort], domains: tuple[str, ...]):
        clocks = {name for domain in domains for name in domain_ports(domain)}
        data = [port for port in ports if port.name not in clocks]
        self.domains = domains
        self.inputs, self.input_words = pack(p for p in data if p.direction == "input")
        self.outputs, self.output_words = pack(p for p in data if p.direction == "output")

    @classmethod
    def of(cls, emission: Emission) -> "Layout":
        """Return the layout of an emission."""
        return cls(emission.ports, emission.domains)

    def table(self) -> str:
        """Return the text that the harness reads: direction, name, width, first word per line."""
        lines = [f"i {port.name} {port.width} {port.word}" for port in self.inputs]
        lines += [f"o {port.name} {port.width} {port.word}" for port in self.outputs]
        return "\n".join(lines)


def binding_header(emission: Emission) -> str:
    """Return the C++ header that copies between the two arrays and the Verilated class."""
    layout = Layout.of(emission)
    return "\n".join([
        "// Generated: copies between packed ports and the model's members.",
        "#pragma once",
        "#include <bitset>",
        "#include <cstdint>",
        "#include <cstring>",
        '#include "Vtop.h"',
        "namespace binding {",
        f"constexpr int kDomains = {len(layout.domains)};",
        "using Domains = std::bitset<kDomains>;",
        f"constexpr uint32_t kInputWords = {layout.input_words};",
        f"constexpr uint32_t kOutputWords = {layout.output_words};",
        "inline void drive(Vtop& top, const uint32_t* words) {",
        *(f"    {copy_in(port)}" for port in layout.inputs),
        "}",
        "inline void sample(const Vtop& top, uint32_t* words) {",
        *(f"    {copy_out(port)}" for port in layout.outputs),
        "}",
        *domain_functions(layout),
        "}  // namespace binding",
        "",
    ])


def domain_functions(layout: Layout) -> list[str]:
    """Return the C++ functions that drive clocks and resets and sample the domains' `busy`."""
    outputs = {port.name for port in layout.outputs}
    busy = [
        f"top.{domain}_busy" if f"{domain}_busy" in outputs else "true" for domain in layout.domains
    ]
    return [
        f"inline uint8_t& drive_clock(Vtop& top) {{ return top.{DRIVE}; }}",
        "inline void clocks(Vtop& top, const Domains& domains, bool drive) {",
        "    drive_clock(top) = drive;",
        *(
            f"    top.{domain_ports(domain)[0]} = domains[{bit}];"
            for bit, domain in enumerate(layout.domains)
        ),
        "}",
        "inline uint8_t* clock(Vtop& top, int domain) {",
        "    switch (domain) {",
        *(
            f"        case {bit}: return &top.{domain_ports(domain)[0]};"
            for bit, domain in enumerate(layout.domains)
        ),
        "        default: return nullptr;",
        "    }",
        "}",
        "inline void resets(Vtop& top, uint8_t value) {",
        *(f"    top.{domain_ports(domain)[1]} = value;" for domain in layout.domains),
        "}",
        "inline Domains busy(const Vtop& top) {",
        "    Domains domains;",
        *(f"    domains[{bit}] = {value};" for bit, value in enumerate(busy)),
        "    return domains;",
        "}",
    ]


def copy_in(port: PackedPort) -> str:
    """Return the C++ statement that drives an input."""
    if port.width <= 32:
        return f"top.{port.name} = words[{port.word}];"
    return f"std::memcpy(&top.{port.name}, words + {port.word}, {4 * port.words});"


def copy_out(port: PackedPort) -> str:
    """Return the C++ statement that samples an output."""
    if port.width <= 32:
        return f"words[{port.word}] = top.{port.name};"
    return f"std::memcpy(words + {port.word}, &top.{port.name}, {4 * port.words});"
