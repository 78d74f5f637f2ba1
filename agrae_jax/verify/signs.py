"""Unicode signs, digits and letters as the LaTeX that they stand for."""

from __future__ import annotations

import re
import unicodedata

_SIGNS = {
    "−": "-", "–": "-", "—": "-", "﹣": "-", "‐": "-", "‑": "-", "×": r"\times ",
    "÷": r"\div ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "≤": r"\le ",
    "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
    "±": r"\pm ", "∓": r"\mp ", "∞": r"\infty ", "√": r"\rootof ", "∪": r"\cup ",
    "∛": r"\cuberootof ",
    "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset ", "∖": r"\setminus ",
    "°": r"^\circ ", "º": r"^\circ ", "′": "'", "、": ",", "，": ",", "。": ".",
    "；": ";", "⟨": r"\langle ", "⟩": r"\rangle ", "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}",
    "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "…": r"\ldots ", "∣": "|",
    "∧": r"\land ", "∨": r"\lor ", "⁄": "/", "∶": ":", "∀": r"\forall ",
    "ϕ": r"\phi ", "ϵ": r"\epsilon ", "’": "'", "‘": "'", "＾": "^", "％": r"\%",
}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon",
    "ζ": "zeta", "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu",
    "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_SIGNS.update({sign: f"\\{name} " for sign, name in _GREEK.items()})
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")

_SUPER = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_SUB = re.compile("[₀₁₂₃₄₅₆₇₈₉ₙ]+")
_VULGAR = re.compile("[¼-¾⅐-⅞↉]")
_OVERLINED = re.compile("((?:\\d\u0305)+)")


def to_ascii(text: str) -> str:
    """The text with signs of other scripts as LaTeX; unknown ones stay."""
    text = _OVERLINED.sub(
        lambda m: "\\overline{" + m.group().replace("\u0305", "") + "}", text
    )
    text = _VULGAR.sub(_vulgar, text)
    text = _SUPER.sub(lambda m: f"^{{{m.group().translate(_SUPERSCRIPTS)}}}", text)
    text = _SUB.sub(lambda m: f"_{{{m.group().translate(_SUBSCRIPTS)}}}", text)
    out = []
    for char in text:
        if char.isascii():
            out.append(char)
        elif char in _SIGNS:
            out.append(_SIGNS[char])
        else:
            kind = unicodedata.category(char)
            if kind == "Zs":
                out.append(" ")
            elif kind == "Nd":  # the digits of any script
                out.append(str(unicodedata.decimal(char)))
            elif kind not in ("Cf", "Cc"):
                out.append(unicodedata.normalize("NFKC", char))
    return "".join(out)


def _vulgar(match: re.Match[str]) -> str:
    top, _, bottom = unicodedata.normalize("NFKC", match.group()).partition("⁄")
    return f"\\frac{{{top}}}{{{bottom}}}"
