"""Where templates run: what they do is counted, and one that does too much ends with an error instead of going on.

Nothing is timed: the same template and item stop at the same place on every machine. A unit is a step, or a character
that is made. What can make many at once says beforehand how many, so that no single step is long. What holds others is
weighed when a template writes it down, each as often as it is held: thirty lines can nest a pair so that reading it
takes a thousand million steps, and it ends where it grows, before anything reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView
from functools import cache, lru_cache, wraps
from threading import local
from types import GeneratorType
from typing import Any, cast

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

UNITS = 200_000
"""What one body may take: as many characters as the largest document has, or a tenth of a second of steps."""
CALL = 20
"""What calling a macro or a method costs beside what it does."""
ASKED = 5
"""What a filter or a test costs beside what it does."""
LOOKED_AT = 50
"""Characters that are compared at the price of one that is made."""
FACTOR = 1_000_000
"""Larger numbers are not multiplied."""
LARGEST = 2**64
"""Larger numbers are not reckoned with, nor read: they can be as long as texts."""
MOST = 10_000
"""Larger numbers are not handed to a filter: widths, digits, sizes."""
STEPS = 20
"""Longer ways to what an attribute's name says (`a.b.c`) are not gone: a filter goes them for each value."""
LONGEST = 16_384
"""Characters of a template: the longest take half a second to be read, once."""
KEPT = 256
"""Templates that are kept ready in a process."""
_LISTS = "batch dictsort first groupby items last length count list map max min reject rejectattr reverse select"
_TEXTS = "capitalize e escape indent join lower replace string striptags title tojson trim truncate upper urlencode"
_OTHERS = "abs attr d default float int round selectattr slice sort sum unique wordcount"
FILTERS = frozenset(f"{_LISTS} {_TEXTS} {_OTHERS}".split())
"""Those left out draw lots, or make long texts of short ones."""
_LENGTHENING = "center encode expandtabs format format_map join ljust replace rjust to_bytes translate zfill"
UNSAFE = frozenset(_LENGTHENING.split())
"""Methods that make long texts of short ones. Some are filters, too, and there they are counted."""
SEARCHING = frozenset(("lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip", "trim"))
"""Those that may look at each character of what they are given for each character of the text."""


class TooMuch(SecurityError):
    """A template has used up its units."""


