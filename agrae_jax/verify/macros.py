r"""Tables of the parser: what each macro and word stands for. A whitelist."""

from __future__ import annotations


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


TEXT = _set(
    "text textbf textit textrm textnormal texttt textsf textup textsc mbox hbox emph"
)
ROMAN = _set(
    "mathrm operatorname operatorname* mathbf mathit mathsf mathtt bm boldsymbol "
    "mathcal mathscr mathfrak"
)
NOTHING = _set(
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle "
    "displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits mathstrut "
    "strut boxed fbox underline mathop mathord mathbin mathrel rm bf it cal large "
    "Large small normalsize centering bold quad qquad checkmark blacksquare qed "
    "ensuremath tt sf sc em"
)
OPERATORS = {
    "le": "<=", "leq": "<=", "leqslant": "<=", "leqq": "<=", "ge": ">=", "geq": ">=",
    "geqslant": ">=", "geqq": ">=", "lt": "<", "gt": ">", "ne": "!=", "neq": "!=",
    "approx": "~", "simeq": "~", "equiv": "==", "in": "in", "notin": "notin",
    "times": "*", "cdot": "*", "ast": "*", "div": "/", "slash": "/", "pm": "+-",
    "mp": "-+", "cup": "cup", "bigcup": "cup", "cap": "cap", "setminus": "setminus",
    "backslash": "setminus", "mid": "|", "vert": "|", "lvert": "|", "rvert": "|",
    "colon": ":", "to": ":", "land": "and", "wedge": "and", "lor": "or", "vee": "or",
    "lbrack": "[", "rbrack": "]", "lparen": "(", "rparen": ")", "langle": "langle",
    "rangle": "rangle", "lfloor": "lfloor", "rfloor": "rfloor", "lceil": "lceil",
    "rceil": "rceil", "prime": "'", "bmod": "mod", "mod": "mod", "pmod": "pmod",
    "ldots": "dots", "dots": "dots", "cdots": "dots", "choose": "choose",
    "over": "over",
    "percent": "%", "degree": "deg", "circ": "circ", "hline": "hline", "top": "top",
}  # fmt: skip
FUNCTIONS = _set(
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh "
    "coth cis log ln lg exp sqrt frac binom sum prod gcd lcm max min det rootof "
    "cuberootof"
)
ALIASES = {
    "textdollar": "$",
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom",
    "tbinom": "binom", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "cosec": "csc", "tg": "tan", "ctg": "cot", "arctg": "arctan",
}  # fmt: skip
# Function names that count without a backslash; those of Python's builtins (abs, max,
# sum, pow, ..) stay words, since such an answer is program text.
PLAIN_FUNCTIONS = _set(
    "sin cos tan cot sec csc arcsin arccos arctan asin acos atan sinh cosh tanh log ln "
    "exp sqrt gcd lcm cis"
)
CONSTANTS = {
    "pi": "pi", "infty": "inf", "infinity": "inf", "emptyset": "empty",
    "varnothing": "empty",
}  # fmt: skip
GREEK = _set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa "
    "lambda mu nu xi rho varrho sigma tau upsilon phi varphi chi psi omega Gamma Delta "
    "Theta Lambda Xi Sigma Upsilon Phi Psi Omega ell hbar partial nabla angle triangle "
    "star square imath jmath"
)
GREEK_WORDS = GREEK - _set("star square angle triangle partial")
ACCENTS = _set(
    "overline bar vec hat widehat tilde widetilde dot ddot overrightarrow "
    "overleftrightarrow"
)
CONNECTIVES = {"and": "and", "or": "or", "to": ":", "mod": "mod", "in": "in"}
NUMBER_SETS = _set("R N Z Q C")
LONE_UNITS = _set("m s g h l L N J W V K A F C")
ENVIRONMENTS = _set("pmatrix bmatrix matrix vmatrix array smallmatrix Bmatrix Vmatrix")
RELATIONS = _set("= < > <= >= != == ~ in notin <>")
SEPARATORS = _set(", ; and or newline &")
