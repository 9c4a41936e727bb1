"""Words of a table at random places: y[i] = x[index[i]]."""
