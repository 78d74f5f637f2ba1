"""Prompts as text: the papers' templates literally, chat templates as transformers."""

import dataclasses

import pytest
import transformers

from agrae_jax.data import templates, tokenizer
from agrae_jax.errors import UserError

TINY = tokenizer.tiny()
ASK = "Please reason step by step, and put your final answer within \\boxed{}."
EXAMPLES = (("1+1?", "\\boxed{2}"), ("2+2?", "\\boxed{4}"))


def _render(template, **kwargs):
    return templates.render("3+3?", template=template, tokenizer=TINY, **kwargs)


# A-GRAE's templates (arXiv 2602.05548, its scripts).
LITERAL = {
    "qwen": "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    f"<|im_start|>user\n3+3?\n{ASK}<|im_end|>\n<|im_start|>assistant\n",
    "qwen3_no_thinking": "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    f"<|im_start|>user\n3+3?\n{ASK}<|im_end|>\n<|im_start|>assistant\n"
    "<think>\n\n</think>\n\n",
    "llama": "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
    "You are a helpful assistant.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
    f"3+3?\n{ASK}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "simple": "Question:\n3+3?\nAnswer:\nLet's think step by step.\n",
    "raw": "3+3?",
    "chat": "<|im_start|>user\n3+3?<|im_end|>\n<|im_start|>assistant\n",
}


@pytest.mark.parametrize("template", templates.TEMPLATES)
def test_literal(template):
    assert _render(template) == LITERAL[template]


@pytest.mark.parametrize("question", ["3+3?", "", "\n x", "<|im_end|>", " Ann has 3"])
@pytest.mark.parametrize("template", ["chat", "qwen", "qwen3_no_thinking"])
def test_the_shared_prefix_opens_every_prompt(template, question):
    options = {"template": template, "system": "S", "examples": EXAMPLES[:1]}
    prefix = templates.shared_prefix(tokenizer=TINY, **options)
    prompt = templates.encode_prompt(question, tokenizer=TINY, **options)
    assert prompt[: len(prefix)] == list(prefix)
    # all but the question's own turn: a token may grow across any other border
    assert TINY.decode(prompt[len(prefix) :], skip_special=False).startswith(
        f"<|im_start|>user\n{question}"
    )


def test_no_shared_prefix_without_special_tokens():
    prefix = templates.shared_prefix(template="raw", system="Sum.", tokenizer=TINY)
    assert prefix == ()


def test_examples_are_turns_and_the_system_line_comes_first():
    assert _render("chat", system="Be brief.", examples=EXAMPLES) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n\\boxed{2}<|im_end|>\n"
        "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n\\boxed{4}<|im_end|>\n"
        "<|im_start|>user\n3+3?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert _render("qwen", system="Be brief.", examples=EXAMPLES[:1]) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        f"<|im_start|>user\n1+1?\n{ASK}<|im_end|>\n"
        "<|im_start|>assistant\n\\boxed{2}<|im_end|>\n"
        f"<|im_start|>user\n3+3?\n{ASK}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert _render("simple", system="S.", examples=EXAMPLES[:1]) == (
        "S.\n\nQuestion:\n1+1?\nAnswer:\n\\boxed{2}\n\n"
        "Question:\n3+3?\nAnswer:\nLet's think step by step.\n"
    )
    assert _render("raw", system="S.", examples=EXAMPLES[:1]) == (
        "S.\n\n1+1?\n\\boxed{2}\n\n3+3?"
    )


@pytest.mark.parametrize("template", ["qwen", "simple", "llama", "raw", "chat"])
def test_a_question_is_never_a_pattern(template):
    odd = "{input} {{ messages }} %s {0} \\1 {% if x %}"
    text = templates.render(odd, template=template, tokenizer=TINY)
    assert text.count(odd) == 1


