"""The verbs: one module for each, wiring rooms together for every surface. No surface is known here."""
