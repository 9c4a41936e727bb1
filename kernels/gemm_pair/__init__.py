"""Two concurrent products, each on its own matrix unit and commanded by its own core."""
