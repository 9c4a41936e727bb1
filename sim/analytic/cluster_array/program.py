"""Cycles of the program ``gemm`` that no field of a config gives, and of the paths to DRAM.

They were measured on `virgo`, between events of the timelines of
``spica run gemm --preset virgo -m M -n N -k K --dram-latency L --dram-bandwidth B
--no-lockstep --trace gemm.json``: all of 16, 32, 64, 128 for M, 16, 32, 64 for N and 16, 32, 64,
128, 256 for K that are named below, L of 20, 100 and 200, B of 11, 16, 32, 64 and 128. Cores of
another shape, or another compiler, take other cycles.
"""

#: From the begin marker to the start of the first load, besides one DRAM latency; instructions are
#: fetched in these cycles (16 x 16 x 16 and 128 x 64 x 64, L of 100 and 200, all B: at most 24
#: cycles away; with L of 20 up to 203 more, as lines that the L2 prefetches fill a slow DRAM).
BEGIN, BEGIN_BYTES = 71, 2800
#: Bytes of instructions fetched during the first load (128 x 64 x 64, B of 11 and 16).
FETCHED_BYTES = 2300
#: From the start of a load to its first line in shared memory, besides one DRAM latency.
READ_ROUND_TRIP = 24
#: From the start of the first load to that of the second.
SECOND_LOAD = 20
#: A slice of the L2 requests the next window of bursts so many cycles before it has answered all of
#: the last; and so many bursts already before that (128 x 64 x 64, 96 x 16 x 64, 64 x 64 x 64).
WINDOW_OVERLAP, WINDOW_EARLY = 8, 12
#: Cycles of the DRAM latency that are hidden from a load that has waited for a context while the
#: masters are in step, and the percentage of the rest that it waits (33 x 200 x 300 with L of 20,
#: 50, 100 and 200; 33 x 200 x 320, 16 x 200 x 320).
STEP_OVERLAP, STEP_EXPOSED = 59, 88
#: From the start of the first load until the commanding warp waits for it: in a product of one
#: step, and in another (all single tiles, 16 x 16 x 128).
FIRST_WAIT_ALONE, FIRST_WAIT = 258, 292
#: From the change of a counter to the warp that it wakes; a wait for what has happened already.
WAKE, NO_WAIT = 3, 6
#: From the end of a wait to the command of the first compute, which is prepared before the wait. A
#: later one waits for a place first: from the end of this wait to that of the wait for its loads,
#: if these are there, and from the end of that one to the command (16 x 16 x 256, 33 x 17 x 65).
FIRST_COMMAND, PLACE, COMMAND = 26, 19, 24
#: From the command of a compute to that of the store, if it is the only step (16 x 16 x 16).
STORE_ALONE = 40
#: From the command of the first compute to the first store, or nearly to the next wait: the choice
#: of the plan. While the loading warp plans, in the first cycles after the first load, both share
#: the divider: this percentage of the remaining time is added (16 x 16 x 128, 16 x 256 x 16,
#: 64 x 256 x 64).
PLAN, LOADER_PLAN, PLAN_SHARED = 400, 424, 60
#: From the start of the first load to the first load of the loading warp (16 x 16 x 128,
#: 33 x 17 x 65, 144 x 208 x 80).
LOADER_BEGIN = 815
#: Cycles of the loading warp for each load, for a step, and for one that begins a tile of C
#: (16 x 16 x 256, 16 x 256 x 16, 144 x 208 x 80).
LOADER_LOAD, LOADER_STEP, LOADER_TURN = 50, 85, 219
#: Cycles of the commanding warp: from the command of a compute to the next wait, or to a store;
#: from a store to the next wait; more if the next tile has another size (16 x 16 x 256,
#: 16 x 256 x 16, 144 x 208 x 80).
STEP, STORE, TURN, RESIZE = 86, 66, 198, 88
#: From the last store to the last wait, and from its end to the end marker (all single tiles).
FENCE, END = 45, 11
#: Writes that a slice of the L2 has in flight, and writes queued before it; cycles besides the DRAM
#: latency until the place of a write is free (128 x 64 x 64, L of 20, 100 and 200).
WRITE_WINDOW, WRITE_QUEUE, WRITE_ROUND_TRIP = 64, 8, 6
#: From the read of the last row to its write response, besides one DRAM latency.
DRAIN_RESPONSE = 22
#: Least cycles from the command of a store to its write response, besides one DRAM latency
#: (1 x 1 x 1, 16 x 16 x 16).
STORE_LEAST = 73
#: From the command of a compute to its first row, besides the rows of the first weights.
PRELOAD = 4
