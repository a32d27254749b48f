"""Tools of the deal coach. `json`, `embed` and `get_index` are given by the runtime."""


def search_similar_deals(situation: str, outcome: str = "any") -> str:
    """Closed deals that resemble a situation, best first."""
    found = get_index("closed-deals").query(  # noqa: F821
        vector=embed(situation),  # noqa: F821
        top_k=4,
        include_metadata=True,
        filter=None if outcome == "any" else {"outcome": outcome},
    )
    rows = [{"score": round(match["score"], 2), **match["metadata"]} for match in found["matches"]]
    return json.dumps(rows)  # noqa: F821


TOOLS = [
    {
        "name": "search_similar_deals",
        "description": (
            "Closed deals that resemble the seller's situation: how they ended and what decided them. "
            "Use it to back a move with experience. Customers are not named."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "situation": {"type": "string", "description": "the situation in one or two sentences"},
                "outcome": {"type": "string", "enum": ["won", "lost", "any"]},
            },
            "required": ["situation"],
        },
        "reads": True,
        "credential": "user",
        "empty_when": "result == []",
        "target_args": ["situation"],
    }
]

HANDLERS = {"search_similar_deals": search_similar_deals}
