"""Turns a completion and a gold answer into correct, wrong or ungradable.

Host code only: nothing in this package imports jax, so that its workers can be
started beside a training process that holds the accelerator.
"""
