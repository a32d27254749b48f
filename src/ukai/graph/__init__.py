"""The typed, versioned graph: what a domain declares, and the kinds of values its fields hold."""
