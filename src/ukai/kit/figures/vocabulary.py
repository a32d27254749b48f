"""The words that the readers know: months, scales, currencies, units, and words whose number is a name."""

from __future__ import annotations

from decimal import Decimal


def _words(text: str) -> list[str]:
    return text.split()


_MONTHS = _words("january february march april may june july august september october november december")
MONTHS: dict[str, int] = {
    **{name: i for i, name in enumerate(_MONTHS, 1)},
    **{name[:3]: i for i, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
CAPITAL_MONTH = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?"
    "|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
    "|JAN(?:UARY)?|FEB(?:RUARY)?|MAR(?:CH)?|APR(?:IL)?|MAY|JUNE?|JULY?|AUG(?:UST)?|SEP(?:T(?:EMBER)?)?"
    "|OCT(?:OBER)?|NOV(?:EMBER)?|DEC(?:EMBER)?"
    "|january|february|april|june|july|august|september|october|november|december"
)
"""As months are written; `may` and `march` in lower case are verbs."""

SCALES: dict[str, Decimal] = {
    **dict.fromkeys(("k", "thousand"), Decimal(10**3)),
    **dict.fromkeys(("m", "mm", "mn", "mln", "million"), Decimal(10**6)),
    **dict.fromkeys(("b", "bn", "billion"), Decimal(10**9)),
    **dict.fromkeys(("tn", "trn", "trillion"), Decimal(10**12)),
    "hundred": Decimal(100),
}

CODES = _words("USD EUR GBP JPY INR CNY RMB CHF CAD AUD NZD HKD SGD SEK NOK DKK BRL MXN ZAR KRW TWD MYR PLN")
CODE = "|".join([*CODES, "RM", "Rs"])
CURRENCIES: dict[str, str] = {
    **{code.lower(): code for code in CODES},
    "$": "USD", "us$": "USD", "$us": "USD", "c$": "CAD", "ca$": "CAD", "a$": "AUD", "au$": "AUD", "nz$": "NZD",
    "hk$": "HKD", "s$": "SGD", "sg$": "SGD", "nt$": "TWD", "r$": "BRL", "mx$": "MXN",
    "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "rmb": "CNY", "rm": "MYR", "rs": "INR",
    "dollar": "USD", "euro": "EUR", "yen": "JPY", "rupee": "INR", "yuan": "CNY", "us dollar": "USD",
}  # fmt: skip
CENTS: dict[str, str] = {"cent": "USD", "cents": "USD", "¢": "USD", "pence": "GBP", "p": "GBP"}
COUNTRIES = {"AU": "AUD", "US": "USD", "NZ": "NZD", "HK": "HKD", "SG": "SGD", "CA": "CAD"}

TIME_UNITS = "second|minute|hour|day|night|week|fortnight|month|quarter|year|decade"
ORDINALS = {"st", "nd", "rd", "th"}
GLUED = {
    *_words("s sec secs ms us ns h hr hrs m min mins d w wk wks mo mos y yr yrs day days week hour hours year years"),
    *_words("x px pt em rem vh vw kb mb gb tb pb kib mib gib tib bps pp pct kg g mg lb lbs oz t km cm nm ft in mi mph"),
    *_words(
        "kw mw gw kwh mwh gwh w v a hz khz mhz ghz c f l ml ha boe rpm qps rps p am pm utc gmt est pst cet et pt ct"
    ),
    *ORDINALS,
    *SCALES,
    *(code.lower() for code in CODES),
}
"""What may touch a number's last digit without making the whole an identifier."""

FRACTIONS = {"1/2": "0.5", "1/4": "0.25", "3/4": "0.75", "1/8": "0.125", "3/8": "0.375", "5/8": "0.625", "7/8": "0.875"}
VULGAR = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅛": "0.125", "⅜": "0.375", "⅝": "0.625", "⅞": "0.875"}

APPROXIMATE = (
    "about|around|roughly|nearly|almost|over|above|below|more[ ]than|under|less[ ]than|fewer[ ]than|approximately"
    "|approx\\.?|some|circa|close[ ]to|up[ ]to|at[ ]least|at[ ]most|just[ ]shy[ ]of|north[ ]of"
)

LABELS = frozenset(
    [
        *_words("annex appendix article batch build case category chapter chmod class clause column day error exhibit"),
        *_words("figure fig footnote form gate grade group id issue item layer lesson level line module month note"),
        *_words("option page paragraph part phase pillar platform port pr priority problem question release revision"),
        *_words("robin room round rule schedule scope section segment session severity slide sprint stage step suite"),
        *_words("table task team teammate ticket tier topic track tranche unit version volume week year"),
    ]
)
"""Words for a place in a document or a plan: the number after them is part of a name."""
STANDARDS = frozenset(
    [
        *_words("AASB ASC ASU CVE FAS FASB FRS HTTP HTTPS IAS IEC IFRIC IFRS ISA ISO NIST OAuth PCI PEP RFC SAB SFAS"),
        *_words("SIC SKU SOC SSAP TCP TLS UDP USB Fortune Office Windows Python Java Ubuntu Android iOS iPhone Stoxx"),
        *_words("STOXX S&P FTSE DAX CAC Nikkei Russell Nasdaq NASDAQ"),
    ]
)
"""Standards, products and indices, likewise."""
