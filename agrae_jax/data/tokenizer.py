"""Tokenizers: a Hugging Face folder's, a .gguf file's, and a tiny one for tests.

The door of transformers and tokenizers; torch is not needed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from agrae_jax.errors import UserError


@dataclasses.dataclass(frozen=True)
class Tokenizer:
    """Text to token ids and back, with the facts that sampling needs."""

    backend: tokenizers.Tokenizer
    eos_ids: frozenset[int]  # any of them ends a completion
    pad_id: int
    bos_id: int | None
    adds_bos: bool  # plain text starts with the bos token
    chat_template: str | None  # of a folder: as found, which may be no text

    @property
    def vocab_size(self) -> int:
        """Number of ids, added tokens included."""
        return self.backend.get_vocab_size(with_added_tokens=True)

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids at which text is cut before merging, whatever stands around them."""
        added = self.backend.get_added_tokens_decoder().items()
        # stripping and whole words make a token depend on its neighbours
        return frozenset(
            i
            for i, token in added
            if not (token.lstrip or token.rstrip or token.single_word)
        )

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; special tokens written out in it become themselves."""
        return self.backend.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int], *, skip_special: bool = True) -> str:
        """The text of token ids, without special tokens unless they are asked for."""
        return self.backend.decode(
            [int(i) for i in ids], skip_special_tokens=skip_special
        )

    def token(self, token_id: int | None) -> str:
        """The text of one id as it stands in the vocabulary, "" for None."""
        return "" if token_id is None else self.backend.id_to_token(token_id) or ""


_VOCABULARIES = ("tokenizer.json", "vocab.json", "tokenizer.model")


def from_folder(path: str | Path) -> Tokenizer:
    """The fast tokenizer of a Hugging Face model folder, read without network.

    The end tokens are the tokenizer's, config.json's and generation_config.json's.
    """
    import transformers  # takes a second, and the other tokenizers need none of it

    folder = Path(path)
    if not (folder / "tokenizer_config.json").is_file():
        raise UserError(f"model folder {folder} has no tokenizer_config.json")
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        raise UserError(
            f"model folder {folder} has no tokenizer: copy the model's tokenizer.json"
            " into it"
        )
    try:
        hf: Any = transformers.AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
        backend = hf.backend_tokenizer
    except Exception as error:  # transformers raises whatever its parsers raise
        text = str(error).strip() or type(error).__name__
        raise UserError(f"tokenizer of {folder} cannot be read: {text}") from None
    own = {hf.eos_token_id} - {None}
    eos_ids = frozenset(map(int, own | _folder_eos(folder, backend)))
    if not eos_ids:
        raise UserError(f"model folder {folder} names no end token")
    adds_bos = hf.bos_token_id is not None and hf("")["input_ids"][:1] == [
        hf.bos_token_id
    ]
    pad_id, template = hf.pad_token_id, hf.chat_template
    if isinstance(template, dict):  # several: transformers, too, takes this one
        template = template.get("default", template)
    return Tokenizer(
        backend=backend,
        eos_ids=eos_ids,
        pad_id=min(eos_ids) if pad_id is None else pad_id,
        bos_id=hf.bos_token_id,
        adds_bos=adds_bos,
        chat_template=template,
    )


def _folder_eos(folder: Path, backend: Any) -> set[int]:
    """The end tokens of config.json and generation_config.json."""
    found: set[int] = set()
    size = backend.get_vocab_size(with_added_tokens=True)
    for file in (folder / "config.json", folder / "generation_config.json"):
        ids = _fields(file).get("eos_token_id") if file.is_file() else None
        for i in ids if isinstance(ids, list) else [] if ids is None else [ids]:
            if type(i) is not int or not 0 <= i < size:
                raise UserError(
                    f"model.path: {file}: eos_token_id = {repr(i)[:40]} is no token"
                    f" of the tokenizer, which has {size}"
                )
            found.add(i)
    return found


def _fields(file: Path) -> dict[str, Any]:
    try:
        fields = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"model.path: {file} cannot be read as JSON: {error}") from None
    if not isinstance(fields, dict):
        raise UserError(f"model.path: {file} should hold a JSON object")
    return fields


# How the text is cut before merges, by llama.cpp's name for it.
_SPLITS = {
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def from_vocabulary(
    tokens: Sequence[str],
    merges: Sequence[str],
    token_types: Sequence[int],
    chat_template: str | None,
    *,
    bos_id: int | None,
    eos_id: int,
    pad_id: int | None,
    unk_id: int | None = None,
    add_bos: bool = False,
    pre: str = "smollm",
) -> Tokenizer:
    """A byte-level BPE tokenizer from a .gguf file's vocabulary.

    `token_types` are llama.cpp's: 3 = control (special), 4 = user defined. `pre` is
    its name for the way text is cut: gpt-2, smollm (each digit alone, as in Hugging
    Face's SmolLM2), qwen2 or llama-bpe. `unk_id` goes unused: bytes cover all text.
    """
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if pre in ("gpt-2", "default"):
        cut: Any = byte_level
    elif pre == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        cut = pre_tokenizers.Sequence([digits, byte_level])
    elif pre in _SPLITS:
        regex = tokenizers.Regex(_SPLITS[pre])
        cut = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(regex, behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    else:
        known = ", ".join(["gpt-2", "smollm", *_SPLITS])
        raise UserError(f"pre-tokenizer {pre!r} is not known; known: {known}")
    backend = tokenizers.Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(tokens)},
            merges=[(m.split(" ")[0], m.split(" ")[1]) for m in merges],
            ignore_merges=pre == "llama-bpe",
        )
    )
    backend.pre_tokenizer = cut
    if pre == "qwen2":  # as Hugging Face's; the .gguf file does not say so
        backend.normalizer = normalizers.NFC()
    backend.decoder = decoders.ByteLevel()
    for kind, special in ((3, True), (4, False)):
        added = [
            tokenizers.AddedToken(token, special=special, normalized=False)
            for token, token_type in zip(tokens, token_types, strict=True)
            if token_type == kind
        ]
        backend.add_special_tokens(added) if special else backend.add_tokens(added)
    return Tokenizer(
        backend=backend,
        eos_ids=frozenset([eos_id]),
        pad_id=eos_id if pad_id is None else pad_id,
        bos_id=bos_id,
        adds_bos=add_bos,
        chat_template=chat_template,
    )


def tiny() -> Tokenizer:
    """One token a printable character: 112 ids, for tests and random models.

    `\\boxed{0}` to `\\boxed{9}` are single tokens too, so that a random model gives
    right answers to small sums now and then and a smoke run has a gradient.
    """
    special = ["<|pad|>", "<|unk|>", "<|im_start|>", "<|im_end|>"]
    special += ["<|reserved_0|>", "<|reserved_1|>"]
    characters = ["\n", *map(chr, range(32, 127))]
    boxed = [f"\\boxed{{{digit}}}" for digit in range(10)]
    vocab = {token: i for i, token in enumerate([*special, *characters, *boxed])}
    backend = tokenizers.Tokenizer(
        models.BPE(vocab=vocab, merges=[], unk_token="<|unk|>")
    )
    backend.decoder = decoders.Fuse()
    backend.add_special_tokens(special)
    backend.add_tokens(
        [tokenizers.AddedToken(text, normalized=False) for text in boxed]
    )
    return Tokenizer(
        backend=backend,
        eos_ids=frozenset([vocab["<|im_end|>"]]),
        pad_id=vocab["<|pad|>"],
        bos_id=None,
        adds_bos=False,
        chat_template=(
            "{% for message in messages %}<|im_start|>{{ message.role }}\n"
            "{{ message.content }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
        ),
    )
