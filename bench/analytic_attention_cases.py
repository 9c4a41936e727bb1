"""Runs of `attention` on which constants of the analytic model were chosen, and other runs."""

from dataclasses import dataclass

__all__ = ["CASES", "AttentionCase"]


@dataclass(frozen=True)
class AttentionCase:
    """Sizes and mask of a run; 0 keys are as many as queries, 0 `kv_heads` as many as `heads`."""

    queries: int
    keys: int = 0
    heads: int = 1
    kv_heads: int = 0
    causal: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by the names of the kernel."""
        return {
            "queries": self.queries,
            "keys": self.keys or self.queries,
            "heads": self.heads,
            "kv_heads": self.kv_heads or self.heads,
        }

    def label(self, depth: int) -> str:
        """Return the options of a run as text."""
        parts = [f"{self.queries}x{depth}"]
        parts += [f"{self.keys} keys"] * bool(self.keys)
        parts += [f"{self.heads} heads"] * (self.heads > 1)
        parts += [f"{self.kv_heads} of K and V"] * bool(self.kv_heads)
        parts += ["causal"] * self.causal
        return ", ".join(parts)


def case(*sizes: int, causal: bool = False) -> AttentionCase:
    """Return a run with queries, keys, heads, and heads of K and V."""
    return AttentionCase(*sizes, causal=causal)


#: By preset and head dimension, in the order in which a short run takes the first of each kind.
CASES = {
    ("virgo", 64): {
        "chosen": (
            *(case(64), case(128), case(192), case(64, 320), case(320, 64)),
            case(128, causal=True),
        ),
        "others": (
            *(case(100, 150), case(256), case(256, causal=True), case(128, 128, 2)),
            *(case(70, 500), case(200, 200, 2, 1, causal=True), case(320, 100)),
        ),
    },
    ("virgo", 128): {
        "chosen": (case(64), case(64, 320), case(192, 64), case(128, causal=True)),
        "others": (case(100, 150), case(192), case(256), case(256, causal=True)),
    },
    ("virgo_fp32", 64): {
        "chosen": (case(64), case(64, 320), case(128), case(160, 64), case(128, causal=True)),
        "others": (case(100, 150),),
    },
    ("virgo_fp32", 128): {
        "chosen": (case(64), case(64, 320), case(192, 64), case(128, causal=True)),
        "others": (case(100, 150), case(192)),
    },
    ("hopper", 64): {
        "chosen": (
            *(case(64), case(64, 320), case(192, 320), case(384, 64), case(384, 320)),
            *(case(384, 150), case(64, 64, 3), case(512, 64), case(640, 128)),
            *(case(size, causal=True) for size in (64, 192, 384)),
        ),
        "others": (
            *(case(100, 150), case(64, 150), case(128, 128, 2), case(256), case(256, 320)),
            *(case(384, 640), case(200, 500, 2, 1), case(300, causal=True)),
        ),
    },
    ("hopper", 128): {
        "chosen": (
            *(case(64), case(64, 160), case(128, 320), case(256, 320), case(320, 64)),
            *(case(256, causal=True), case(128, 128, 2), case(512, 128)),
        ),
        "others": (case(100, 150), case(256)),
    },
    ("ampere", 64): {
        "chosen": (
            *(case(64), case(64, 320), case(128, 320), case(384, 64), case(384, 150)),
            *(case(384, 320), case(64, causal=True), case(192, causal=True)),
        ),
        "others": (
            *(case(100, 150), case(64, 150), case(128, 128, 2), case(192, 320), case(256)),
            *(case(512, 64), case(640, 128), case(200, 500, 2, 1)),
            *(case(300, causal=True), case(384, causal=True)),
        ),
    },
    ("ampere", 128): {
        "chosen": (
            *(case(64), case(64, 320), case(256, 64), case(256, 320)),
            *(case(64, causal=True), case(192, causal=True)),
        ),
        "others": (case(100, 150), case(128, 128, 2), case(256), case(384, 64)),
    },
    ("volta", 64): {
        "others": (
            *(case(64), case(64, 320), case(100, 150), case(384, 64)),
            case(192, causal=True),
        ),
    },
    ("volta", 128): {"others": (case(100, 150),)},
    ("ampere_fp32", 64): {
        "chosen": (
            *(case(64), case(64, 320), case(128, 320), case(256, 64), case(256, 150)),
            *(case(256, 320), case(64, causal=True), case(256, causal=True)),
        ),
        "others": (
            *(case(100, 150), case(64, 150), case(128, 128, 2), case(256), case(384, 64)),
            case(300, causal=True),
        ),
    },
    ("ampere_fp32", 128): {
        "chosen": (
            *(case(64), case(64, 320), case(256, 64), case(256, 320)),
            case(128, causal=True),
        ),
        "others": (case(100, 150), case(384, 64)),
    },
}
