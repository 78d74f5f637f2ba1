"""What the peers' scripts share. Standard library only: their environments differ."""

import argparse
import json
import random
import resource
import statistics


def arguments():
    """The work, as `peers.py` says it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("generate", "step"))
    parser.add_argument("model", help="a Hugging Face folder")
    for name in ("prompts", "samples", "prompt_tokens", "new_tokens", "repeats"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--dtype", default="float32")
    return parser.parse_args()


def prompts(tokenizer, count, tokens):
    """Texts of so many tokens each: digits, which are one token each."""
    rng = random.Random(0)
    texts = ["".join(rng.choices("0123456789", k=tokens)) for _ in range(count)]
    for text in texts:
        found = len(tokenizer(text, add_special_tokens=False).input_ids)
        assert found == tokens, f"{text} has {found} tokens"
    return texts


def reward(completions):
    """1 for every second completion, so that every group has a gradient."""
    return [float(i % 2) for i in range(len(completions))]


def spread(seconds):
    """Least and median."""
    median = statistics.median(seconds)
    return {"min": round(min(seconds), 4), "median": round(median, 4)}


def emit(peer, **figures):
    """Prints the line that `peers.py` reads."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line = {"peer": peer, **figures, "peak_memory_gib": round(peak, 3)}
    print(json.dumps(line), flush=True)
