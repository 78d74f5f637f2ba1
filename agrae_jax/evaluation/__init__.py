"""Evaluation: n samples a problem, graded, as counts from which any k can be had.

The same code serves training (before, during, after) and `evaluate.py`.
"""
