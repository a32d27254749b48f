"""Calculations that an answer states: `16.4% = (108,307 - 93,081) / 93,081`, found, read and computed exactly.

Four operations, signs, brackets, percent signs, currencies and scale words; a figure stands on one side of `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow

from ukai.kit import figures
from ukai.kit.figures import Figure

EXACT = Context(prec=40, Emax=999, Emin=-999, traps=[DivisionByZero, InvalidOperation, Overflow])
MOST_TOKENS = 120
MOST_DEPTH = 12
MOST_COUNTED = 31
"""Whole factors and divisors up to here (years, months, terms of a mean) are counted and need no source."""

_SCALES = {
    "hundred": 2, "thousand": 3, "k": 3, "million": 6, "mn": 6, "m": 6, "mm": 6, "billion": 9, "bn": 9, "b": 9,
    "trillion": 12, "tn": 12,
}  # fmt: skip
_TOKEN = re.compile(
    r"""
    \s*+ (?:
      (?P<number> (?:US|CA|A)?[$€£¥]?[ ]?(?:\d{1,3}(?>(?:,\d{3})+)|\d++)(?>(?:\.\d++)?) | [$€£¥]?\.\d++ )
      (?P<scale> [ ]?(?:hundred|thousand|million|billion|trillion|mn|mm|bn|tn|[kmb])(?![A-Za-z]) )?
      (?P<percent> [ ]?(?:%|percent\b|per[ ]cent\b) )?
    | (?P<sign> [-+*/×÷−–x·∗()\[\]] )
    )
    """,
    re.X | re.I,
)
_SAME = {"−": "-", "–": "-", "×": "*", "x": "*", "X": "*", "·": "*", "∗": "*", "÷": "/", "[": "(", "]": ")"}
_BINARY = set("+-*/")


@dataclass(frozen=True, kw_only=True)
class Operand:
    """A number of the calculation, as a figure of the answer."""

    figure: Figure
    is_count: bool
    """Divides or multiplies, or is the 1 of a growth rate: may be counted instead of quoted."""


@dataclass(frozen=True, kw_only=True)
class Formula:
    """One stated calculation."""

    start: int
    end: int
    """Of the calculation without the `=` and the result."""
    text: str
    result: Figure
    values: tuple[Decimal, ...]
    """What it comes to: with brackets around one number as plain and, where it has such, as accounting's minus. Empty
    when it cannot be computed (a division by nothing)."""
    operands: tuple[Operand, ...]

    @property
    def holds(self) -> bool:
        """Whether it comes to the result that is stated, at the precision and in the unit stated."""
        return any(_comes_to(value, self.result, self.operands) for value in self.values)


def stated(text: str, found: tuple[Figure, ...]) -> tuple[Formula, ...]:
    """Every calculation with a result beside its `=`. `found` are the figures of `text`, in order."""
    formulas: list[Formula] = []
    for equals in re.finditer("[=≈]", text):
        for formula in (_right(text, equals.start(), found), _left(text, equals.start(), found)):
            if formula is not None:
                formulas.append(formula)
                break
    return tuple(formulas)


def _right(text: str, equals: int, found: tuple[Figure, ...]) -> Formula | None:
    """`result = calculation`."""
    result = next((f for f in reversed(found) if f.end <= equals), None)
    if result is None or text[result.end : equals].strip(" *_`\t"):
        return None
    tokens = list(_tokens(text, equals + 1, len(text)))
    while tokens:
        formula = _formula(text, tokens, result)
        if formula is not None:
            return formula
        tokens.pop()
    return None


def _left(text: str, equals: int, found: tuple[Figure, ...]) -> Formula | None:
    """`calculation = result`."""
    result = next((f for f in found if f.start > equals), None)
    if result is None or text[equals + 1 : result.start].strip(" *_`\t-−–"):
        return None
    for start in _starts(text, equals):
        formula = _formula(text, list(_tokens(text, start, equals)), result)
        if formula is not None and not text[formula.end : equals].strip(" *_`\t"):
            return formula
    return None


def _starts(text: str, equals: int) -> Iterator[int]:
    """Where a calculation that ends at `equals` may begin, the longest first."""
    line = max(text.rfind(c, max(0, equals - 400), equals) for c in "\n=:;")
    places = [m.start() for m in re.finditer(r"(?<![\w.,$€£¥])[-−–$€£¥(\[\d.]", text[line + 1 : equals])]
    yield from (line + 1 + place for place in places[:60])


@dataclass(slots=True)
class _Token:
    start: int
    end: int
    sign: str = ""
    value: Decimal = Decimal(0)
    figure: Figure | None = None


def _tokens(text: str, at: int, end: int) -> Iterator[_Token]:
    for _ in range(MOST_TOKENS):
        match = _TOKEN.match(text, at, end)
        if match is None:
            return
        at = match.end()
        if match["sign"]:
            sign = match["sign"]
            yield _Token(match.start("sign"), at, sign=_SAME.get(sign, sign))
            continue
        value = Decimal(re.sub(r"[^\d.]", "", match["number"]))
        if match["scale"]:
            value = value.scaleb(_SCALES[match["scale"].strip().lower()])
        if match["percent"]:
            value = value.scaleb(-2)
        start = match.start("number")
        words = text[start:at]
        read = figures.extract(words)
        yield _Token(
            start,
            at,
            value=value,
            figure=_placed(read[0], start) if len(read) == 1 else _plain(start, at, words, value),
        )


def _placed(figure: Figure, by: int) -> Figure:
    return Figure(
        figure.start + by,
        figure.end + by,
        figure.text,
        figure.kind,
        figure.value,
        figure.unit,
        figure.ulp,
        figure.approx,
    )


def _plain(start: int, end: int, words: str, value: Decimal) -> Figure:
    exponent = int(value.as_tuple().exponent)
    return Figure(start, end, words, "number", value, "", Decimal(1).scaleb(exponent))


def _formula(text: str, tokens: list[_Token], result: Figure) -> Formula | None:
    """The calculation that the tokens are, when they are one: two numbers and an operation at least."""
    numbers = [t for t in tokens if not t.sign]
    if len(numbers) < 2 or any(t.start < result.end and result.start < t.end for t in numbers):
        return None
    values: list[Decimal] = []
    try:
        for in_accounting in (False, True):
            values.append(_Parser(tokens, in_accounting=in_accounting).whole())
    except _NoFormula:
        return None
    except (DivisionByZero, InvalidOperation, Overflow):
        values = []
    start, end = tokens[0].start, tokens[-1].end
    return Formula(
        start=start,
        end=end,
        text=text[start:end],
        result=result,
        values=tuple(dict.fromkeys(values)),
        operands=tuple(_operand(tokens, i) for i, t in enumerate(tokens) if not t.sign),
    )


def _operand(tokens: list[_Token], i: int) -> Operand:
    """Small whole factors and divisors, and the 1 and 100 of rates, are counted, not quoted."""
    token = tokens[i]
    figure = token.figure
    if figure is None:
        raise AssertionError("a number token has its figure")
    before = tokens[i - 1].sign if i else ""
    value = token.value
    whole = value == value.to_integral_value()
    after = tokens[i + 1].sign if i + 1 < len(tokens) else ""
    times = (before in ("/", "*") or after == "*") and whole and 0 < value <= MOST_COUNTED
    # 0 and 1 stand for a blank cell and for the whole; 100 and 1000 change the unit.
    return Operand(figure=figure, is_count=times or (whole and value in (0, 1, 100, 1000)))


class _NoFormula(Exception):
    pass


class _Parser:
    """Sums of products of signed numbers and brackets."""

    def __init__(self, tokens: list[_Token], *, in_accounting: bool) -> None:
        self._tokens = tokens
        self._in_accounting = in_accounting
        self._at = 0
        self._depth = 0

    def whole(self) -> Decimal:
        value = self._sum()
        if self._at < len(self._tokens):
            raise _NoFormula
        return value

    def _sum(self) -> Decimal:
        value = self._product()
        while self._sign() in ("+", "-"):
            is_minus = self._take().sign == "-"
            other = self._product()
            value = EXACT.subtract(value, other) if is_minus else EXACT.add(value, other)
        return value

    def _product(self) -> Decimal:
        value = self._signed()
        while self._sign() in ("*", "/"):
            divides = self._take().sign == "/"
            other = self._signed()
            value = EXACT.divide(value, other) if divides else EXACT.multiply(value, other)
        return value

    def _signed(self) -> Decimal:
        if self._sign() in ("-", "+"):
            is_minus = self._take().sign == "-"
            value = self._signed()
            return EXACT.minus(value) if is_minus else value
        return self._single()

    def _single(self) -> Decimal:
        if self._at >= len(self._tokens) or self._depth > MOST_DEPTH:
            raise _NoFormula
        token = self._take()
        if not token.sign:
            return token.value
        if token.sign != "(":
            raise _NoFormula
        opened = self._at
        self._depth += 1
        value = self._sum()
        self._depth -= 1
        if self._sign() != ")":
            raise _NoFormula
        self._take()
        alone = self._at - opened == 2
        return EXACT.minus(value) if alone and self._in_accounting else value

    def _sign(self) -> str:
        return self._tokens[self._at].sign if self._at < len(self._tokens) else ""

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token


def _comes_to(value: Decimal, result: Figure, operands: tuple[Operand, ...]) -> bool:
    """The signs are not compared: `fell by 12 %` states a change of -12 % without one.

    A result in millions may be computed from numbers in millions, one in percent from shares or from percentages.
    """
    claimed = result.value
    if not isinstance(claimed, Decimal):
        return False
    factors = [Decimal(1)]
    if result.kind == "percent":
        # Percentages enter as shares of one; their sums and means may also be taken as they are written.
        factors = [Decimal(100)]
        if not any(o.figure.kind == "percent" for o in operands):
            factors.append(Decimal(1))
    else:
        factors += [Decimal(10) ** power for power in (3, 6, 9) if is_scaled(result, power)]
    return any(_equal(EXACT.multiply(abs(value), factor), abs(claimed), result.ulp) for factor in factors)


def scaled(figure: Figure, result: Figure) -> Iterator[Figure]:
    """An operand as it stands, and in the unit that the result is stated in."""
    yield figure
    if isinstance(figure.value, Decimal):
        for power in (3, 6, 9):
            if is_scaled(result, power):
                yield replace(figure, value=figure.value.scaleb(power), ulp=figure.ulp.scaleb(power))


def is_scaled(result: Figure, power: int) -> bool:
    """Whether the result is said in thousands, millions or billions, by a word or a letter."""
    names = {3: ("thousand", "k"), 6: ("million", "m", "mn", "mm", "mln"), 9: ("billion", "b", "bn")}[power]
    tail = re.search(r"([A-Za-z]+)[^A-Za-z]*$", result.text)
    return tail is not None and tail[1].lower() in names


def _equal(value: Decimal, claimed: Decimal, ulp: Decimal) -> bool:
    return abs(EXACT.subtract(value, claimed)) * 2 <= ulp
