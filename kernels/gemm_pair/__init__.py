"""Two products at once: each on a matrix unit of its own, commanded by a core of its own."""
