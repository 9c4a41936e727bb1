"""Variables of modules: which nets get one, and their names."""
