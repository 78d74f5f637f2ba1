"""What a file from elsewhere must not be able to do: run code, or choose a path."""

import ast
import json

import numpy as np
import pytest

from agrae_jax.data import tokenizer
from agrae_jax.errors import UserError
from agrae_jax.evaluator import dataset_slug
from agrae_jax.run_directory import RunDirectory
from tests.source_tree import PACKAGE, ROOT, sources

# They run what they read, or can.
UNSAFE = set("pickle cPickle dill cloudpickle joblib marshal shelve torch yaml".split())
FLAGS = {"allow_pickle", "trust_remote_code", "weights_only"}


@pytest.mark.parametrize("folder", [PACKAGE, ROOT / "configs"], ids=lambda p: p.name)
def test_nothing_is_unpickled_and_no_code_of_a_model_is_trusted(folder):
    files = sources(folder)
    assert len(files) > 3
    for path, tree in files.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                of = getattr(node, "module", None)
                found = [of] if of else [alias.name for alias in node.names]
                assert not {n.split(".")[0] for n in found} & UNSAFE, path
            if isinstance(node, ast.keyword) and node.arg in FLAGS:
                never = isinstance(node.value, ast.Constant) and not node.value.value
                assert never, f"{path} line {node.lineno}: {node.arg}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "__import__"), path


def test_code_of_a_model_folder_does_not_run(tmp_path, monkeypatch):
    # Where nobody forbids it, transformers asks, and runs it at a yes.
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    marker = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    auto_map = {"AutoTokenizer": ["mine.Mine", None]}
    fields = {"tokenizer_class": "Mine", "auto_map": auto_map}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(fields))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=f"tokenizer of {tmp_path} cannot be read"):
        tokenizer.from_folder(tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize(
    "name",
    ["jsonl:../../etc/x.jsonl", "jsonl:/a/..jsonl", "parquet:..", "tfds:../x:1", "a/"],
)
def test_no_name_of_a_data_set_leads_out_of_the_run_directory(tmp_path, name):
    slug = dataset_slug(name)
    assert "/" not in slug and slug.strip(".")
    here = RunDirectory(tmp_path)
    here.eval.mkdir()
    path = here.write_evaluation(f"{slug}_step_000000", {})
    assert path.resolve().parent == here.eval.resolve()


def test_a_fault_file_holds_numbers_only(tmp_path):
    path = RunDirectory(tmp_path).write_fault(1, {"x": np.ones(2)})
    with np.load(path, allow_pickle=False) as batch:
        assert batch["x"].tolist() == [1, 1]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
