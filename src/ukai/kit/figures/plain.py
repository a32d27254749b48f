"""The text as the readers see it: offset for offset the same, with one spelling for digits, spaces and minus signs."""

from __future__ import annotations

import unicodedata

_SPECIAL = {
    **dict.fromkeys("\u2212\u2010\u2011\u2012\ufe63\uff0d", "-"),  # minus signs and hyphens; dashes stay dashes
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    **dict.fromkeys("\u2014\u2015", "\u2013"),
    **dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"),
    "\u2248": "~",
    "\uff05": "%",
    "\uff04": "$",
    "\uff0e": ".",
    "\uff0c": ",",
    "\uff1a": ":",
    "\uff08": "(",
    "\uff09": ")",
}
_KEEP = set("\u2013€£¥₹₩₽¢½¼¾⅓⅔⅛⅜⅝⅞")


def spelled(text: str) -> str:
    """ASCII but for dashes, currency signs and fractions. Foreign letters become `z`, so that they still make words."""
    if text.isascii():
        return text.replace("\r", "\n")
    table = {ord(char): _plain(char) for char in set(text) if char > "\x7f" or char in _SPECIAL}
    return text.translate(table)


def _plain(char: str) -> str:
    if char in _SPECIAL:
        return _SPECIAL[char]
    if char in _KEEP:
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if char.isspace():
        return " "
    if char.isalpha() or unicodedata.category(char).startswith("M"):
        return "Z" if char.isupper() else "z"
    return "\x7f"
