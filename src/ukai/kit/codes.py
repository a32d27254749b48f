"""Every code that a `Finding` may carry, in one line each. The page is `docs/reference/findings.md`.

A room that returns a finding with a new code says here what it means; a test holds the table, the code and the page
together. The gate's rejections have a table of their own, `ukai.gate.codes`.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    # kit.document: reading a file at all
    "too_large": "The file, its front matter or the number of its values is beyond what is read.",
    "too_deep": "Values are nested deeper than is read.",
    "encoding": "The file is not plain UTF-8 text.",
    "byte_order_mark": "A byte order mark was skipped.",
    "front_matter_missing": "The file does not open with a line of `---`.",
    "front_matter_open": "The front matter is never closed by a second line of `---`.",
    "mapping_expected": "The front matter, or the file, is not a mapping of fields.",
    "yaml_syntax": "The text is not YAML 1.2.",
    "yaml_directive": "A line opens with `%`; directives are not read.",
    "yaml_tag": "A tag such as `!thing` is not read.",
    "yaml_merge_key": "Merge keys (`<<`) are not read.",
    "yaml_cycle": "An alias points at a value that holds it.",
    "several_documents": "The file holds more than one document.",
    "key_not_text": "A key is not text.",
    "duplicate_key": "A key stands twice in one mapping.",
    # kit.shape: a document held against what a room expects
    "unknown_key": "No field has this name.",
    "missing_key": "A required field is absent.",
    "wrong_type": "A value has the wrong type; nothing is converted.",
    "not_allowed": "A value outside a closed list.",
    "invalid_value": "A value that its field refuses for another reason.",
    # kit.strict_json: JSON from strangers
    "json_syntax": "The text is not JSON.",
    "json_constant": "NaN or an infinity, which JSON does not have.",
    "number_too_long": "A number has more digits, or a larger exponent, than is computed with.",
    "lone_surrogate": "A text holds half of a surrogate pair.",
    # graph.domain_file: domains/*.yaml
    "duplicate_name": "A type, edge, field, rule, state or value is declared twice.",
    "invalid_name": "A name holds characters, or has a length, that names do not have.",
    "reserved_name": "A name that the product uses itself.",
    "invalid_key": "A field cannot be part of a natural key.",
    "invalid_option": "An option of a field means nothing for its kind.",
    "invalid_pattern": "A pattern is not a regular expression in RE2 syntax.",
    "invalid_schema": "A JSON Schema is wrong, or uses what is not supported.",
    "invalid_default": "A default is not a value of its field.",
    "invalid_rule": "An expression names what does not exist, compares what cannot be compared, or is no condition.",
    "unknown_type": "No type is declared under this name.",
    "unknown_edge": "No edge is declared under this name.",
    "unknown_field": "The type declares no field of this name.",
    "unknown_state": "The type has no state of this name.",
    "unreachable_state": "No transition leads to the state.",
    # gate.domains: uploading a schema
    "type_in_use": "A type or edge is left out while nodes or edges of it live.",
    "claimed_twice": "A field or edge becomes unique while values are held more than once.",
    # llm.config: models.yaml, and every place that names a model
    "unknown_model": "No alias, model or provider answers to the name.",
    "unknown_provider": "No provider of models has this name.",
    "alias_cycle": "Aliases of models lead back to themselves.",
    "ambiguous_model": "A name of a model has two meanings.",
    "secret_in_file": "A file holds a key, or an address with one, where the name of an environment variable belongs.",
    "invalid_url": "An address of a server is incomplete, or its provider has no servers of one's own.",
    # record.seal: saved runs
    "record_schema": "The record was written by a newer Ukai, or its schema is not known here.",
    "record_unreadable": "The file holds no record at all.",
    "record_changed": "The record was changed after it was sealed.",
    "record_broken": "Parts of the record contradict each other.",
}
"""Code -> what it means. Grouped by the room that emits it first."""
