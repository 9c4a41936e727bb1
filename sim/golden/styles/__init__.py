"""Golden models of whole products and attention on the units of each style."""
