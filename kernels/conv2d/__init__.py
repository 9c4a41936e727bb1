"""Correlation of an image with a 3 x 3 filter, zeros around the image."""
