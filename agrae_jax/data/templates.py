"""Prompts: the tokenizer's own chat template and the papers' fixed templates.

The door of jinja2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import jinja2.ext
import jinja2.sandbox

from agrae_jax.data.tokenizer import Tokenizer as Tokenizer
from agrae_jax.data.tokenizer import from_folder as from_folder
from agrae_jax.data.tokenizer import from_vocabulary as from_vocabulary
from agrae_jax.data.tokenizer import tiny as tiny
from agrae_jax.errors import UserError

Messages = Sequence[Mapping[str, str]]

# User text and system line of the A-GRAE scripts (arXiv 2602.05548).
_ASK = "Please reason step by step, and put your final answer within \\boxed{}."
_SYSTEM = "You are a helpful assistant."

# Chat markup that the fixed templates write: (before, between role and text, after).
_CHATML = ("<|im_start|>", "\n", "<|im_end|>\n")
_LLAMA3 = ("<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>")

TEMPLATES = ("chat", "qwen", "simple", "qwen3_no_thinking", "llama", "raw")


def render(
    question: str,
    *,
    template: str,
    system: str = "",
    examples: Sequence[tuple[str, str]] = (),
    tokenizer: Tokenizer,
) -> str:
    """The prompt's text up to where the completion starts.

    `chat` is the tokenizer's own template; `qwen`, `qwen3_no_thinking`, `llama` and
    `simple` are the A-GRAE scripts' (arXiv 2602.05548); `raw` is the question alone.
    `examples` are worked (question, answer) pairs, put before the question as turns.
    An empty `system` leaves the template's own system line.
    """
    if template == "chat":
        return _render_chat(_turns(question, system, examples), tokenizer)
    if template in ("simple", "raw"):
        return _render_plain(question, template, system, examples)
    if template not in TEMPLATES:
        known = ", ".join(TEMPLATES)
        raise UserError(f"data.template {template!r} is not known; known: {known}")
    ask = [(f"{q}\n{_ASK}", a) for q, a in examples]
    turns = _turns(f"{question}\n{_ASK}", system or _SYSTEM, ask)
    if template == "llama":
        return "<|begin_of_text|>" + _markup(turns, _LLAMA3)
    thought = "<think>\n\n</think>\n\n" if template == "qwen3_no_thinking" else ""
    return _markup(turns, _CHATML) + thought


def encode_prompt(
    question: str,
    *,
    template: str,
    system: str = "",
    examples: Sequence[tuple[str, str]] = (),
    tokenizer: Tokenizer,
) -> list[int]:
    """Token ids of the rendered prompt.

    Chat markup brings its own bos token; plain text gets the one that the tokenizer
    adds, so there is never none and never two.
    """
    text = render(
        question,
        template=template,
        system=system,
        examples=examples,
        tokenizer=tokenizer,
    )
    ids = tokenizer.encode(text)
    plain = template in ("simple", "raw")
    if plain and tokenizer.adds_bos and tokenizer.bos_id is not None:
        return [tokenizer.bos_id, *ids]
    return ids


def shared_prefix(**options: Any) -> tuple[int, ...]:
    """The tokens that every prompt of `encode_prompt(question, **options)` starts with.

    Two questions that have no first character in common tell how far the text is the
    same. It is cut before the last special token of that: text is split there before
    anything is merged, so what follows cannot change the tokens before. Empty for a
    template without special tokens in its constant part.
    """
    first, second = (encode_prompt(question, **options) for question in ("A b", "7 +"))
    pairs = enumerate(zip(first, second, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), 0)
    special = options["tokenizer"].special_ids
    cuts = [i for i, token in enumerate(first[:same]) if token in special]
    return tuple(first[: cuts[-1]]) if cuts else ()


def _turns(
    question: str, system: str, examples: Sequence[tuple[str, str]]
) -> list[dict[str, str]]:
    turns = [{"role": "system", "content": system}] if system else []
    for asked, answered in examples:
        turns.append({"role": "user", "content": asked})
        turns.append({"role": "assistant", "content": answered})
    return [*turns, {"role": "user", "content": question}]


def _markup(turns: Messages, markup: tuple[str, str, str]) -> str:
    before, between, after = markup
    text = "".join(
        f"{before}{turn['role']}{between}{turn['content']}{after}" for turn in turns
    )
    return f"{text}{before}assistant{between}"


def _render_plain(
    question: str, template: str, system: str, examples: Sequence[tuple[str, str]]
) -> str:
    if template == "raw":
        shots = "".join(f"{q}\n{a}\n\n" for q, a in examples)
        last = question
    else:
        shots = "".join(f"Question:\n{q}\nAnswer:\n{a}\n\n" for q, a in examples)
        last = f"Question:\n{question}\nAnswer:\nLet's think step by step.\n"
    return (f"{system}\n\n" if system else "") + shots + last


def _render_chat(turns: Messages, tokenizer: Tokenizer) -> str:
    template, others = tokenizer.chat_template, ", ".join(TEMPLATES[1:])
    if template is None:
        raise UserError(
            "data.template is chat but the tokenizer has no chat template;"
            f" choose one of {others}"
        )
    if not isinstance(template, str):
        raise UserError(
            "the tokenizer's chat_template is no text (of several, one has to be named"
            f" default); mend it or set data.template to one of {others}"
        )
    text = _run_chat(template, turns, tokenizer)
    if turns[-1]["content"].strip() not in text:
        other = [*turns[:-1], {**turns[-1], "content": "7 + 8?"}]
        if _run_chat(template, other, tokenizer) == text:
            raise UserError(
                "the tokenizer's chat template does not show the question; mend it or"
                f" set data.template to one of {others}"
            )
    return text


def _run_chat(template: str, turns: Messages, tokenizer: Tokenizer) -> str:
    # The settings under which Hugging Face templates are written. No clock: a prompt
    # must not change from one day to the next, and templates that ask for the date
    # have a fixed one to fall back on.
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
    )
    environment.globals["raise_exception"] = _raise
    environment.filters["tojson"] = lambda value, **options: json.dumps(
        value, ensure_ascii=False, **options
    )
    try:
        return environment.from_string(template).render(
            messages=turns,
            add_generation_prompt=True,
            bos_token=tokenizer.token(tokenizer.bos_id),
            eos_token=tokenizer.token(min(tokenizer.eos_ids)),
            pad_token=tokenizer.token(tokenizer.pad_id),
        )
    except Exception as error:  # a template is a program: it raises what it likes
        text = str(error) or type(error).__name__
        raise UserError(f"the tokenizer's chat template failed: {text[:300]}") from None


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)
