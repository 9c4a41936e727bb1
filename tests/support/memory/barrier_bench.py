"""Bench of the unit of transaction barriers: queues before it, shared memory behind it."""

from amaranth import *
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect

from spica.hw.emit.component import Component
from spica.hw.isa.memory_map import SHARED_BASE
from spica.hw.isa.transaction_barrier import BARRIER_BYTES, BarrierOperation
from spica.hw.lib.pipeline import delayed
from spica.hw.lib.streams import Queue
from spica.hw.memory.barrier.barrier_unit import BarrierUnit
from spica.hw.memory.barrier.layouts import BarrierUnitConfig, completion_layout, request_layout
from spica.sim.engine.testbench import simulate
from spica.sim.golden.memory.barrier.barrier_unit import BarrierUnitModel

__all__ = ["BarrierBench", "check", "random_rows", "simulated_rows"]

FIELDS = {"valid": 1, "operation": 4, "address": 32, "operand": 32}
#: Operations of units.
OF_UNITS = (BarrierOperation.ARRIVE, BarrierOperation.COMPLETE_TX)
OUTPUTS = ("answer", "completed", "written")


class BarrierBench(Component):
    """The unit with a queue for each source, and shared memory, whose ports are sometimes busy.

    Inputs and outputs of a cycle need not depend on each other, so that any engine can run it.
    """

    def __init__(self, config: BarrierUnitConfig):
        self.config = config
        fields = FIELDS | {"tag": config.tag_width}
        super().__init__({
            **{
                f"{name}_{k}": In(width)
                for k in range(config.sources)
                for name, width in fields.items()
            },
            **{f"ready_{k}": Out(1) for k in range(config.sources)},
            "read_ready": In(1),
            "write_ready": In(1),
            **{f"{name}_valid": Out(1) for name in OUTPUTS},
            "answer_source": Out(8),
            "answer_tag": Out(config.tag_width),
            "answer_result": Out(1),
            "answer_fault": Out(3),
            "completed_place": Out(config.place_width),
            "completed_parity": Out(1),
            "written_address": Out(config.shared.address_width),
            "written_data": Out(64),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.unit = unit = BarrierUnit(config)
        for number in range(config.sources):
            self.queue(m, unit, number)
        self.attach_memory(m, unit)
        m.d.comb += [
            self.busy.eq(unit.busy),
            self.answer_valid.eq(unit.answer.valid),
            *(
                getattr(self, f"answer_{name}").eq(unit.answer.payload[name])
                for name in ("source", "tag", "result", "fault")
            ),
            self.completed_valid.eq(unit.completed.valid),
            self.completed_place.eq(unit.completed.payload.place),
            self.completed_parity.eq(unit.completed.payload.parity),
        ]
        return m

    def queue(self, m, unit, number):
        """Put the inputs of a source into its queue, unless it is full."""
        of_core = number < self.config.requesters
        shape = request_layout(self.config) if of_core else completion_layout()
        m.submodules[f"queue_{number}"] = queue = Queue(shape, 2)
        given = {name: getattr(self, f"{name}_{number}") for name in (*FIELDS, "tag")}
        payload = queue.i.payload
        if of_core:
            fields = {name: given[name] for name in ("operation", "address", "operand", "tag")}
            connect(m, queue.o, unit.requests[number])
        else:
            fields = {
                "address": given["address"],
                "bytes": given["operand"],
                "arrives": given["operation"] == BarrierOperation.ARRIVE,
            }
            connect(m, queue.o, unit.completions[number - self.config.requesters])
        m.d.comb += [
            *(payload[name].eq(value) for name, value in fields.items()),
            queue.i.valid.eq(given["valid"]),
            getattr(self, f"ready_{number}").eq(queue.i.ready),
        ]

    def attach_memory(self, m, unit):
        """Connect shared memory: data of a read come `read_latency` cycles after it."""
        config, write = self.config, unit.write.request
        m.submodules.memory = memory = Memory(shape=64, depth=1 << config.place_width, init=[])
        port, write_port = memory.read_port(domain="comb"), memory.write_port()
        accepted = unit.read.request.valid & self.read_ready
        (word,) = delayed(m, config.shared.read_latency, word=Mux(accepted, port.data, ~port.data))
        m.d.comb += [
            unit.read.request.ready.eq(self.read_ready),
            port.addr.eq(unit.read.request.payload[3:]),
            unit.read.response.payload.eq(word),
            write.ready.eq(self.write_ready),
            self.written_valid.eq(write.valid & self.write_ready),
            self.written_address.eq(write.payload.address),
            self.written_data.eq(write.payload.data),
            write_port.addr.eq(write.payload.address[3:]),
            write_port.data.eq(write.payload.data),
            write_port.en.eq(self.written_valid & write.payload.mask.all()),
        ]


def random_event(rng, config, number, places):
    """Return a random event of a source; phases of a few arrivals and bytes complete often."""
    place = rng.choice(places)
    wrong = [1, 4, config.shared.size, -BARRIER_BYTES, -SHARED_BASE]
    address = SHARED_BASE + BARRIER_BYTES * place
    if rng.random() < 0.05:
        address = (address + rng.choice(wrong)) & 0xFFFF_FFFF
    of_core = number < config.requesters
    common = [
        *[BarrierOperation.ARRIVE] * 4,
        *[BarrierOperation.COMPLETE_TX, BarrierOperation.EXPECT_TX] * 2,
        *[BarrierOperation.INIT, *BarrierOperation],
    ]
    operation = rng.choice(common if of_core else OF_UNITS)
    operand = rng.choice([0, 1, 1, 1, 1, 2, 3])
    if operation == BarrierOperation.ARRIVE and not of_core:
        operand = 1
    return {
        "valid": 1,
        "operation": int(operation),
        "address": address,
        "operand": operand,
        "tag": rng.getrandbits(config.tag_width),
    }


def random_rows(rng, config, cycles, *, load=1.0, ready=1.0, places=(0, 1, 2)):
    """Return the inputs of each cycle: events with this probability, ports that are ready."""
    rows = []
    for cycle in range(cycles + 400):
        row = {"read_ready": 1, "write_ready": 1}
        for name in row:
            row[name] = int(cycle >= cycles or rng.random() < ready)
        for number in range(config.sources):
            event = random_event(rng, config, number, places)
            if cycle >= cycles or rng.random() >= load:
                event["valid"] = 0
            row |= {f"{name}_{number}": value for name, value in event.items()}
        rows.append(row)
    return rows


def simulated_rows(bench, rows):
    """Return the outputs of each cycle on Amaranth's simulator."""
    names = [name for name, member in bench.signature.members.items() if member.flow is Out]
    outputs = []

    async def run(ctx):
        for row in rows:
            for name, value in row.items():
                ctx.set(getattr(bench, name), value)
            outputs.append({name: ctx.get(getattr(bench, name)) for name in names})
            await ctx.tick()

    simulate(bench, run)
    return outputs


def check(config, rows, outputs):
    """Compare answers, ends of phases and memory with the golden model; return the faults."""
    model, memory = BarrierUnitModel(config), {}
    queued = [[] for _ in range(config.sources)]
    faults, completed = [], 0
    for row, output in zip(rows, outputs, strict=True):
        for number, events in enumerate(queued):
            if row[f"valid_{number}"] and output[f"ready_{number}"]:
                events.append([
                    row[f"{name}_{number}"] for name in ("operation", "address", "operand", "tag")
                ])
        if output["written_valid"]:
            memory[output["written_address"] // BARRIER_BYTES] = output["written_data"]
        assert output["answer_valid"] or not output["completed_valid"]
        if not output["answer_valid"]:
            continue
        source = output["answer_source"]
        operation, address, operand, tag = queued[source].pop(0)
        expected = model.execute(BarrierOperation(operation), address, operand)
        assert output["answer_fault"] == expected.fault
        assert output["answer_result"] == expected.result
        assert source >= config.requesters or output["answer_tag"] == tag
        assert output["completed_valid"] == (expected.completed is not None)
        if expected.completed is not None:
            phase = output["completed_place"], output["completed_parity"]
            assert phase == expected.completed
            completed += 1
        faults.append(expected.fault)
    assert not any(queued), "operations without an answer"
    assert not outputs[-1]["busy"]
    written = {place: word for place, word in model.words.items() if place in memory}
    assert memory == written
    assert not any(word for place, word in model.words.items() if place not in memory)
    return faults, completed
