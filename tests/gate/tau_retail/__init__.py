"""tau-retail through the gate: a shop as a domain, its policy as rules, every gold write replayed (W2-W9)."""