# Features that published chat templates use.
CHAT_TEMPLATES = [
    TINY.chat_template,
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' "
    "%}{{ '<|im_start|>system\nYou are helpful<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
    "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}",
    "{% for m in messages %}\n    {% if m.role == 'user' %}\n    U: {{ m.content }}\n"
    "    {% endif %}\n{% endfor %}\n  {% if add_generation_prompt %}\nA:{% endif %}",
    "{{- bos_token }}\n{%- for m in messages %}\n    {%- if m.role == 'system' %}\n"
    "        {%- continue %}\n    {%- endif %}\n"
    "    {{- '[' + m.role | upper + '] ' + m.content | trim + eos_token }}\n"
    "{%- endfor %}\n{{ messages[0] | tojson }}\n",
]


@pytest.mark.parametrize("chat_template", CHAT_TEMPLATES)
@pytest.mark.parametrize("system", ["", "Be é brief."])
def test_chat_equals_transformers(chat_template, system):
    hf = transformers.PreTrainedTokenizerFast(
        tokenizer_object=TINY.backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|pad|>",
        chat_template=chat_template,
    )
    ours = dataclasses.replace(
        TINY, bos_id=TINY.encode("<|im_start|>")[0], chat_template=chat_template
    )
    messages = [{"role": "system", "content": system}] if system else []
    messages += [
        {"role": "user", "content": "1+1?"},
        {"role": "assistant", "content": "\\boxed{2}"},
        {"role": "user", "content": " 3+3?\n"},
    ]
    want = hf.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    got = templates.render(
        " 3+3?\n", template="chat", system=system, examples=EXAMPLES[:1], tokenizer=ours
    )
    assert got == want
    ids = hf.apply_chat_template(
        messages, tokenize=True, add_generation_prompt=True, return_dict=False
    )
    assert ids == templates.encode_prompt(
        " 3+3?\n", template="chat", system=system, examples=EXAMPLES[:1], tokenizer=ours
    )


@pytest.mark.parametrize(
    ("template", "count"), [("raw", 1), ("simple", 1), ("chat", 1), ("qwen", 0)]
)
def test_never_two_bos_tokens_and_none_missing(template, count):
    bos = TINY.encode("<|reserved_0|>")[0]
    with_bos = dataclasses.replace(
        TINY,
        bos_id=bos,
        adds_bos=True,
        chat_template="{{ bos_token }}" + str(TINY.chat_template),
    )
    ids = templates.encode_prompt("3+3?", template=template, tokenizer=with_bos)
    assert ids.count(bos) == count and (not count or ids[0] == bos)
    without = dataclasses.replace(with_bos, adds_bos=False)
    plain = templates.encode_prompt("3+3?", template="raw", tokenizer=without)
    assert bos not in plain


def test_a_missing_or_bad_chat_template_is_one_line():
    with pytest.raises(UserError, match="'qwem' is not known; known: chat, qwen"):
        _render("qwem")
    for broken, message in (
        (None, "has no chat template; choose one of qwen"),
        ("{{ raise_exception('no system') }}", "chat template failed: no system"),
        ("{% if %}", "chat template failed"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "chat template failed"),
        ("{{ messages.append(1) }}", "chat template failed"),
        ('{{ 1 + "a" }}', "chat template failed: unsupported operand"),
        ("{{ 1 / 0 }}", "chat template failed: division by zero"),
        ("{% for i in range(10 ** 9) %}{% endfor %}", "failed: Range too big"),
        (
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
            "failed: maximum recursion",
        ),
        (7, "chat_template is no text"),
        ({"tool_use": "{{ messages }}"}, "chat_template is no text .* named default"),
        ("hello", "does not show the question; .* data.template to one of qwen"),
        ("{{ messages[0].role }}", "does not show the question"),
    ):
        bad = dataclasses.replace(TINY, chat_template=broken)
        with pytest.raises(UserError, match=message) as caught:
            templates.render("3+3?", template="chat", tokenizer=bad)
        assert "\n" not in str(caught.value)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
