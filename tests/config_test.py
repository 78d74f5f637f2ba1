"""The config door: good flags as ml_collections has them, bad ones in one line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from absl import flags
from ml_collections import config_flags

from agrae_jax import config, config_docs, methods
from agrae_jax.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
SMOKE = f"--config={ROOT}/configs/smoke.py"


def _parse(*argv, **kwargs):
    return config.parse([SMOKE, *argv], **kwargs)


def _refused(*argv, **kwargs):
    with pytest.raises(UserError) as caught:
        config.parse(list(argv), **kwargs)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_good_flags():
    parsed = _parse(
        "--workdir=runs/x",
        "--config.method.kwargs.alpha=0.5",
        "--config.rollout.prompts",
        "8",
        "--config.mesh.fsdp",
        "-1",
        "--config.eval.before=false",
        "--noconfig.eval.after",
        "--config.model.remat",
        "--config.data.train_kwargs.levels=sum_1_1,sum_2_1",
        "--config.data.test_kwargs.levels=('sum_1_1',)",
        "--config.optim.learning_rate=1",
        "--config.loss.clip_high=0.28",
        "--config.loss.kl_kind=none",
        "--config.data.system=a = b",
    )
    c = parsed.config
    assert parsed.workdir == Path("runs/x") and parsed.notes == ()
    assert c.method.kwargs.alpha == 0.5 and c.method.kwargs.base == "grpo"
    assert c.rollout.prompts == 8 and c.mesh.fsdp == -1
    assert (c.eval.before, c.eval.after, c.model.remat) == (False, False, True)
    assert c.data.train_kwargs.levels == ("sum_1_1", "sum_2_1")
    assert c.data.train_kwargs.size == 64 and c.data.train_kwargs.seed == 0
    assert c.data.test_kwargs.levels == ("sum_1_1",)
    assert c.optim.learning_rate == 1.0 and type(c.optim.learning_rate) is float
    assert c.loss.clip_high == 0.28 and c.loss.clip_low is None
    assert c.loss.kl_kind is None
    assert c.data.system == "a = b"


def test_the_last_flag_wins_and_the_order_of_names_does_not_matter():
    c = _parse(
        "--config.method.kwargs.clip_high=0.3",
        "--config.method.name=dr_grpo",
        "--config.steps=1",
        "--config.steps=2",
    ).config
    assert c.method.name == "dr_grpo" and c.method.kwargs.clip_high == 0.3
    assert c.steps == 2


# Flags whose meaning ml_collections' own parser shows.
@pytest.mark.parametrize(
    ("flag", "path"),
    [
        ("--config.rollout.prompts=8", "rollout.prompts"),
        ("--config.optim.learning_rate=3", "optim.learning_rate"),
        ("--config.optim.eps=1e-6", "optim.eps"),
        ("--config.model.dtype=bfloat16", "model.dtype"),
        ("--config.model.remat=false", "model.remat"),
        ("--config.model.remat=0", "model.remat"),
        ("--config.eval.before=True", "eval.before"),
        ("--config.data.examples=(('q', 'a'), ('r', 'b'))", "data.examples"),
        ("--config.loss.clip_low=0.1", "loss.clip_low"),
        ("--config.loss.reduction=token_mean", "loss.reduction"),
        ("--config.data.system=", "data.system"),
    ],
)
def test_good_flags_mean_what_ml_collections_makes_of_them(flag, path):
    def at(tree):
        for name in path.split("."):
            tree = tree[name]
        return tree

    values = flags.FlagValues()
    argv = ["program", SMOKE, flag]
    defined = config_flags.DEFINE_config_file(
        "config", flag_values=values, sys_argv=argv
    )
    values(argv)
    expected = at(defined.value)
    got = at(_parse(flag).config)
    assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--config.method.kwargs.alhpa=1", "did you mean config.method.kwargs.alpha?"),
        ("--config.method.nmae=grpo", "did you mean config.method.name?"),
        (
            "--config.method.name=gpro",
            "config.method.name=gpro is not a method; did you mean grpo?",
        ),
        ("--config.rollout.nosuch=3", "config.rollout has .*prompts, samples"),
        ("--config.rolout.prompts=3", "did you mean config.rollout.prompts?"),
        ("--config.alpha=3", "did you mean config.method.kwargs.alpha?"),
        ("--config.samples=3", "config.eval.samples or config.rollout.samples?"),
        ("--config.nosuch=3", "config has .*rollout, seed"),
        ("--config.steps.x=3", "unknown field config.steps.x"),
        ("--config.rollout=3", "config.rollout is a section; set one of its fields"),
        ("--config.rollout.prompts=four", "takes a value of type int, not 'four'"),
        ("--config.rollout.prompts=4.5", "takes a value of type int, not '4.5'"),
        ("--config.optim.learning_rate=nan", "type float, not 'nan'"),
        ("--config.optim.learning_rate=1e-5x", "type float, not '1e-5x'"),
        ("--config.eval.before=maybe", "takes true or false, not 'maybe'"),
        ("--config.data.examples=(1", "takes a tuple such as"),
        ("--config.rollout.prompts=none", "type int, not 'none'"),
        ("--config.rollout.prompts", "needs a value"),
        ("--config.method.kwargs.sample_level=7", "takes true or false"),
        ("--config.method.kwargs.alpha=-1", "alpha"),
        ("--config.method.kwargs.base=gpro", "'gpro'"),
        ("--config.data.train_kwargs.sise=3", "config.data.train_kwargs.size?"),
        ("--config.data.train=arithmetc", "unknown data set 'arithmetc'; known"),
        (
            "--config.data.train=jsonl:/no/such.jsonl",
            "config.data.train=jsonl:/no/such.jsonl: file /no/s",
        ),
        (
            "--config.data.test=math500",
            "config.data.test=math500: file .*math500.jsonl",
        ),
        ("--config.data.train=math500", "math500 has no train split, only test"),
        ("--config.model.kwargs.hiden_size=8", "config.model.kwargs.hidden_size?"),
        ("--config.model.path=random:lama", "'lama' is not known; known: llama"),
        ("--config.model.path=/no/such", "config.model.path: /no/such does not exist"),
        ("--config.model.path=", "config.model.path is not set"),
        ("--config.model.path=package:nosuch", "package nosuch is not installed"),
        ("--config.model.path=package:", "lacks the name of an installed wheel"),
        (
            "--config.model.kwargs.num_attention_heads=0",
            "num_attention_heads = 0 must be a whole number from 1 to 100000",
        ),
        (
            "--config.model.kwargs.hidden_size=60",
            "hidden_size = 60 over num_attention_heads = 4 must be an even number",
        ),
        ("--config.steps=100000000000000000000", "steps must be from 0 to 1000000000"),
        ("--config.steps=999999999", "steps=999999999 x rollout.prompts=4 is more"),
        ("--config.verify.deadline_s=1e-9", "deadline_s must be from 0.01 to 3600"),
        ("--config.loss.clip_low=-1", "loss.clip_low must be from 0 to 1000000000"),
        ("--config.loss.clip_high=-0.1", "loss.clip_high must be from 0 to 1000000000"),
        ("--config.loss.kl_coef=-1", "loss.kl_coef must be from 0 to 1000000"),
        (
            "--config.loss.entropy_coef=-1",
            "loss.entropy_coef must be from 0 to 1000000",
        ),
        ("--config.method.kwargs.ddof=8", "method.kwargs.ddof must be from 0 to 1"),
        ("--config.data.train_kwargs.seed=-1", "data.train_kwargs.seed must be from 0"),
        ("--config.data.train_kwargs.size=0", "data.train_kwargs.size must be from 1"),
        (
            "--config.rollout.samples=1",
            "config.rollout.samples must be from 2 to 65536, not 1",
        ),
        ("--config.rollout.temperature=0", "config.rollout.temperature must be > 0"),
        ("--config.rollout.temperature=1e-320", "rollout.temperature must be > 0"),
        ("--config.rollout.segment=10101010101", "segment must be at most 2147483647"),
        ("--config.optim.learning_rate=1e300", "learning_rate must be at most 1e"),
        ("--config.optim.eps=1e30", "optim.eps must be from 1e-30 to 1, not 1e[+]30"),
        ("--config.optim.weight_decay=1e30", "weight_decay must be from 0 to 1000,"),
        ("--config.data.train_kwargs.levels=({'a': 1},)", "takes a tuple such as"),
        (
            "--config.data.train_kwargs.levels=[[[]]]",
            r"arithmetic has no level \(\(\),\)",
        ),
        ("--config.data.train_kwargs.levels={1}", "takes a tuple .*, not '.1.'"),
        ('--config.data.train_kwargs.levels=b"x"', "takes a tuple .*, not 'b\"x\"'"),
        ("--config.data.examples=((b'a','c'),)", "examples takes a tuple such as"),
        (
            f"--config.data.examples={'-' * 100_000}",
            f"pairs of strings, not '{'-' * 79}.. .100002 characters.$",
        ),
        (
            f"--config.data.examples={'(' * 5000}",
            f"takes a tuple .*, not '{'[(]' * 79}.. .5002 characters.$",
        ),
        (
            "--config.data.train_kwargs.levels=sum_2_1,sum_to_9,sum_to_9",
            "train_kwargs.levels: arithmetic is given level 'sum_to_9' twice",
        ),
        ("--config.data.system=\udcff", r"system takes text in UTF-8, not '\\udcff'$"),
        (
            r"--config.data.examples=(('\ud800','a'),)",
            r"examples must be text in UTF-8, not '\\ud800'$",
        ),
        (f"--config.data.template={'a' * 5000}", r"'a{79}.. .5002 characters.$"),
        (
            f"--config.method.name={'a' * 5000}",
            "^.{80}.. .5019 characters. is not a method",
        ),
        (
            "--config.data.train_kwargs.levels=()",
            "train_kwargs.levels: arithmetic needs at least one level of sum_to_9",
        ),
        ("--config.data.test_kwargs.levels=('sum',)", "test_kwargs.levels.*no level"),
        ("--config.checkpoint.notice_url=zz", "notice_url='zz' must begin with http"),
        ("--config.checkpoint.notice_url=http://", "must begin with .* name a host"),
        ("--config.checkpoint.notice_url=http://h:x/", "notice_url='http://h:x/' mu"),
        (f"--config.model.path=/{'a' * 400}", "does not exist"),
        (f"--config.data.train=jsonl:/{'a' * 400}", "config.data.train: File name too"),
        ("--config.rollout.top_p=1.5", "config.rollout.top_p must be from 0 to 1"),
        ("--config.mesh.fsdp=0", "config.mesh.fsdp must be -1 or >= 1"),
        ("--config.model.dtype=fp16", "one of float32, bfloat16, not 'fp16'"),
        ("--config.data.template=qwem", "config.data.template must be one of chat"),
        ("--config.data.examples=('q', 'a')", "must hold .question, answer. pairs"),
        ("--config.optim.schedule=cosin", "must be one of constant, linear, cosine"),
        ("--config.loss.kl_kind=k9", "k9"),
        ("--config.loss.dual_clip=0.5", "dual_clip = 0.5 must be above 1"),
        ("--config.loss.reduction=mean", "'mean' is unknown"),
        ("--wrokdir=x", "unknown flag --wrokdir; did you mean --workdir?"),
        ("--workdir", "--workdir needs a value"),
        ("--workdir=", "--workdir is empty: give a directory, or leave it out"),
        ("stray", "unexpected 'stray'"),
    ],
)
def test_a_bad_flag_is_one_line(flag, message):
    told = _refused(SMOKE, flag)
    assert re.search(message.replace("?", r"\?"), told), told


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--config.rollout.wave=3", "config.rollout.wave=3 does not divide rollout.p"),
        ("--config.updates.mini_batches=3", "nearest that does is 2"),
        (
            "--config.updates.micro_batches=4",
            "rollout.prompts / updates.mini_batches=2",
        ),
        ("--config.rollout.prompts=5", "mini_batches=2 does not divide rollout.prompt"),
    ],
)
def test_sizes_that_do_not_divide_are_one_line(flag, message):
    assert message in _refused(SMOKE, flag)


_MANY = ("--config.rollout.prompts=1048576", "--config.updates.micro_batches=1")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--config.rollout.prompts=2147483647"],
            "config.rollout.prompts must be from 1 to 1048576, not 2147483647",
        ),
        (
            ["--config.rollout.prompts=1048575", "--config.updates.mini_batches=523"],
            "nearest that does is 465",
        ),
        (
            [*_MANY, "--config.rollout.max_new_tokens=1024"],
            "prompts x samples x max_new_tokens = 8589934592 is more than 2147483647",
        ),
        (
            ["--config.eval.max_new_tokens=1048576", "--config.eval.chunk=1024"],
            "eval.prompts x chunk x max_new_tokens = 4294967296 is more than",
        ),
        (
            ["--config.steps=100000000", "--config.updates.epochs=20"],
            "mini_batches x updates.epochs = 4000000000 is more than",
        ),
        (
            ["--config.model.kwargs.hidden_size=2147483648"],
            "hidden_size = 2147483648 must be a whole number from 1 to 1000000",
        ),
        (
            ["--config.method.name=pass_at_k_training", "--config.method.kwargs.k=9"],
            "config.method.kwargs.k=9 is more than rollout.samples=8",
        ),
        (
            [
                "--config.method.name=dapo",
                "--config.method.kwargs.dynamic_sampling=True",
                "--config.steps=100000000",
            ],
            "prompts x method.kwargs.max_batches = 4000000000 is more than",
        ),
        (
            ["--config.optim.warmup_steps=2147483647"],
            "warmup_steps must be from 0 to 1000000000, not 2147483647",
        ),
        (
            ["--config.rollout.temperature=1e30"],
            "rollout.temperature must be > 0 (1e-30 to 100), not 1e+30",
        ),
        (
            ["--config.eval.temperature=1e-320"],
            "eval.temperature must be 0 or at least 1e-30",
        ),
        (
            ["--config.model.path=random:"],
            "config.model.path=random: lacks a family, for example random:llama",
        ),
        (
            ["--config.checkpoint.grace_s=1e30"],
            "checkpoint.grace_s must be from 0.1 to 86400, not 1e+30",
        ),
    ],
)
def test_sizes_beyond_int32_and_memory_are_one_line(flags, message):
    assert message in _refused(SMOKE, *flags)


def test_bad_config_files_are_one_line(tmp_path):
    assert "did you mean configs/smoke.py?" in _refused("--config=configs/smok.py")
    assert "give --config=FILE" in _refused("--workdir=x")
    start = "from configs import base\ndef get_config():\n    c = base.get_config()\n"

    def file(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return f"--config={path}"

    for lines, message in (
        ("    c.rollout.promts = 4\n", "unknown field rollout.promts; did you mean ro"),
        ("    c.rollout.prompts = 'x'\n", "mine.py line 4: TypeError"),
        ("    c.steps = 1 / 0\n", "mine.py line 4: ZeroDivisionError"),
        ("    import sys; sys.exit(3)\n", "mine.py line 4: SystemExit: 3"),
        ("    del c.steps\n", "no field steps; start from configs/base.py"),
        ("    del c.rollout\n    c.rollout = 3\n", "rollout must be a section"),
        (
            "    c.method.kwargs.alhpa = 1.0\n",
            "takes no method.kwargs.alhpa; did you m",
        ),
        (
            "    c.method.kwargs.alpha = 'x'\n",
            "method.kwargs.alpha takes float, not 'x'",
        ),
        (
            "    c.data.test_kwargs.sise = 1\n",
            "arithmetic takes no data.test_kwargs.si",
        ),
    ):
        told = _refused(file(start + lines + "    return c\n"))
        assert message in told, told
    assert "must return a ConfigDict" in _refused(file("def get_config(): return 3"))
    assert "AttributeError" in _refused(file("x = 1"))
    assert "SyntaxError" in _refused(file("def"))


def test_a_config_file_may_take_a_word(tmp_path):
    path = tmp_path / "sized.py"
    path.write_text(
        "from configs import smoke\n"
        "def get_config(size='2'):\n"
        "    c = smoke.get_config()\n    c.steps = int(size)\n    return c\n"
    )
    assert config.parse([f"--config={path}"]).config.steps == 2
    parsed = config.parse([f"--config={path}:7"])
    assert parsed.config.steps == 7 and parsed.workdir.name.startswith("sized-")


def test_another_method_drops_the_former_ones_arguments_and_says_so(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from configs import smoke\ndef get_config():\n"
        "    c = smoke.get_config()\n    c.method.kwargs.alpha = 0.5\n    return c\n"
    )
    parsed = config.parse([f"--config={path}", "--config.method.name=grpo"])
    assert "alpha" not in parsed.config.method.kwargs
    assert parsed.config.method.kwargs.clip_low == 0.2
    (note,) = parsed.notes
    assert "config.method.name is grpo" in note and "a_grae are dropped" in note
    assert "config.method.kwargs has" in _refused(
        f"--config={path}",
        "--config.method.name=grpo",
        "--config.method.kwargs.alpha=0.5",
    )
    kept = config.parse([f"--config={path}", "--config.method.name=a_grae"])
    assert kept.config.method.kwargs.alpha == 0.5 and not kept.notes


def test_another_data_set_has_its_own_arguments(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "1+1?", "answer": "2"}\n')
    parsed = _parse(f"--config.data.train=jsonl:{path}")
    kwargs = parsed.config.data.train_kwargs.to_dict()
    assert kwargs == {"question": "", "answer": "", "level": "", "subject": ""}
    assert len(parsed.notes) == 1
    real = _parse(
        "--config.model.path=random:qwen2", "--config.model.kwargs.hidden_size=8"
    )
    assert real.config.model.kwargs.hidden_size == 8
    assert "vocab_size" not in real.config.model.kwargs  # the tokenizer's


def test_saved_config_comes_back_whole(tmp_path):
    for name in ("smoke", "quickstart"):
        first = config.parse([f"--config={ROOT}/configs/{name}.py"]).config
        text = config.to_json(first)
        again = config.from_json(text)
        assert again.to_dict() == first.to_dict()
        assert config.to_json(again) == text
        (tmp_path / "config.json").write_text(text)
        parsed = config.parse(
            [f"--workdir={tmp_path}", "--config.eval.samples=5"], from_run=True
        )
        assert parsed.config.eval.samples == 5 and parsed.workdir == tmp_path
        assert parsed.config.data.examples == first.data.examples


def test_saved_config_of_another_version(tmp_path):
    saved = json.loads(config.to_json(_parse().config))
    del saved["log"], saved["optim"]["eps"]
    again = config.from_json(json.dumps(saved))
    assert again.optim.eps == 1e-8 and again.log.rollouts_every == 1
    saved["rollout"]["promts"] = 3
    with pytest.raises(UserError, match="unknown field rollout.promts"):
        config.from_json(json.dumps(saved))
    for text, message in (("{", "not JSON"), ("[]", "not a JSON object")):
        with pytest.raises(UserError, match=message):
            config.from_json(text)
    assert "is not a run: it has no config.json" in _refused(
        f"--workdir={tmp_path}", from_run=True
    )


def test_flags_of_an_entry_point():
    extra = {"step": config.Flag(int, None, "step to restore")}
    assert _parse(extra_flags=extra).flags == {"step": None}
    assert _parse("--step=7", extra_flags=extra).flags == {"step": 7}
    assert "--step takes a value of type int" in _refused(
        SMOKE, "--step=x", extra_flags=extra
    )
    assert "did you mean --step?" in _refused(SMOKE, "--stp=1", extra_flags=extra)


def test_the_config_is_frozen_and_the_workdir_has_a_default():
    parsed = _parse()
    with pytest.raises(AttributeError):
        parsed.config.steps = 3
    assert parsed.workdir.parent == Path("runs")
    assert parsed.workdir.name.startswith("smoke-20")


def test_help_names_every_field(capsys):
    with pytest.raises(SystemExit) as caught:
        config.parse(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "--config.rollout.prompts" in text and "groups per rollout batch" in text
    base = config.load_file(str(config_docs.BASE)).to_dict()

    def leaves(tree, prefix=""):
        for name, value in tree.items():
            if isinstance(value, dict):
                yield from leaves(value, f"{prefix}{name}.")
            else:
                yield prefix + name

    for path in leaves(base):
        assert f"--config.{path} " in text


def test_help_shows_the_values_of_the_named_config(capsys):
    with pytest.raises(SystemExit):
        config.parse(
            ["--help", SMOKE, "--config.method.name=dapo", "--config.steps=77"]
        )
    text = capsys.readouterr().out
    found = dict(re.findall(r"--config\.(\S+) +(\S+)", text))
    assert found["steps"] == "77" and found["rollout.prompts"] == "4"
    assert found["method.kwargs.clip_high"] == "0.28"
    assert found["model.kwargs.hidden_size"] == "64"
    assert "method.kwargs.alpha" not in found


def test_help_into_a_pipe_that_closes_is_no_traceback():
    done = subprocess.run(
        f"{sys.executable} -u -m agrae_jax.train --help | head -c 1",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("P", "")


def test_every_field_has_a_comment():
    found = config_docs.fields(config_docs.BASE.read_text())
    bare = [f.path for f in found if not f.comment and f.default != "section"]
    assert len(found) > 60 and bare == []


def test_docs_are_current():
    """Make them again: python -m agrae_jax.config_docs > docs/configs.md"""
    made = config_docs.markdown(config_docs.BASE.read_text())
    assert (ROOT / "docs" / "configs.md").read_text() == made


@pytest.mark.parametrize("name", sorted(p.stem for p in ROOT.glob("configs/*.py")))
def test_every_config_has_its_docstring_and_known_fields(name):
    path = ROOT / "configs" / f"{name}.py"
    loaded = config.load_file(str(path))
    assert loaded.method.name
    if name != "base":
        text = path.read_text().split('"""')[1]
        for word in ("Command:", "Hardware:", "Expected:", "Source:"):
            assert word in text, f"{path} says nothing of {word}"


