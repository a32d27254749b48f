"""Words of a text as they are compared: folded, without endings, without the ones that say nothing. English."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?", re.UNICODE)


def listed(text: str) -> frozenset[str]:
    """The words of a list written as running text."""
    return frozenset(text.split())


STOP = listed("""
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing done down during each even ever few for from further get gets give given go got had has
    have having he her here hers him his how i if in into is it its just let like me more most much must my no nor not
    now of off on once only or other our out over own please say says said same she should show so some such tell than
    that the their them then there these they this those through to too under until up us very was we were what when
    where whether which while who whom whose why will with would yes yet you your
""")
_IRREGULAR = dict(
    pair.split(":")
    for pair in listed("""
        bought:buy sold:sell lost:lose won:win left:leave sent:send paid:pay kept:keep held:hold made:make met:meet
        ran:run wrote:write written:write people:person children:child better:good best:good
    """)
)


def words(text: str) -> list[str]:
    """The words of `text`, folded, with their endings."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [w.partition("'")[0].partition("’")[0] for w in _WORD.findall(folded)]


def terms(text: str) -> list[str]:
    """The stems of the words that say something, in order, repeats kept."""
    return [stem(word) for word in words(text) if word not in STOP]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """`word` without its ending: renews, renewing and renewed meet. Light, for English, and errs by leaving letters."""
    word = _IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and re.search("[aeiouy]", rest):
            word = rest[:-1] if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "ls" else rest
            break
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("y") and len(word) > 3:
        word = word[:-1] + "i"
    return word.removesuffix("e") if len(word) > 4 else word
