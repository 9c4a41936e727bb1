"""Legal, distinct names of Verilog."""

import re
from collections.abc import Iterable

__all__ = ["KEYWORDS", "Scope", "escaped", "identifier", "plain"]

WORDS = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup
coverpoint cross deassign default defparam design disable dist do edge else end endcase
endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface
endmodule endpackage endprimitive endprogram endproperty endspecify endsequence endtable
endtask enum event eventually expect export extends extern final first_match for force
foreach forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone
ignore_bins illegal_bins implements implies import incdir include initial inout input inside
instance int integer interconnect interface intersect join join_any join_none large let
liblist library local localparam logic longint macromodule matches medium modport module nand
negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package
packed parameter pmos posedge primitive priority program property protected pull0 pull1
pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence
rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran
rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence
shortint shortreal showcancelled signed small soft solve specify specparam static string
strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged
task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand
trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor
xnor xor
"""
#: Reserved words of Verilog-2005 and SystemVerilog-2017, so that a text is legal as either.
KEYWORDS = frozenset(WORDS.split())


def identifier(*parts: str | int) -> str:
    """Return a legal name of parts, which are joined by ``__``, and indices by ``_``."""
    text = ""
    for part in parts:
        text += (f"_{part}" if isinstance(part, int) else f"__{part}") if text else str(part)
    text = re.sub(r"\W+", "_", text.partition("$")[0] if text[0] != "$" else text[1:]).strip("_")
    if not text or text[0].isdigit():
        text = f"n{text}"
    return f"{text}_" if text in KEYWORDS else text


def escaped(name: str) -> str:
    """Return a name that is given from outside, escaped if it is a keyword."""
    return f"\\{name} " if name in KEYWORDS else name


def plain(name: str) -> str:
    """Return a name as it was before `escaped`."""
    return name.strip("\\ ")


class Scope:
    """Names of one module."""

    def __init__(self, used: Iterable[str] = ()):
        self.used = set(used)
        self.counts: dict[str, int] = {}

    def add(self, name: str) -> str:
        """Return `name`, with a number if it is used."""
        if name in self.used:
            number = self.counts.get(name, 1)
            while f"{name}_{number}" in self.used:
                number += 1
            self.counts[name] = number + 1
            name = f"{name}_{number}"
        self.used.add(name)
        return name
