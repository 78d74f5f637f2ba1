"""A data set's fingerprint: a resume must train on what the run was started with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from agrae_jax.data.batches import Encoded

Fingerprint = dict[str, int | str]


def of(encoded: Sequence[Encoded]) -> Fingerprint:
    """The number of problems and two hashes, of their texts and of their tokens.

    In order, since the order decides what is drawn. The tokens change with the
    template and the tokenizer, too.
    """
    return {
        "problems": len(encoded),
        "text": _sha256(
            f"{p.question}\0{p.answer}\0{p.level}" for p in (e.problem for e in encoded)
        ),
        "tokens": _sha256(",".join(map(str, item.tokens)) for item in encoded),
    }


def difference(before: Fingerprint, now: Fingerprint) -> str:
    """What has changed between two fingerprints, in words; "" if nothing has."""
    if before == now:
        return ""
    if before.get("problems") != now["problems"]:
        return f"had {before.get('problems')} problems and has {now['problems']} now"
    if before.get("text") != now["text"]:
        return "has other questions, answers or levels, or another order, now"
    return "gives other tokens now: the template or the tokenizer has changed"


def _sha256(parts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode(errors="surrogatepass") + b"\1")
    return found.hexdigest()[:16]
