"""Golden model of the decoder: decodes each word by its fields, as the manual lays them out."""

from collections.abc import Callable

from .....hw.config import PipelineConfig
from .....hw.core.front_end.decode_table import RULES, Rule
from .....hw.core.layouts import acquire_field, decoded_layout, group_fields, product_field
from .....hw.isa.encoding import IMMEDIATES, RegisterClass
from .....hw.isa.instructions import ORDERING_BIT, find
from .....hw.isa.operations import (
    ControlOperation,
    DivideOperation,
    FloatOperation,
    IntegerOperation,
    MemoryOperation,
    Port,
    RegisterGroups,
    Unit,
)
from .....hw.lib.interfaces.execution_unit import REGISTER_WIDTH

__all__ = ["Decoded", "decode", "is_same", "packed"]

#: Fields of a decoded instruction by the names of `decoded_layout`; None for don't-care values,
#: also in each of ``sources``.
Decoded = dict

FLOAT = 32  # number of f0 among all registers
EXIT_CODE = 3
RETURN = 0x302  # bits 31:20 of mret

#: Opcodes that no manual defines: custom-0 to custom-3.
CUSTOM = (0x0B, 0x2B, 0x5B, 0x7B)
#: That of Vortex's instructions.
VORTEX = 0x0B
ALU = ("ADD", "SLL", "SLT", "SLTU", "XOR", "SRL", "OR", "AND")
PRODUCTS = ("MUL", "MULH", "MULHSU", "MULHU")
QUOTIENTS = ("DIV", "DIVU", "REM", "REMU")
BRANCHES = ("BEQ", "BNE", None, None, "BLT", "BGE", "BLTU", "BGEU")
FUSED = {0x43: "FMADD", 0x47: "FMSUB", 0x4B: "FNMSUB", 0x4F: "FNMADD"}
EXCHANGES = ("VOTE_ALL", "VOTE_ANY", "VOTE_UNI", "VOTE_BALLOT")
EXCHANGES += ("SHFL_UP", "SHFL_DOWN", "SHFL_BFLY", "SHFL_IDX")
#: The field funct7 of shuffles of float registers.
FLOAT_SHUFFLES = 0x44
#: By funct7: names by funct3, or one name if funct3 is the rounding mode.
FLOATS: dict[int, str | tuple[str, ...]] = {
    0x00: "FADD",
    0x04: "FSUB",
    0x08: "FMUL",
    0x10: ("SGNJ", "SGNJN", "SGNJX"),
    0x14: ("MIN", "MAX"),
    0x50: ("LE", "LT", "EQ"),
    0x70: ("MOVE", "CLASS"),
    0x78: ("MOVE",),
}
#: By funct7: operations with an integer rd, and with an integer rs1.
INTEGER_RESULTS, INTEGER_SOURCES = (0x50, 0x60, 0x70), (0x68, 0x78)
#: By funct7: conversions of 16-bit formats by the field of rs2.
HALVES = {0x20: {2: "FROM_FP16", 6: "FROM_BF16"}, 0x22: {0: "TO_FP16", 8: "TO_BF16"}}


def decode(
    word: int, pc: int, *, failed: bool = False, config: PipelineConfig | None = None
) -> Decoded:
    """Return the decoded `word` in a core; `failed` means that its fetch failed."""
    config = config or PipelineConfig()
    rule = _rule_of(word, config)
    reserved = rule is not None and rule.rounds and word >> 12 & 7 in (5, 6)
    groups = None if rule is None else rule.groups(config.threads)
    is_refused = failed or reserved or (groups is not None and _misses_groups(word, groups))
    if rule is None or is_refused:
        decoded = _fields(
            word,
            pc,
            (Port.CONTROL, ControlOperation.ILLEGAL),
            a_is_pc=int(failed),
            immediate=word,
            serialises=1,
        )
    elif word & 0x7F in CUSTOM and not (
        word & 0x7F == VORTEX and rule.instruction.unit in (Unit.WARP, Unit.EXCHANGE)
    ):
        decoded = _by_table(word, pc, rule)
        if groups:
            decoded = _with_groups(word, decoded, groups)
    else:
        decoded = _pause(word, pc) if rule.instruction.name == "pause" else _by_opcode(word, pc)
    waits = rule is not None and rule.instruction.name == "hgmma_wait" and not is_refused
    is_atomic = rule is not None and rule.instruction.unit is Unit.ATOMIC and not is_refused
    orders = dict.fromkeys(acquire_field(config), is_atomic and word >> ORDERING_BIT + 1 & 1)
    products = dict.fromkeys(product_field(config), int(waits))
    return dict.fromkeys(group_fields(config), 0) | decoded | products | orders


