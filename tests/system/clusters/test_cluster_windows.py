"""Tests of windows: programs reach the shared memory of all clusters of their machine."""

import pytest

from spica.hw.isa.memory_map import SHARED_BASE, cluster_window
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.cluster.window_programs import DIVERGENT, FLAGS, RING, WindowProgram, window_config


def require_ring(results: list, clusters: int) -> None:
    """Check what each cluster has received from the one before it, and sent."""
    for cluster, words in enumerate(results):
        received = [(cluster - 1) % clusters, cluster]
        word, sent = (0x7F0 + number for number in received)
        half, half_sent = (0x8123 + number for number in received)
        byte, byte_sent = ((number - 9) & 0xFF for number in received)
        packed = half << 16 | byte << 8
        assert words[:7] == [
            word, packed, packed, 0xFFFF_0000 | half, byte_sent, half_sent, sent,
        ]  # fmt: skip


def require_divergent(results: list, threads: int) -> None:
    """Check what each thread has stored in its places and loaded from them."""
    for cluster, words in enumerate(results):
        for thread in range(threads):
            stored = 0x100 + thread | cluster << 12
            in_dram = stored + 1 if thread & 1 else words[0x20 + thread]
            expected = [0, stored + 1, in_dram, stored >> 8 & 0xFF]
            assert [words[16 * n + thread] for n in range(4)] == expected


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("checks", [False, True])
def test_the_model_reaches_the_memory_of_all_clusters(schedule, checks):
    for clusters in (2, 3):
        for text, require in (
            (RING, lambda words, clusters=clusters: require_ring(words, clusters)),
            (DIVERGENT, lambda words: require_divergent(words, 8)),
        ):
            config = window_config(clusters)
            iss = Iss(config, schedule=schedule, seed=5, checks_races=checks, checks_memory=checks)
            program = WindowProgram(text)
            program.load(iss)
            iss.add_flags(FLAGS, 64)
            for cluster in range(clusters):  # the flag that the cluster before it sets
                window = cluster_window(cluster) if cluster else SHARED_BASE
                iss.add_flags(window + 80, 4)
            outcome = iss.run()
            assert outcome.stop is StopReason.DONE, outcome.fault
            require(program.results(iss, clusters))
            if iss.memory_check is not None:
                assert not list(iss.memory_check.findings())
