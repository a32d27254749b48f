"""Connectors: what other systems know, brought in through the gate row by row (W3, W11)."""