def _rule_of(word: int, config: PipelineConfig) -> Rule | None:
    """Return the rule of a word in a core, None if the core has no such instruction."""
    for rule in RULES.values():
        is_tensor = rule.instruction.unit is Unit.TENSOR and rule.instruction.matches(word)
        if is_tensor and config.executes(rule.port, rule.operation):
            return rule
    instruction = find(word)
    if instruction is None or instruction.unit is Unit.TENSOR:
        return None
    is_fence = instruction.name == "pause" and not config.atomics
    rule = RULES["fence" if is_fence else instruction.name]
    return rule if config.executes(rule.port, rule.operation) else None


def _by_opcode(word: int, pc: int) -> Decoded:
    """Decode an instruction of a manual."""
    handlers: dict[int, Callable[[int, int], Decoded]] = {
        0x03: _memory,
        0x07: _memory,
        0x23: _memory,
        0x27: _memory,
        0x2F: _atomic,
        0x33: _integer,
        0x13: _integer,
        0x37: _upper,
        0x17: _upper,
        0x63: _branch,
        0x67: _branch,
        0x6F: _branch,
        0x53: _float,
        0x0F: _system,
        0x73: _system,
        0x0B: _exchange if word >> 25 else _warp,
    }
    return handlers.get(word & 0x7F, _fused)(word, pc)


def _fields(word: int, pc: int, what: tuple, *, sources=(), rd: int = 0, **others) -> Decoded:
    """Return a decoded instruction; `sources` are register numbers, None if not read."""
    port, operation = what
    sources = [number or None for number in (*sources, None, None, None)[:3]]
    return {
        "pc": pc,
        "port": int(port),
        "operation": int(operation),
        "rd": rd or None,
        "writes": int(rd != 0),
        "sources": sources,
        "reads": sum(1 << k for k, number in enumerate(sources) if number),
        "immediate": None,
        "rounding": 0,
        "a_is_pc": 0,
        "b_is_immediate": 0,
        "stalls_warp": int(port == Port.CONTROL),
        "serialises": 0,
    } | others


def _registers(word: int) -> tuple[int, int, int, int]:
    return word >> 7 & 31, word >> 15 & 31, word >> 20 & 31, word >> 27 & 31


def _immediate(layout: str, word: int) -> int:
    return IMMEDIATES[layout].decode(word) & 0xFFFF_FFFF