def test_the_7b_recipe():
    """Methods of the paper's scripts (arXiv 2602.05548), number by number."""
    c = config.load_file(f"{ROOT}/configs/qwen7b.py")
    assert (c.steps, c.rollout.prompts, c.rollout.samples) == (140, 1024, 8)
    assert c.data.max_prompt_tokens == 1024 and c.rollout.max_new_tokens == 3072
    assert c.rollout.prompts // c.updates.mini_batches == 256
    assert (c.rollout.temperature, c.rollout.top_p, c.rollout.top_k) == (1, 1, 0)
    o = c.optim
    assert (o.learning_rate, o.beta1, o.beta2) == (1e-6, 0.9, 0.999)
    assert (o.weight_decay, o.clip_norm, o.warmup_steps) == (0.01, 1.0, 0)
    loss = c.loss
    assert (loss.clip_low, loss.clip_high, loss.dual_clip) == (None, None, 3.0)
    assert (loss.entropy_coef, loss.kl_coef) == (0.001, 0.0)
    assert loss.reduction == "token_mean" and c.data.template == "qwen"
    assert c.eval.every == 7 and c.eval.temperature == 0


_PAPER_CONFIGS = (
    "qwen7b",
    "qwen7b_base",
    "deepseek_r1_7b",
    "llama3b",
    "qwen_math_1_5b",
    "qwen3_4b",
)


