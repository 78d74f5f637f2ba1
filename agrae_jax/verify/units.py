"""Units of measure: what a word after a number means, and which convert exactly."""

from __future__ import annotations

import re
from fractions import Fraction

from agrae_jax.verify.types import NotUnderstood

Unit = tuple[Fraction, tuple[tuple[str, int], ...]]  # factor, exponents of base units

_F = Fraction
_TABLE: dict[str, tuple[Fraction, str]] = {}


def _define(base: str, entries: str) -> None:
    for entry in entries.split(";"):
        names, factor = entry.split(":")
        for name in names.split(","):
            _TABLE[name.strip()] = (_F(factor.strip()), base)


_define(
    "m",
    "m,meter,metre:1; km,kilometer,kilometre:1000; cm,centimeter,centimetre:"
    "1/100; mm,millimeter,millimetre:1/1000; dm,decimeter:1/10;"
    "in,inch,inche:0.0254; ft,foot,feet:0.3048; yd,yard:0.9144; mi,mile:1609.344",
)
_define(
    "s",
    "s,sec,second:1; ms,millisecond:1/1000; min,minute:60; h,hr,hour:3600;"
    "day:86400; week,wk:604800",
)
_define("month", "month:1; year,yr:12; decade:120; century,centurie:1200")
_define(
    "g",
    "g,gram:1; kg,kilogram:1000; mg,milligram:1/1000; ton,tonne:1000000;"
    "lb,lbs,pound:453.59237; oz,ounce:28.349523125",
)
_define("liter", "l,liter,litre:1; ml,milliliter,millilitre:1/1000")
_define("gallon", "gallon,gal:1; quart,qt:1/4; pint,pt:1/8; cup:1/16")
_define(
    "$",
    "$,dollar,usd,buck:1; cent,penny,pennie:1/100; c,¢:1/100; dime:1/10;"
    "nickel:1/20; quarter:1/4",
)
_define("euro", "euro,eur,€:1")
_define("gbp", "£,gbp:1; pence:1/100")
_define("yuan", "yuan,rmb,¥,cny:1")
_define("rupee", "rupee,₹,inr,r:1")
_define("deg", "deg,degree,^\\circ:1; rad,radian:1")
_define("newton", "n,newton:1; kn:1000")
_define("joule", "j,joule:1; kj:1000")
_define("watt", "w,watt:1; kw:1000")
_define("volt", "v,volt:1; kv:1000")
_define("pa", "pa:1; kpa:1000")
_define("hz", "hz:1; khz:1000; mhz:1000000")
_define("1", "unit,:1")
_COMPOUND = {"mph": "miles/hour", "kmph": "km/h", "kph": "km/h", "rpm": "rev/min",
             "fps": "ft/s", "sqft": "ft^2", "sqm": "m^2"}  # fmt: skip
SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9,
          "trillion": 10**12, "dozen": 12}  # fmt: skip
_SQUARE = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
CURRENCY = "$€£¥₹"
# Words that no unit contains: they add a second answer, a doubt or a condition.
_REFUSED = frozenset(
    "is are was not or and wrong right maybe perhaps but no yes if then else either "
    "both than more less least most about approximately roughly between to true false "
    "answer none unknown undefined mod modulo where when for all any".split()
)
_SYMBOL = re.compile(r"[A-Za-z]+|[€£¥₹$¢]|\^\\circ")
_TOKEN = re.compile(
    r"[A-Za-z]+\.?|[€£¥₹$¢]|\^?\s*\{?\s*(-?\d)\s*\}?|\^\\circ|[/*]|\\cdot|\\times"
    r"|[-,.()\s]"
)


def known(word: str) -> bool:
    """Whether a bare word of at least two letters is a unit of the table."""
    return len(word) > 1 and _singular(word) in _TABLE or word.lower() in _COMPOUND


def parse_unit(text: str) -> Unit:
    """Reads "cm^2", "square feet", "miles per hour", "apples".

    Returns the factor to base units and their exponents; an unknown noun is its own
    base unit. Raises NotUnderstood where the words are more than a unit.
    """
    factor, powers = _F(1), {}
    sign, pending, last = 1, 1, None
    at = 0
    text = text.strip()
    if len(text) > 60:
        raise NotUnderstood("too many words after the number")
    lowered = text.lower()
    for short, full in _COMPOUND.items():
        lowered = re.sub(rf"\b{short}\b", full, lowered)
    while at < len(lowered):
        match = _TOKEN.match(lowered, at)
        if not match:
            raise NotUnderstood("no unit")
        at = match.end()
        token = match.group().strip().rstrip(".")
        if match.group(1):
            if last is None:
                raise NotUnderstood("no unit")
            base, by, one = last
            more = int(match.group(1)) - 1
            factor *= by ** (one * more)
            powers[base] = powers.get(base, 0) + one * more
        elif token in ("/", "per"):
            sign = -1
        elif token in ("", "*", "\\cdot", "\\times", "-", "of", "in", "(", ")", ","):
            if token == "in" and last is None:  # inches
                last = ("m", _F("0.0254"), sign)
                powers["m"] = powers.get("m", 0) + sign * pending
                factor *= _F("0.0254") ** (sign * pending)
        elif token in ("a", "an", "the", "each") and last is not None:
            continue
        elif token in _SQUARE:
            if token in ("squared", "cubed") and last is not None:
                base, by, one = last
                factor *= by ** (one * (_SQUARE[token] - 1))
                powers[base] += one * (_SQUARE[token] - 1)
            else:
                pending = _SQUARE[token]
        elif token in _REFUSED or not _SYMBOL.fullmatch(token):
            raise NotUnderstood("words that are no unit")
        else:
            by, base = _TABLE.get(_singular(token), (_F(1), _singular(token)))
            if base == "1":  # "units": counts, of whatever power
                last, pending = ("", _F(1), 0), 1
                powers.setdefault("", 0)
                continue
            last = (base, by, sign)
            factor *= by ** (sign * pending)
            powers[base] = powers.get(base, 0) + sign * pending
            pending, sign = 1, 1
    return factor, tuple(sorted((b, n) for b, n in powers.items() if n))


def _singular(word: str) -> str:
    word = word.lower()
    if word in _TABLE:
        return word
    if word.endswith("s") and len(word) > 3 and not word.endswith("ss"):
        return word[:-1]
    return word
