"""Figures of the published comparison of four designs: products of equal sides in FP16, attention.

Source: Kim et al., "Virgo: Cluster-level Matrix Unit Integration in GPUs for Scalability and Energy
Efficiency" (ASPLOS 2025), tables 3 and 4 and sections 6.1 and 6.2.
"""

__all__ = [
    "AREA_RATIOS",
    "ATTENTION_ENERGY",
    "ATTENTION_UTILIZATION",
    "DESIGNS",
    "ENERGY_RATIOS",
    "HETEROGENEOUS_UTILIZATION",
    "INSTRUCTION_SHARES",
    "MAC_UTILIZATION",
    "POWER_RATIOS",
    "SHARED_AREA",
    "SHARED_ENERGY_TO_HOPPER",
    "SHARED_POWER",
    "SHARED_READ_MIB",
    "SIZES",
    "SOURCE",
]

SOURCE = "Kim et al., Virgo (ASPLOS 2025)"
#: Names of the designs by preset.
DESIGNS = {
    "volta": "Volta-style",
    "ampere": "Ampere-style",
    "hopper": "Hopper-style",
    "virgo": "Virgo",
}
#: Sides of the products.
SIZES = (256, 512, 1024)
#: Table 3: share of the multiply-adds possible in the cycles, for each of `SIZES`.
MAC_UTILIZATION = {
    "volta": (0.256, 0.303, 0.303),
    "ampere": (0.375, 0.456, 0.523),
    "hopper": (0.605, 0.728, 0.770),
    "virgo": (0.661, 0.779, 0.865),
}
#: Table 4: MiB read from shared memory by a product of side 256.
SHARED_READ_MIB = {"volta": 6.0, "ampere": 6.0, "hopper": 4.0, "virgo": 2.25}
#: Section 6.1.1: instructions that Virgo retires, as a share of those of another design. The size
#: is not stated.
INSTRUCTION_SHARES = {"volta": 0.005, "hopper": 0.080}
#: Section 6.2: share of the multiply-adds possible in the cycles of attention in FP32, of one head
#: with 1,024 queries and keys and depth 64.
ATTENTION_UTILIZATION = {"virgo_fp32": 0.657, "ampere_fp32": 0.351}
#: Section 5.3: area of Virgo's SoC in relation to that of another design.
AREA_RATIOS = {"volta": 0.999, "hopper": 1.030}
#: Share of the shared memory in the area of Virgo's SoC.
SHARED_AREA = 0.055
#: Section 6.1.2: active power and energy of Virgo in relation to another design. The size is not
#: stated.
POWER_RATIOS = {"ampere": 1 - 0.673, "hopper": 1 - 0.242}
ENERGY_RATIOS = {"ampere": 1 - 0.803, "hopper": 1 - 0.325}
#: Share of the shared memory in Virgo's power, and section 6.1.3: its energy in relation to that of
#: the Hopper-style design.
SHARED_POWER = 0.068
SHARED_ENERGY_TO_HOPPER = 1 - 0.41
#: Section 6.2: energy of Virgo's attention in relation to that of the Ampere-style design.
ATTENTION_ENERGY = 1 - 0.506
#: Section 6.3: share of the multiply-adds possible on two units of different sizes, in the cycles
#: of both products at once, and of one after the other.
HETEROGENEOUS_UTILIZATION = {"both at once": 0.595, "one after the other": 0.597}
