"""Small things without a domain that at least two rooms use: findings, errors, ids, time, canonical JSON, documents."""
