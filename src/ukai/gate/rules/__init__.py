"""The checks of layer 1, one idea a file."""
