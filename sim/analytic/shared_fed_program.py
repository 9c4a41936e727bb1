"""Cycles of the program ``gemm`` on tensor units fed by shared memory that no config gives.

They hold for `hopper`, a DRAM latency of 100 cycles, and C in FP16. Cycles of commands, of meetings
and of fetches are between events of the pipeline logs of
``spica run gemm --preset hopper --size MxNxK --no-lockstep --trace gemm.log``: sizes are named
below. `LOOP`, `PLACE`, `EDGE_STORE` and `EDGE_FETCH` have no event in a log; they were chosen so
that the cycles of six products agree. `RUN`, `STORE` and `END` are estimates from one product.
"""

from dataclasses import dataclass

__all__ = ["EDGE", "WITHIN", "CommandCycles"]


@dataclass(frozen=True, kw_only=True)
class CommandCycles:
    """Cycles of the warp that commands the loads of steps.

    Parameters
    ----------
    begin : int
        Begin marker to the first load.
    first : int
        Last command to the first meeting.
    lead : int
        Meeting to the commands of a step.
    before, between : int
        Before the loads of A, and of B.
    load : int
        A load.
    led : int
        Last command to the next meeting.

    """

    begin: int
    first: int
    lead: int
    before: int
    between: int
    load: int
    led: int


#: Steps within the matrices, with descriptors in regular distances (128 x 64 x 256).
WITHIN = CommandCycles(begin=1070, first=342, lead=347, before=110, between=0, load=24, led=57)
#: Steps at the edges of the matrices, part by part (64 x 64 x 256).
EDGE = CommandCycles(begin=1005, first=597, lead=188, before=349, between=131, load=106, led=463)

#: From the end of the first loads to the meeting (128 x 64 x 32).
LOADED = 47
#: From the first meeting to the first product, and from later ones (128 x 64 x 256).
FIRST_PRODUCT, NEXT_PRODUCT = 230, 208
#: From the start of a product in a step to the arrival of its warp at the meeting.
ARRIVE = 180
#: From the end of a product to the next one of the same warp, besides the product.
CHAIN = 81
#: Between two tiles of C: cycles without products of a core with all warps (256 x 256 x 256).
CHANGE = 200
#: Store of a block of C by its warp: whole rows, and element by element (64 x 64 x 512,
#: 64 x 512 x 64, 192 x 192 x 192, 33 x 17 x 65, 100 x 60 x 90 and 200 x 200 x 200 for the chosen
#: constants).
STORE, EDGE_STORE = 300, 480
#: Other instructions of the leading warp: in a step without a meeting, and between two tiles of C.
LOOP, PLACE = 170, 650
#: After the commands of a tile of C, or of the last slot.
RUN = 250
#: Fetch of the instructions of the first store of each kind.
FETCH, EDGE_FETCH = 541, 2000
#: From the last product to the end marker, besides the store; from the last meeting at least.
END, LAST_MEETING = 190, 1515
