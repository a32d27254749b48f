"""Measurements: `ukai bench NAME` runs one file of this folder."""
