"""Golden models of `hw/matrix/command`."""
