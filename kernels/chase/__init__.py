"""Steps along a ring of nodes in random order by one thread: the latency of what holds it."""
