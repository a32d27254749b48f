"""How much of what a question needs a composed document holds: outside corpora through the composer's own code."""
