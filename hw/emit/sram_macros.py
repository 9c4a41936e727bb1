"""SRAM macro wrappers: one per memory shape, with a behavioural model of each."""

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.utils import ceil_log2

from ..config.checks import require_choice, require_integer

__all__ = ["ONE_PORT", "PORT_KINDS", "TWO_PORTS", "MacroLimits", "SramShape", "sram_models"]

#: Port kinds: one read port and one write port, or one port for either access per cycle.
TWO_PORTS, ONE_PORT = "1r1w", "1rw"
PORT_KINDS = (TWO_PORTS, ONE_PORT)

HEAD = """\
// Behavioural models of the memories. To use macros, replace this file by wrappers of the same
// names and ports.

// Undefined data: X, or random in a two-state simulator.
`ifdef VERILATOR
/* verilator lint_off WIDTHTRUNC */
`define SPICA_SRAM_UNKNOWN $random
`else
`define SPICA_SRAM_UNKNOWN 32'bx
`endif
"""

TWO_PORT_MODEL = """
// {described}; one port reads, one writes.
module {name}(
  input clk,
  input read_enable,
  input [{address}:0] read_address,
  output reg [{data}:0] read_data,
  input [{mask}:0] write_mask,
  input [{address}:0] write_address,
  input [{data}:0] write_data
);
  reg [{data}:0] words [0:{last}];
  integer n;

  always @(posedge clk) begin
    for (n = 0; n < {pieces}; n = n + 1)
      if (write_mask[n])
        words[write_address][{piece}*n +: {piece}] <= write_data[{piece}*n +: {piece}];
    if (read_enable) begin
      if (|write_mask && read_address == write_address)
        read_data <= {unknown};
      else
        read_data <= words[read_address];
    end
  end
"""

ONE_PORT_MODEL = """
// {described}; one port reads or writes.
module {name}(
  input clk,
  input read_enable,
  input [{mask}:0] write_mask,
  input [{address}:0] address,
  input [{data}:0] write_data,
  output reg [{data}:0] read_data
);
  reg [{data}:0] words [0:{last}];
  integer n;

  always @(posedge clk) begin
    if (read_enable && |write_mask) begin
      words[address] <= {unknown};
      read_data <= {unknown};
    end else if (read_enable)
      read_data <= words[address];
    else
      for (n = 0; n < {pieces}; n = n + 1)
        if (write_mask[n])
          words[address][{piece}*n +: {piece}] <= write_data[{piece}*n +: {piece}];
  end
"""

#: Verilator needs random contents; other simulators start with X.
POWER_UP = """
`ifdef VERILATOR
  initial begin
    for (n = 0; n <= {last}; n = n + 1)
      words[n] = {unknown};
    read_data = {unknown};
  end
`endif
endmodule
"""


@dataclass(frozen=True, kw_only=True)
class SramShape:
    """Shape of a memory; memories of the same shape share one wrapper.

    Parameters
    ----------
    depth, width : int
        Number of words, and bits of a word.
    granularity : int
        Bits written by one bit of the mask; `width` if words are written whole.
    ports : str
        One of `PORT_KINDS`.

    """

    depth: int
    width: int
    granularity: int
    ports: str = TWO_PORTS

    def __post_init__(self):
        if self.depth < 2:
            raise ValueError(f"depth must be at least 2, not {self.depth!r}")
        if self.granularity < 1 or self.width % self.granularity:
            raise ValueError(
                f"granularity must divide the width {self.width}, not {self.granularity!r}"
            )
        require_choice("ports", self.ports, PORT_KINDS)

    @property
    def name(self) -> str:
        """Name of the wrapper's module."""
        enables = "" if self.granularity == self.width else f"_be{self.granularity}"
        return f"spica_sram_{self.ports}_{self.depth}x{self.width}{enables}"

    @property
    def bits(self) -> int:
        """Bits of all words."""
        return self.depth * self.width

    @property
    def address_width(self) -> int:
        """Bits of an address."""
        return ceil_log2(self.depth)

    @property
    def mask_width(self) -> int:
        """Bits of the mask of a write."""
        return self.width // self.granularity

    @property
    def model(self) -> str:
        """Behavioural Verilog of the wrapper."""
        parts = f", written by {self.granularity} bits" if self.mask_width > 1 else ""
        text = TWO_PORT_MODEL if self.ports == TWO_PORTS else ONE_PORT_MODEL
        return (text + POWER_UP).format(
            name=self.name,
            described=f"{self.depth} words of {self.width} bits{parts}",
            address=self.address_width - 1,
            data=self.width - 1,
            mask=self.mask_width - 1,
            last=self.depth - 1,
            pieces=self.mask_width,
            piece=self.granularity,
            unknown=f"{{{-(-self.width // 32)}{{`SPICA_SRAM_UNKNOWN}}}}",
        )


@dataclass(frozen=True, kw_only=True)
class MacroLimits:
    """Size limits above which memories become macros; smaller ones become flip-flops.

    With the defaults nearly every memory takes the smaller area (docs/integration.md).

    Parameters
    ----------
    bits, words : int
        Minimum of each; a memory must reach both. 0 makes all memories macros.

    """

    bits: int = 1024
    words: int = 32

    def __post_init__(self):
        require_integer("bits", self.bits, 0, 1 << 31)
        require_integer("words", self.words, 0, 1 << 31)

    def admit(self, shape: SramShape) -> bool:
        """Return whether memories of that shape become macros."""
        return shape.bits >= self.bits and shape.depth >= self.words


def sram_models(shapes: Iterable[SramShape]) -> str:
    """Return the behavioural Verilog of the wrappers of all shapes."""
    return HEAD + "".join(shape.model for shape in shapes)