@pytest.mark.parametrize("name", _PAPER_CONFIGS)
@pytest.mark.parametrize(
    ("method", "clip_high"), [("a_grae", 0.2), ("dapo", 0.28), ("asym_grpo", 0.28)]
)
def test_the_papers_configs_take_the_methods_of_both(
    name, method, clip_high, tmp_path, monkeypatch
):
    for file in ("math_train.jsonl", "math_test.jsonl", "math500.jsonl"):
        (tmp_path / file).write_text("")
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setenv("AGRAE_JAX_DATA", str(tmp_path))
    c = config.parse(
        [
            f"--config={ROOT}/configs/{name}.py",
            f"--config.model.path={tmp_path}",
            f"--config.method.name={method}",
        ]
    ).config
    built = methods.override(
        methods.resolve(method, **dict(c.method.kwargs)), **dict(c.loss)
    )
    # a method's own clip survives the recipe, and its dual clip reaches all
    assert built.surrogate.keywords["high"] == clip_high
    assert built.surrogate.keywords["dual"] == 3.0
    assert c.rollout.samples == 8 and c.rollout.max_new_tokens == 3072


_PROGRAM = """
import sys
from agrae_jax import config
def run(argv):
    config.parse(argv)
    if "--workdir=interrupt" in argv:
        raise KeyboardInterrupt
config.main(run)
"""


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["--workdir=x"], 0, ""),
        (["--workdir=interrupt"], 130, "interrupted\n"),
        (
            ["--config.method.kwargs.alhpa=1"],
            2,
            "error: unknown field config.method.kwargs.alhpa;"
            " did you mean config.method.kwargs.alpha?\n",
        ),
    ],
)
def test_a_program_exits_with_a_code_and_one_line(argv, code, message):
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, SMOKE, *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (code, message)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