def _integer(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, _ = _registers(word)
    funct3, funct7 = word >> 12 & 7, word >> 25
    if word & 0x20 == 0:
        name = "SRA" if funct3 == 5 and funct7 else ALU[funct3]
        what = (Port.INT, IntegerOperation[name])
        immediate = _immediate("i", word)
        return _fields(word, pc, what, rd=rd, sources=(rs1,), immediate=immediate, b_is_immediate=1)
    if funct7 == 1:
        multiplies = funct3 < 4
        operations = PRODUCTS + QUOTIENTS
        what = (
            (Port.INT, IntegerOperation[operations[funct3]])
            if multiplies
            else (Port.DIVIDE, DivideOperation[operations[funct3]])
        )
        return _fields(word, pc, what, rd=rd, sources=(rs1, rs2))
    name = {0: "SUB", 5: "SRA"}[funct3] if funct7 else ALU[funct3]
    return _fields(word, pc, (Port.INT, IntegerOperation[name]), rd=rd, sources=(rs1, rs2))


def _upper(word: int, pc: int) -> Decoded:
    return _fields(
        word,
        pc,
        (Port.INT, IntegerOperation.ADD),
        rd=word >> 7 & 31,
        immediate=word & 0xFFFF_F000,
        a_is_pc=int(word & 0x7F == 0x17),
        b_is_immediate=1,
    )


def _branch(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, _ = _registers(word)
    if word & 0x7F == 0x6F:
        fields = {"rd": rd, "immediate": _immediate("j", word)}
        name = "JAL"
    elif word & 0x7F == 0x67:
        fields = {"rd": rd, "sources": (rs1,), "immediate": _immediate("i", word)}
        name = "JALR"
    else:
        fields = {"sources": (rs1, rs2), "immediate": _immediate("b", word)}
        name = BRANCHES[word >> 12 & 7] or ""
    return _fields(word, pc, (Port.INT, IntegerOperation[name]), stalls_warp=1, **fields)


def _memory(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, _ = _registers(word)
    is_float, is_store = word >> 2 & 1, word >> 5 & 1
    what = (Port.MEMORY, MemoryOperation((word >> 12 & 7) | is_store << 3))
    if is_store:
        sources = (rs1, rs2 + FLOAT * is_float)
        return _fields(word, pc, what, sources=sources, immediate=_immediate("s", word))
    rd += FLOAT * is_float
    return _fields(word, pc, what, rd=rd, sources=(rs1,), immediate=_immediate("i", word))


def _atomic(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, _ = _registers(word)
    funct5 = word >> 27
    what = (Port.MEMORY, MemoryOperation[f"ATOMIC_{'BHW'[word >> 12 & 7]}"])
    sources = {2: (rs1,), 6: (rs1,), 5: (rs1, rs2, rd)}.get(funct5, (rs1, rs2))
    immediate, serialises = _immediate("i", word), word >> ORDERING_BIT & 1
    return _fields(
        word, pc, what, rd=rd, sources=sources, immediate=immediate, serialises=serialises
    )


def _pause(word: int, pc: int) -> Decoded:
    return _fields(word, pc, (Port.CONTROL, ControlOperation.PAUSE))


def _fused(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, rs3 = (number + FLOAT for number in _registers(word))
    what = (Port.FP32, FloatOperation[FUSED[word & 0x7F]])
    return _fields(word, pc, what, rd=rd, sources=(rs1, rs2, rs3), rounding=word >> 12 & 7)


def _float(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, _ = _registers(word)
    funct3, funct7 = word >> 12 & 7, word >> 25
    rd += 0 if funct7 in INTEGER_RESULTS else FLOAT
    rs1 += 0 if funct7 in INTEGER_SOURCES else FLOAT
    has_rs2 = funct7 not in (*HALVES, 0x2C, 0x60, 0x68, 0x70, 0x78)
    sources = (rs1, rs2 + FLOAT) if has_rs2 else (rs1,)
    rounding = funct3
    if funct7 in (0x0C, 0x2C):
        is_root = funct7 == 0x2C
        what = (Port.DIVIDE, DivideOperation.FSQRT if is_root else DivideOperation.FDIV)
    elif funct7 in (0x60, 0x68):
        direction = "TO" if funct7 == 0x60 else "FROM"
        signedness = "UNSIGNED" if rs2 else "SIGNED"
        what = (Port.FP32, FloatOperation[f"{direction}_{signedness}"])
    elif funct7 in HALVES:
        what = (Port.FP32, FloatOperation[HALVES[funct7][word >> 20 & 31]])
    else:
        names = FLOATS[funct7]
        if isinstance(names, tuple):
            names, rounding = names[funct3], 0
        what = (Port.FP32, FloatOperation[names])
    return _fields(word, pc, what, rd=rd, sources=sources, rounding=rounding)


def _system(word: int, pc: int) -> Decoded:
    funct3 = word >> 12 & 7
    if word & 0x7F == 0x0F:
        what = ControlOperation.FENCE_I if funct3 else ControlOperation.FENCE
        return _fields(word, pc, (Port.CONTROL, what), serialises=1)
    if not funct3 and word >> 20 == RETURN:
        return _fields(word, pc, (Port.CONTROL, ControlOperation.MRET), immediate=RETURN)
    if not funct3:
        what = (Port.CONTROL, ControlOperation.END)
        return _fields(word, pc, what, sources=(None, None, EXIT_CODE), serialises=1)
    names = ("CSRRW", "CSRRS", "CSRRC")
    is_immediate = funct3 >> 2
    rd, rs1, _, _ = _registers(word)
    return _fields(
        word,
        pc,
        (Port.CONTROL, ControlOperation[names[(funct3 & 3) - 1]]),
        rd=rd,
        sources=(None if is_immediate else rs1,),
        immediate=word >> 20 | rs1 << 12,
        b_is_immediate=is_immediate,
        serialises=1,
    )


def _by_table(word: int, pc: int, rule: Rule) -> Decoded:
    """Decode an instruction that no manual defines: from the tables of instructions and ports."""
    files = rule.instruction.registers
    numbers = dict(zip(("rd", "rs1", "rs2", "rs3"), _registers(word), strict=True))
    registers = {
        name: number + FLOAT * (files[name] is RegisterClass.FLOAT)
        for name, number in numbers.items()
        if name in files
    }
    return _fields(
        word,
        pc,
        (rule.port, rule.operation),
        rd=registers.get("rd", 0),
        sources=[registers.get(name) for name in ("rs1", "rs2", "rs3")],
        immediate=_immediate("i", word) if rule.operation == MemoryOperation.BARRIER else None,
        rounding=(word >> 12 & 7) * rule.rounds,
        serialises=int(
            rule.port == Port.CONTROL and rule.operation != ControlOperation.BARRIER_WAIT
        ),
    )


def _misses_groups(word: int, groups: RegisterGroups) -> bool:
    """Return True if a group begins at no multiple of its size, or does not exist."""
    numbers = _registers(word)
    return any(
        numbers[field] % groups.size
        if group.first is None
        else group.is_selected and group.first + groups.size * numbers[0] >= 2 * FLOAT
        for field, group in groups.by_field.items()
    )


def _with_groups(word: int, decoded: Decoded, groups: RegisterGroups) -> Decoded:
    """Return the decoded instruction with its register groups."""
    registers = [decoded["rd"], *decoded["sources"]]
    for field, group in groups.by_field.items():
        if group.first is not None:
            selected = (word >> 7 & 31) * group.is_selected
            registers[field] = group.first + groups.size * selected
    rd, *sources = registers
    return decoded | {
        "rd": rd,
        "writes": int(rd is not None),
        "sources": sources,
        "reads": sum(1 << k for k, number in enumerate(sources) if number is not None),
        "grouped": sum(1 << field for field in groups.by_field),
        "last": groups.size - 1,
    }


def _warp(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, _ = _registers(word)
    what = ControlOperation(word >> 12 & 7)
    sources = {
        "TMC": (rs1, None, EXIT_CODE),
        "SPLIT": (rs1,),
        "JOIN": (rs1,),
        "PRED": (rs1, rs2, EXIT_CODE),
    }
    return _fields(
        word,
        pc,
        (Port.CONTROL, what),
        rd=rd if what == ControlOperation.SPLIT else 0,
        sources=sources.get(what.name, (rs1, rs2)),
        serialises=int(what.name in ("TMC", "WSPAWN", "BAR")),
    )


def _exchange(word: int, pc: int) -> Decoded:
    rd, rs1, rs2, _ = _registers(word)
    funct3 = word >> 12 & 7
    what = (Port.INT, IntegerOperation[EXCHANGES[funct3]])
    is_float = word >> 25 == FLOAT_SHUFFLES
    rd, rs1 = (number + FLOAT * is_float for number in (rd, rs1))
    sources = (rs1, rs2) if funct3 >= 4 else (rs1,)
    return _fields(word, pc, what, rd=rd, sources=sources)


def packed(expected: Decoded, config: PipelineConfig | None = None) -> tuple[int, int]:
    """Return the relevant bits of `decoded_layout`, as a mask and as values."""
    layout = decoded_layout(config or PipelineConfig())
    fields = {name: (layout[name].offset, layout[name].width) for name in expected}
    offset = layout["sources"].offset
    pieces = [
        (offset + REGISTER_WIDTH * k, REGISTER_WIDTH, number)
        for k, number in enumerate(expected["sources"])
    ]
    pieces += [(*fields[name], expected[name]) for name in expected if name != "sources"]
    mask = sum(((1 << width) - 1) << low for low, width, value in pieces if value is not None)
    return mask, sum(value << low for low, _, value in pieces if value is not None)


def is_same(actual: int, expected: Decoded, config: PipelineConfig | None = None) -> bool:
    """Return True if the bits of a decoded instruction match `expected`."""
    mask, value = packed(expected, config)
    return actual & mask == value
