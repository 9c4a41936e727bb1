"""Memories left to macros: a wrapper for each shape, and what it does until it has a macro."""

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.utils import ceil_log2

from .config.checks import require_choice, require_integer

__all__ = ["ONE_PORT", "PORT_KINDS", "TWO_PORTS", "MacroLimits", "SramShape", "sram_models"]

#: A port that reads and one that writes, each in every cycle; or one port that does either.
TWO_PORTS, ONE_PORT = "1r1w", "1rw"
PORT_KINDS = (TWO_PORTS, ONE_PORT)

HEAD = """\
// Memories of the design, as they behave. Put wrappers of the same names and ports around macros
// in place of this file.

// What nobody may rely on: unknown, or random where a simulator knows only 0 and 1.
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

#: Others begin with everything unknown by themselves.
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
    """What a memory is like; all of one shape have one wrapper.

    Parameters
    ----------
    depth, width : int
        Words, and bits of a word.
    granularity : int
        Bits written by one bit of the mask; `width` where words are written whole.
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
        """Verilog of the wrapper as it behaves."""
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
    """From what size on memories are left to macros; smaller ones become flip-flops.

    With what is given here nearly each takes the smaller area (docs/integration.md).

    Parameters
    ----------
    bits, words : int
        The least of both; 0 leaves all to macros.

    """

    bits: int = 1024
    words: int = 32

    def __post_init__(self):
        require_integer("bits", self.bits, 0, 1 << 31)
        require_integer("words", self.words, 0, 1 << 31)

    def admit(self, shape: SramShape) -> bool:
        """Return whether memories of that shape are left to macros."""
        return shape.bits >= self.bits and shape.depth >= self.words


def sram_models(shapes: Iterable[SramShape]) -> str:
    """Return the Verilog of the wrappers of all shapes, as they behave."""
    return HEAD + "".join(shape.model for shape in shapes)
