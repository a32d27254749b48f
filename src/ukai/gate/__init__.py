"""The write gate: every change is a proposal, judged by the schema, the contract and the database, and lands whole."""
