"""Copy of a vector: c = a."""
