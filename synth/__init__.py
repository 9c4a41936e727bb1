"""What a design costs: cells, area, logic depth."""
