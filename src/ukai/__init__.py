"""Ukai: agents read through the composer, write through the gate, and are steered by checks that code can decide."""