class Unreadable(SecurityError):
    """A source of which no template can be made, and why."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Templates say what an item holds: a loop is over that, and nothing makes texts longer than a body may be."""

    intercepted_binops = frozenset(("+", "-", "/", "//", "%", "*", "**"))

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, finalize=self._written, optimized=False)
        self._here = local()
        self._compiled = lru_cache(KEPT)(self._read_once)
        for name in ("range", "lipsum"):
            del self.globals[name]
        self.globals["namespace"] = Names
        own = {"_each": self._each, "_joined": self._joined, "_paid": self._paid, "_read": self._read}
        own |= {"_held": self._held, "_key": self._key}
        self.filters = {n: self._counted(f, n) for n, f in self.filters.items() if n in FILTERS} | own
        self.tests = {n: self._counted(f, n) for n, f in self.tests.items()}

    def rendered(self, source: str, given: Mapping[str, Any]) -> str:
        """The text that the template makes of `given`. Raises TooMuch, Unreadable, and whatever a template can raise.

        Any number of threads may ask at once; each has units of its own.
        """
        template = self._compiled(source)
        if isinstance(template, str):
            raise Unreadable(template)
        self._here.left = UNITS
        return template.render(given)

    def _read_once(self, source: str) -> Template | str:
        """The template, or what is wrong with it: that is kept, too, and not found out anew for each body."""
        if len(source) > LONGEST:
            return f"it has more than {LONGEST} characters"
        self._here.left = UNITS
        try:
            return self.from_string(source)
        except Exception as error:
            return type(error).__name__

    def _spend(self, units: int) -> None:
        self._here.left -= max(units, 0)  # a negative width or indent gives nothing back
        if self._here.left < 0:
            raise TooMuch

    # What the language does by itself; `_Counted` puts the filters in.

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return cast("nodes.Template", _Counted().visit(super()._parse(source, name, filename)))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Numbers are reckoned with, and only small ones multiplied; texts and lists are put together.

        Raises SecurityError.
        """
        if operator == "+" and not isinstance(left, int | float):
            self._spend(_length(left) + _length(right))
        else:
            most = FACTOR if operator == "*" else LARGEST
            if operator == "**" or not all(isinstance(n, int | float) and abs(n) <= most for n in (left, right)):
                raise SecurityError(operator)
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Nothing that makes much of little."""
        is_lengthening = attr in UNSAFE and isinstance(obj, str | int | bytes)
        return super().is_safe_attribute(obj, attr, value) and not is_lengthening

    def wrap_str_format(self, value: Any) -> None:
        """Nothing is made an exception of: not the methods that format, either."""

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A macro, or a method of a value."""
        self._spend(CALL)
        of = getattr(obj, "__self__", None)
        self._weigh((of, *args, *kwargs.values()))
        if getattr(obj, "__name__", "") in SEARCHING:
            self._spend(_searched(of, args))
        return super().call(context, obj, *args, **kwargs)

    @pass_context
    def _written(self, context: Any, value: Any) -> Any:
        """Each value on its way into the text. With the context, so that none is written while a template is read."""
        self._weigh((value,))
        return value

    @pass_context
    def _each(self, context: Any, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._spend(1 + (_length(value) if isinstance(value, list) else 0))
            yield value

    @pass_context
    def _paid(self, context: Any, text: str, units: int) -> str:
        self._spend(units)
        return text

    def _joined(self, values: list[Any]) -> str:
        self._weigh(values)
        return "".join(str(v) for v in values)

    def _read(self, value: Any, share: int) -> Any:
        self._spend(_length(value) // share)
        if not isinstance(value, str):
            self._weigh((value,))
        return value

    def _held(self, value: Any) -> Any:
        """A list, a tuple or a dictionary that a template writes down. Its texts were there before."""
        self._weigh((value,), with_texts=False)
        return value

    def _key(self, value: Any) -> Any:
        """What a dictionary is asked with, or filed under. Raises SecurityError: of other values everything is read."""
        if not isinstance(value, str | int | float | None):
            raise SecurityError(type(value).__name__)
        return value

    # What a template asks for.

    def _counted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        at = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            before, (value, *rest) = args[:at], args[at:]
            if isinstance(value, GeneratorType):
                value = list(cast("Iterable[Any]", value))
            others = (*rest, *kwargs.values())
            if any(isinstance(v, int | float) and abs(v) > MOST for v in others) and name in FILTERS:
                raise SecurityError(name)
            if name in PATHS and _steps(kwargs.get("attribute"), *rest[PATHS[name] :][:1]) > STEPS:
                raise SecurityError(name)
            self._spend(ASKED)
            self._weigh((value, *others))
            if name in SEARCHING:
                self._spend(_searched(value, others))
            self._spend(LENGTHENS[name](value, *rest, **kwargs) if name in LENGTHENS else 0)
            return function(*before, value, *rest, **kwargs)

        return counted

    def _weigh(self, values: Iterable[Any], *, with_texts: bool = True) -> None:
        """A unit for everything that can be reached from `values`, and one for each character of a text.

        What is reached twice counts twice, as it is read twice. Raises SecurityError at numbers as long as a text.
        """
        waiting = [iter(values)]
        while waiting:
            value = next(waiting[-1], _END)
            if value is _END:
                waiting.pop()
                continue
            self._spend(len(value) if with_texts and isinstance(value, str) else 1)
            if isinstance(value, int) and abs(value) > LARGEST:
                raise SecurityError("int")
            if isinstance(value, Mapping):
                waiting.append(iter(cast("Mapping[Any, Any]", value).items()))
            elif isinstance(value, list | tuple | set | frozenset | MappingView):
                waiting.append(iter(cast("Iterable[Any]", value)))


class Names(Namespace):
    """What a template keeps by name is its own, and no text: one that keeps others would tell all that they keep."""

    def __repr__(self) -> str:
        return "<Namespace>"


@cache
def shared() -> Sandbox:
    """The sandbox of the process. It keeps the templates ready that were asked for last."""
    return Sandbox()


_END: Any = object()


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict | set | frozenset) else 1  # pyright: ignore[reportUnknownArgumentType]


def _replaced(text: Any, old: Any, new: Any, count: Any = None) -> int:
    return str(text).count(str(old)) * len(str(new))


def _indented(text: Any, width: Any = 4, first: Any = False, blank: Any = False) -> int:
    return (str(text).count("\n") + 1) * (len(width) if isinstance(width, str) else int(width))


def _separated(values: Any, d: Any = "", attribute: Any = None) -> int:
    return len(str(d)) * _length(values)


def _steps(*paths: Any) -> int:
    return sum(path.count(".") + path.count(",") for path in paths if isinstance(path, str))


def _searched(text: Any, given: Iterable[Any]) -> int:
    return _length(text) * sum(_length(g) for g in given if isinstance(g, str)) // LOOKED_AT


def _summed(values: Any, attribute: Any = None, start: Any = 0) -> int:
    return 0 if isinstance(start, int | float) else UNITS + 1  # lists would be copied again for each one


def _as_json(value: Any, indent: int | None = None) -> int:
    return (indent or 0) * len(str(value))


LENGTHENS: Mapping[str, Callable[..., int]] = {
    "replace": _replaced,
    "indent": _indented,
    "join": _separated,
    "sum": _summed,
    "tojson": _as_json,
}
"""How many characters these filters add."""
PATHS: Mapping[str, int] = {
    **dict.fromkeys(("groupby", "rejectattr", "selectattr", "sum"), 0),
    **dict.fromkeys(("join", "max", "min", "unique"), 1),
    "sort": 2,
    "map": MOST,
}
"""Where these filters are told what of each value they are to look at, if it is not by name; `map` is by name alone."""


class _Counted(NodeTransformer):
    """Puts the filters that count where the language works without asking: loops, texts, comparisons, lists, keys."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        node.iter = _filtered(node.iter, "_each")
        return self.generic_visit(node)

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        units = sum(len(n.data) for n in node.nodes if isinstance(n, nodes.TemplateData))
        self.generic_visit(node)
        if units:
            nothing = nodes.Const("", lineno=node.lineno, environment=node.environment)
            node.nodes.insert(0, _filtered(nothing, "_paid", units))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        values = nodes.List(node.nodes, lineno=node.lineno, environment=node.environment)
        return _filtered(values, "_joined")

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        node.expr = _filtered(node.expr, "_read", LOOKED_AT)
        return self.generic_visit(node)

    def visit_Operand(self, node: nodes.Operand) -> nodes.Node:
        node.expr = _filtered(node.expr, "_read", LOOKED_AT)
        return self.generic_visit(node)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        if isinstance(node.arg, nodes.Slice):
            node.node = _filtered(node.node, "_read", 1)
        elif not isinstance(node.arg, nodes.Const):
            node.arg = _filtered(node.arg, "_key")
        return self.generic_visit(node)

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:
        node.key = _filtered(node.key, "_key")
        return self.generic_visit(node)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        return _filtered(self.generic_visit(node), "_held")

    def visit_List(self, node: nodes.List) -> nodes.Node:
        return _filtered(self.generic_visit(node), "_held")

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, "_held") if node.ctx == "load" else node


def _filtered(node: nodes.Node, name: str, *args: int) -> nodes.Filter:
    place: dict[str, Any] = {"lineno": node.lineno, "environment": node.environment}
    return nodes.Filter(
        cast("nodes.Expr", node), name, [nodes.Const(a, **place) for a in args], [], None, None, **place
    )
