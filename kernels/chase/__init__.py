"""Pointer chase along a ring in random order by one thread: memory latency."""
