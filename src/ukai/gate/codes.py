"""The closed list of rejection codes: group, HTTP status and who repairs it how. One line a code; the page is
`docs/reference/rejections.md`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Repair = Literal["fix", "reread", "resend", "stop"]
"""`fix` change and resubmit; `reread` fetch the current state first; `resend` unchanged; `stop` a human or other
rights are needed.
"""


class Code(NamedTuple):
    """What a code implies."""

    group: str
    status: int
    repair: Repair
    hint: str = ""
    """Used when the place that rejects has nothing more precise to say."""


CODES: dict[str, Code] = {
    "malformed_delta": Code("parse", 400, "fix"),
    "unknown_op": Code("parse", 422, "fix"),
    "list_expected": Code("parse", 422, "fix"),
    "object_expected": Code("parse", 422, "fix"),
    "too_many_ops": Code("parse", 413, "fix"),
    "too_large": Code("parse", 413, "fix"),
    "too_deep": Code("parse", 413, "fix"),
    "unresolved_ref": Code("refs", 422, "fix"),
    "duplicate_ref": Code("refs", 422, "fix"),
    "ref_cycle": Code("refs", 422, "fix"),
    "ref_type_mismatch": Code("refs", 422, "fix"),
    "unknown_context_ref": Code("refs", 422, "fix"),
    "unknown_id": Code("refs", 404, "reread"),
    "deleted_target": Code("refs", 409, "reread"),
    "duplicate_target": Code("refs", 422, "fix"),
    "unknown_type": Code("schema", 422, "fix"),
    "unknown_edge_kind": Code("schema", 422, "fix"),
    "unknown_field": Code("schema", 422, "fix"),
    "type_mismatch": Code("schema", 422, "fix"),
    "enum_mismatch": Code("schema", 422, "fix"),
    "required_field": Code("schema", 422, "fix"),
    "null_not_allowed": Code("schema", 422, "fix"),
    "out_of_range": Code("schema", 422, "fix"),
    "too_long": Code("schema", 422, "fix"),
    "too_short": Code("schema", 422, "fix"),
    "pattern_mismatch": Code("schema", 422, "fix"),
    "format_invalid": Code("schema", 422, "fix"),
    "too_many_items": Code("schema", 422, "fix"),
    "too_few_items": Code("schema", 422, "fix"),
    "duplicate_items": Code("schema", 422, "fix"),
    "immutable_field": Code("schema", 422, "fix"),
    "server_set_field": Code("schema", 422, "fix"),
    "precision_loss": Code("schema", 422, "fix"),
    "unknown_domain": Code("schema", 404, "stop"),
    "schema_version_unknown": Code("schema", 404, "stop"),
    "schema_changed": Code("schema", 409, "reread"),
    "invalid_initial_state": Code("state", 422, "fix"),
    "invalid_transition": Code("state", 409, "reread"),
    "state_unknown": Code("state", 422, "fix"),
    "edge_direction": Code("edges", 422, "fix"),
    "edge_endpoint_type": Code("edges", 422, "fix"),
    "cardinality_max": Code("edges", 409, "reread"),
    "cardinality_min": Code("edges", 422, "fix"),
    "duplicate_edge": Code("edges", 409, "reread"),
    "self_edge": Code("edges", 422, "fix"),
    "edge_cycle": Code("edges", 422, "fix"),
    "unique_violation": Code("unique", 409, "reread"),
    "possible_duplicate": Code("unique", 200, "fix"),
    "rule_violation": Code("rules", 422, "fix"),
    "rule_error": Code("rules", 500, "stop"),
    "restricted_delete": Code("delete", 409, "reread"),
    "cascade_too_large": Code("delete", 409, "stop"),
    "contract_incomplete": Code("contract", 422, "fix"),
    "contract_mismatch": Code("contract", 422, "fix"),
    "contract_unexpected": Code("contract", 422, "fix"),
    "contract_count": Code("contract", 422, "fix"),
    "contract_unproduced": Code("contract", 422, "fix"),
    "contract_unconsumed": Code("contract", 422, "fix"),
    "contract_cycle": Code("contract", 422, "fix"),
    "contract_type": Code("contract", 422, "fix"),
    "contract_unreachable": Code("contract", 422, "fix"),
    "conflict": Code("concurrency", 409, "reread"),
    "precondition_failed": Code("concurrency", 412, "reread"),
    "busy": Code("concurrency", 503, "resend"),
    "key_reused": Code("idempotency", 422, "fix"),
    "in_progress": Code("idempotency", 409, "resend"),
    "forbidden_type": Code("auth", 403, "stop"),
    "forbidden_field": Code("auth", 403, "stop"),
    "forbidden_row": Code("auth", 403, "stop"),
    "forbidden_transition": Code("auth", 403, "stop"),
    "author_missing": Code("auth", 401, "stop"),
    "author_mismatch": Code("auth", 403, "stop"),
    "approval_required": Code("auth", 202, "stop"),
    "quota_exceeded": Code("limits", 429, "stop"),
    "rate_limited": Code("limits", 429, "resend"),
    "no_progress": Code("loop", 409, "stop"),
    "attempts_exhausted": Code("loop", 409, "stop"),
    "budget_exhausted": Code("loop", 409, "stop"),
    "row_rejected": Code("bulk", 207, "fix"),
    "batch_aborted": Code("bulk", 422, "fix"),
    "internal": Code("fault", 500, "resend"),
}
