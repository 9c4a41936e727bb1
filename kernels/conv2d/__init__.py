"""2D convolution: correlation of an image with a 3 x 3 filter, with zero padding."""
