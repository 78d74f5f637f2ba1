"""A tokenizer written as the files of a Hugging Face folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tokenizers import processors

from agrae_jax.data.tokenizer import Tokenizer

# Everything that a published folder may hold about its tokenizer.
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
)


def copy(source: Path, folder: Path) -> None:
    """Copies the tokenizer's files of a Hugging Face folder as they are."""
    for name in FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)


def write(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes tokenizer.json and tokenizer_config.json, the chat template in it."""
    backend = type(tokenizer.backend).from_str(tokenizer.backend.to_str())
    if tokenizer.adds_bos and tokenizer.bos_id is not None:
        bos = tokenizer.token(tokenizer.bos_id)
        backend.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A",
            pair=f"{bos} $A {bos} $B",
            special_tokens=[(bos, tokenizer.bos_id)],
        )
    backend.save(str(folder / "tokenizer.json"))
    fields: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokenizer.token(tokenizer.bos_id) or None,
        "eos_token": tokenizer.token(min(tokenizer.eos_ids)),
        "pad_token": tokenizer.token(tokenizer.pad_id),
        "clean_up_tokenization_spaces": False,
    }
    if tokenizer.chat_template is not None:
        fields["chat_template"] = tokenizer.chat_template
    text = json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
    (folder / "tokenizer_config.json").write_text(text, "utf-8")
