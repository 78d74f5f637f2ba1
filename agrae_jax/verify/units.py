"""Units of measure: what the words after a number mean, and which convert exactly."""

from __future__ import annotations

import re
from fractions import Fraction

from agrae_jax.verify.types import NotUnderstood

Unit = tuple[Fraction, tuple[tuple[str, int], ...]]  # factor, powers of base units

CURRENCY = "$€£¥₹¢"
CURRENCY_CODES = frozenset(["USD", "EUR", "GBP", "INR", "RS"])  # before a number
_INCH3 = Fraction("0.0254") ** 3
_GALLON = str(231 * _INCH3)
_TABLE: dict[str, tuple[Fraction, str, int]] = {}


def _define(base: str, power: int, entries: str) -> None:
    for entry in entries.split(";"):
        names, factor = entry.split(":")
        for name in names.split(","):
            _TABLE[name.strip()] = (Fraction(factor.strip()), base, power)


_define("m", 1, "m,meter,metre:1; km,kilometer,kilometre:1000; dm,decimeter:1/10")
_define("m", 1, "cm,centimeter,centimetre:1/100; mm,millimeter,millimetre:1/1000")
_define("m", 1, "in,inch,inche:0.0254; ft,foot,feet:0.3048; yd,yard:0.9144")
_define("m", 1, "mi,mile:1609.344")
_define("m", 2, "hectare,ha:10000; acre:4046.8564224")
_define("m", 3, "l,liter,litre:1/1000; ml,milliliter,millilitre,cc:1/1000000")
_define("m", 3, f"gallon,gal:{_GALLON}; quart,qt:{Fraction(_GALLON) / 4}")
_define("m", 3, f"pint,pt:{Fraction(_GALLON) / 8}; cup:{Fraction(_GALLON) / 16}")
_define("s", 1, "s,sec,second:1; ms,millisecond:1/1000; min,minute:60; h,hr,hour:3600")
_define("s", 1, "day:86400; week,wk:604800")
_define("month", 1, "month:1; year,yr:12; decade:120; century,centurie:1200")
_define("g", 1, "g,gram:1; kg,kilogram:1000; mg,milligram:1/1000; tonne:1000000")
_define("g", 1, "lb,lbs,pound:453.59237; oz,ounce:28.349523125; ton:907184.74")
_define("$", 1, "$,dollar,usd,buck:1; cent,penny,pennie,c,¢:1/100; dime:1/10")
_define("$", 1, "nickel:1/20; quarter:1/4")
_define("euro", 1, "euro,eur,€:1")
_define("£", 1, "£,gbp:1; pence:1/100")
_define("yuan", 1, "yuan,rmb,¥,cny:1")
_define("rupee", 1, "rupee,₹,inr,rs:1")
_define("deg", 1, "deg,degree,^\\circ:1")
_define("newton", 1, "n,newton:1; kn:1000")
_define("joule", 1, "j,joule:1; kj:1000")
_define("watt", 1, "w,watt:1; kw:1000")
_define("hz", 1, "hz,hertz:1; khz:1000; mhz:1000000")
_define("", 1, "unit:1")  # "square units": a count, of whatever power
_COMPOUND = {
    "mph": "mile/hour",
    "kmph": "km/h",
    "kph": "km/h",
    "fps": "ft/s",
    "mps": "m/s",
    "sqft": "ft^2",
}
SCALES = {
    "hundred": Fraction(10**2),
    "thousand": Fraction(10**3),
    "million": Fraction(10**6),
    "billion": Fraction(10**9),
    "trillion": Fraction(10**12),
    "dozen": Fraction(12),
    "tenth": Fraction(1, 10),
    "tenths": Fraction(1, 10),
    "hundredth": Fraction(1, 100),
    "hundredths": Fraction(1, 100),
    "thousandth": Fraction(1, 1000),
    "thousandths": Fraction(1, 1000),
    "half": Fraction(1, 2),
    "halves": Fraction(1, 2),
}
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
# Words that no unit contains: they add a second answer, a doubt or a condition.
_REFUSED = frozenset(
    "is are was were not nor or and wrong maybe perhaps but no yes if then else "
    "either both than more less least most about approximately roughly between to true "
    "false answer none unknown undefined mod modulo where when for all any probably "
    "guess possibly likely incorrect however except plus minus times nearly almost "
    "around over under greater smaller fewer other rather instead versus vs neither "
    "zero one two three four five six seven eight nine ten eleven twelve".split()
)
_IGNORED = frozenset(["", "*", "\\cdot", "\\times", "-", "of", "(", ")", ",", "each"])
_TOKEN = re.compile(
    r"(?P<power>\^\s*\{?\s*(-?\d)\s*\}?)|(?P<word>[a-z]+\.?|[€£¥₹$¢]|\^\\circ)"
    r"|[/*]|\\cdot|\\times|[-,()\s]"
)
_TEMPERATURE = re.compile(
    r"(?:degrees?|deg|\^\\circ)\s*(celsius|fahrenheit|[cf]\b)|\b(celsius|fahrenheit)\b"
)
_MAX_CHARS = 60


def known(word: str) -> bool:
    """Whether a bare word of at least two letters is a unit of the table."""
    return len(word) > 1 and (_singular(word) in _TABLE or word.lower() in _COMPOUND)


def parse_unit(text: str) -> Unit:
    """Reads "cm^2", "square feet", "miles per hour", "apples".

    Returns the factor to base units and their powers; an unknown noun is its own base
    unit. Raises NotUnderstood where the words are more than a unit.
    """
    text = text.strip().lower()
    if len(text) > _MAX_CHARS:
        raise NotUnderstood("too many words after the number")
    text = _TEMPERATURE.sub(lambda m: f" {(m[1] or m[2])[0]}scale ", text)
    for short, full in _COMPOUND.items():
        if short in text:
            text = re.sub(rf"\b{short}\b", full, text)
    factor, powers = Fraction(1), {}
    sign, pending = 1, 1
    last: tuple[Fraction, str, int] | None = None  # the unit that ^2 would apply to
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise NotUnderstood("words that are no unit")
        at = match.end()
        word = match.group().strip().rstrip(".")
        if match.group("power") or word in ("squared", "cubed"):
            times = int(match.group(2)) if match.group("power") else _POWERS[word]
            if last is None:
                raise NotUnderstood("a power of no unit")
            by, base, power = last
            factor *= by ** (times - 1)
            powers[base] = powers.get(base, 0) + power * (times - 1)
        elif word in ("/", "per"):
            sign = -1
        elif word in _IGNORED or (last is not None and word in ("a", "an", "the")):
            continue
        elif word in _POWERS:
            pending = _POWERS[word]
        elif word in _REFUSED:
            raise NotUnderstood("words that are no unit")
        else:
            by, base, power = _TABLE.get(_singular(word), (Fraction(1), word, 1))
            base = base if base != word else _singular(word)
            last = by**sign, base, power * sign
            factor *= last[0] ** pending
            powers[base] = powers.get(base, 0) + last[2] * pending
            pending, sign = 1, 1
    powers.pop("", None)
    return factor, tuple(sorted((b, n) for b, n in powers.items() if n))


def _singular(word: str) -> str:
    word = word.lower()
    if word in _TABLE:
        return word
    if word.endswith("s") and word[:-1] in _TABLE:
        return word[:-1]
    if word.endswith("s") and len(word) > 3 and not word.endswith("ss"):
        return word[:-1]
    return word
