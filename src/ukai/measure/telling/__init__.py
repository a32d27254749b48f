"""A comparison told: a table for a terminal, one page with charts, JUnit for a pipeline. Pure text, no clock."""
