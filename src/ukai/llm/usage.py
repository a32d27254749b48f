"""What a request used and what it cost: the provider's own count of tokens, the price of the day it was made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ukai.llm.known import EXTRACTIVE

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

OURS = "ukai"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Of one response, or summed over those of one model. Tokens are the provider's figures, never our estimate."""

    model: str
    """`provider:name`, or the name alone when no provider stands behind it."""
    requests: int = 1
    input: int
    """All input tokens, the cached ones included."""
    output: int
    cached: int = 0
    """Of `input`, those read from the provider's cache."""
    cache_written: int = 0
    """Of `input`, those written to it."""
    usd: Decimal | None
    """None: no price is known; `note` says why. Never a guess."""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """As saved runs hold it; the price is a text, so that nothing is rounded on the way."""
        return {
            "model": self.model,
            "requests": self.requests,
            "input": self.input,
            "output": self.output,
            "cached": self.cached,
            "cache_written": self.cache_written,
            "usd": None if self.usd is None else format(self.usd, "f"),
            "note": self.note,
        }


def of(response: ModelResponse) -> Usage:
    """What one response used. Offline: the price list lies in an installed package."""
    used = response.usage
    provider, name = response.provider_name or "", response.model_name or ""
    usd, note = _price(response, provider, name)
    if used.unmeasured_requests:
        usd, note = None, "the provider reported no usage"
    return Usage(
        model=name if provider in ("", OURS) else f"{provider}:{name}",
        input=used.input_tokens,
        output=used.output_tokens,
        cached=used.cache_read_tokens,
        cache_written=used.cache_write_tokens,
        usd=usd,
        note=note,
    )


def price(provider: str, name: str, url: str | None, input: int, output: int) -> Decimal | None:
    """What a request of so many tokens would cost now; None where no price is known."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.usage import RequestUsage

    used = RequestUsage(input_tokens=input, output_tokens=output)
    asked = ModelResponse(parts=[], usage=used, provider_url=url)
    return _price(asked, provider, name)[0]


def total(usages: Iterable[Usage]) -> tuple[Usage, ...]:
    """One line a model, in order of first use. A price that is missing once is missing in the sum."""
    lines: dict[str, Usage] = {}
    for usage in usages:
        before = lines.get(usage.model)
        lines[usage.model] = usage if before is None else _sum(before, usage)
    return tuple(lines.values())


def _sum(a: Usage, b: Usage) -> Usage:
    known = a.usd is not None and b.usd is not None
    return replace(
        a,
        requests=a.requests + b.requests,
        input=a.input + b.input,
        output=a.output + b.output,
        cached=a.cached + b.cached,
        cache_written=a.cache_written + b.cache_written,
        usd=a.usd + b.usd if a.usd is not None and b.usd is not None else None,
        note=(a.note or b.note) if known else (a.note if a.usd is None else b.note),
    )


def _price(response: ModelResponse, provider: str, name: str) -> tuple[Decimal | None, str]:
    if provider == OURS or name == EXTRACTIVE:
        return Decimal(0), "no provider was asked"
    from genai_prices import calc_price

    # By address first: a server of one's own that serves a famous name has not that name's price.
    where = {"provider_api_url": response.provider_url} if response.provider_url else {"provider_id": provider}
    price: Any = calc_price  # its overloads want one keyword at a time
    try:
        found = price(response.usage, name, genai_request_timestamp=response.timestamp, **where)
    except LookupError:
        return None, f"no price is known for {name!r}" + (f" of {provider!r}" if provider else "")
    return Decimal(found.total_price), ""
