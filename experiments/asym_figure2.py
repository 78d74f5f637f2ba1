"""AsymGRPO's figure 2: dynamics and diagnostics of either channel alone and both.

python -m experiments.launch asym_figure2 --scale=cpu [--dry]
python -m experiments.collect asym_figure2 --scale=cpu
"""

from experiments.runs import Scale, method

SCALES = {"paper": Scale("configs/qwen3_4b.py", seeds=(0,))}
GAIN = "--config.log.gain_every=1"
RUNS = (
    method("REINFORCE", "reinforce", GAIN),
    method("GRPO", "asym_grpo", GAIN, beta_pos=0.5, beta_neg=0.5, clip_high=0.2),
    method("positive only", "asym_grpo", GAIN, beta_neg=0.0, beta_pos=0.5),
    method("negative only", "asym_grpo", GAIN, beta_neg=0.5, beta_pos=0.0),
)
EXPECTED = []  # curves; the paper prints no cell of them
CURVES = (
    "entropy",
    "all_solved",
    "none_solved",
    "gain_correct_sum",
    "gain_correct_mean",
    "acc_logprob_cov",
)
NOTES = (
    "Whether the paper's log-prob gain is a sum or a mean over tokens is not said: both"
    " are drawn. acc_logprob_cov is ours, not the paper's kappa_B.",
)
