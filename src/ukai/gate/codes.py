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
    meaning: str


HINTS: dict[Repair, str] = {
    "fix": "correct it and submit again",
    "reread": "read the current state, then submit again",
    "resend": "submit the same again in a moment",
    "stop": "somebody with other rights, or a human, has to act",
}
"""What a rejection advises when its place has nothing more precise to say."""


CODES: dict[str, Code] = {
    "malformed_delta": Code("parse", 400, "fix", "The text is not JSON, or the JSON has not the form of a delta."),
    "unknown_op": Code("parse", 422, "fix", "No operation has this `kind`."),
    "list_expected": Code("parse", 422, "fix", "Something else stands where a list belongs, often prose."),
    "object_expected": Code("parse", 422, "fix", "Something else stands where an object belongs."),
    "too_many_ops": Code("parse", 413, "fix", "More operations, or nodes and edges, than one delta may hold."),
    "too_large": Code("parse", 413, "fix", "The text, or the key, is too long."),
    "too_deep": Code("parse", 413, "fix", "Values are nested too deeply."),
    "unresolved_ref": Code(
        "refs", 422, "fix", "A `$ref` that this delta does not make, or a `$ref:step.key` that nobody has filled in."
    ),
    "duplicate_ref": Code("refs", 422, "fix", "Two nodes of the delta have the same ref."),
    "ref_cycle": Code("refs", 422, "fix", "Natural keys that are made of each other."),
    "ref_type_mismatch": Code(
        "refs", 422, "fix", "A reference to a node of another type than the field or the operation names."
    ),
    "unknown_context_ref": Code("refs", 422, "fix", "The run holds nothing under this name."),
    "unknown_id": Code("refs", 404, "reread", "No node has this handle or id, or it may not be seen."),
    "deleted_target": Code("refs", 409, "reread", "The node was deleted."),
    "duplicate_target": Code("refs", 422, "fix", "Two operations change the same node or edge."),
    "unknown_type": Code("schema", 422, "fix", "No node type has this name."),
    "unknown_edge_kind": Code("schema", 422, "fix", "No edge type has this name."),
    "unknown_field": Code(
        "schema", 422, "fix", "The type declares no such field; the required one that it probably is is named with it."
    ),
    "type_mismatch": Code("schema", 422, "fix", "A value of another kind than the field's."),
    "enum_mismatch": Code("schema", 422, "fix", "A value outside the list of the field."),
    "required_field": Code("schema", 422, "fix", "A required field is not given."),
    "null_not_allowed": Code("schema", 422, "fix", "A required field would be emptied."),
    "out_of_range": Code("schema", 422, "fix", "A number or a day outside its bounds."),
    "too_long": Code("schema", 422, "fix", "A text above its greatest length."),
    "too_short": Code("schema", 422, "fix", "A text below its least length."),
    "pattern_mismatch": Code("schema", 422, "fix", "A text that its pattern does not occur in."),
    "format_invalid": Code("schema", 422, "fix", "A day, an instant, a handle or an id that is not written as one."),
    "too_many_items": Code("schema", 422, "fix", "A list above its greatest length."),
    "too_few_items": Code("schema", 422, "fix", "A list below its least length."),
    "duplicate_items": Code("schema", 422, "fix", "A list holds a value twice."),
    "immutable_field": Code(
        "schema", 422, "fix", "An update of what is set once: an immutable field or the natural key."
    ),
    "server_set_field": Code("schema", 422, "fix", "A field that the server sets."),
    "precision_loss": Code("schema", 422, "fix", "A number with more digits than are kept."),
    "unknown_domain": Code("schema", 404, "stop", "No domain has this name."),
    "schema_version_unknown": Code("schema", 404, "stop", "The domain never had this version."),
    "schema_changed": Code("schema", 409, "reread", "The domain got a new version in the meantime."),
    "invalid_initial_state": Code("state", 422, "fix", "A new node cannot begin in this state."),
    "invalid_transition": Code("state", 409, "reread", "No transition leads there from the state that the node is in."),
    "state_unknown": Code("state", 422, "fix", "The type has no such state, or none at all."),
    "edge_direction": Code("edges", 422, "fix", "The edge leads the other way; the patch swaps its ends."),
    "edge_endpoint_type": Code("edges", 422, "fix", "A node of this type cannot stand at this end."),
    "cardinality_max": Code("edges", 409, "reread", "The node would have more edges of the type than it may."),
    "cardinality_min": Code("edges", 422, "fix", "The node would have fewer edges of the type than it must."),
    "duplicate_edge": Code("edges", 409, "reread", "The edge is there already, or is made twice."),
    "self_edge": Code("edges", 422, "fix", "The edge would lead back to its own node."),
    "edge_cycle": Code("edges", 422, "fix", "The edges would lead in a circle."),
    "unique_violation": Code("unique", 409, "reread", "Another node holds the key or the unique value."),
    "possible_duplicate": Code("unique", 200, "fix", "A similar node is there already (a warning)."),
    "rule_violation": Code("rules", 422, "fix", "A rule of the type is not met."),
    "rule_error": Code("rules", 422, "stop", "A rule gave no answer; it fails closed."),
    "restricted_delete": Code("delete", 409, "reread", "Edges stand that forbid the deletion."),
    "cascade_too_large": Code(
        "delete", 409, "stop", "The deletion would take more nodes along than is allowed at once."
    ),
    "contract_incomplete": Code(
        "contract", 422, "fix", "The delta lacks an operation or a field that the contract requires."
    ),
    "contract_mismatch": Code("contract", 422, "fix", "The right operation on another node than the contract's."),
    "contract_unexpected": Code("contract", 422, "fix", "An operation that the contract does not declare."),
    "contract_count": Code("contract", 422, "fix", "More or fewer operations than the contract counts."),
    "contract_unproduced": Code("contract", 422, "fix", "A workflow reads a value that no step emits."),
    "contract_unconsumed": Code("contract", 422, "fix", "A workflow emits a value that no step reads."),
    "contract_cycle": Code("contract", 422, "fix", "A step of a workflow reads what only it or a later one emits."),
    "contract_type": Code("contract", 422, "fix", "A step emits a kind that does not fit the field that takes it."),
    "contract_unreachable": Code(
        "contract", 422, "fix", "A branch that never runs, or a value that is not always there when it is read."
    ),
    "conflict": Code("concurrency", 409, "reread", "Fields that the writer read have been changed since."),
    "precondition_failed": Code("concurrency", 412, "reread", "`if_version` or a `test` does not hold."),
    "unknown_commit": Code("undo", 404, "stop", "There is no such commit, or nothing of it may be seen."),
    "already_undone": Code("undo", 409, "stop", "The commit is taken back already; the message says by which one."),
    "nothing_to_undo": Code("undo", 409, "stop", "Nothing was changed, or all of it is taken back already."),
    "history_gone": Code("undo", 410, "stop", "What stood before is no longer kept."),
    "busy": Code("concurrency", 503, "resend", "The store was busy; nothing is wrong with the delta."),
    "key_reused": Code("idempotency", 422, "fix", "The idempotency key belongs to another delta."),
    "in_progress": Code("idempotency", 409, "resend", "A delta with the same key is being written."),
    "forbidden_type": Code("auth", 403, "stop", "The author may not write nodes of this type."),
    "forbidden_field": Code("auth", 403, "stop", "The author may not write this field."),
    "forbidden_row": Code("auth", 403, "stop", "The author may not write this node."),
    "forbidden_transition": Code("auth", 403, "stop", "The author may not take this transition."),
    "author_missing": Code("auth", 401, "stop", "Nobody stands behind the delta."),
    "author_mismatch": Code("auth", 403, "stop", "The author is not the one of the session."),
    "approval_required": Code("auth", 202, "stop", "A human has to approve it first."),
    "quota_exceeded": Code("limits", 429, "stop", "The author's quota is used up."),
    "rate_limited": Code("limits", 429, "resend", "Too many deltas in a short time."),
    "no_progress": Code("loop", 409, "stop", "Two attempts in a row failed in the same way."),
    "attempts_exhausted": Code("loop", 409, "stop", "The last attempt was rejected."),
    "budget_exhausted": Code("loop", 409, "stop", "The tokens for attempts are used up."),
    "row_rejected": Code("bulk", 207, "fix", "A row of a bulk was refused; the others were not."),
    "batch_aborted": Code("bulk", 422, "fix", "A row was refused, and with it the whole bulk."),
    "internal": Code("fault", 500, "resend", "A fault of the server; the incident's number is all that is told."),
}
