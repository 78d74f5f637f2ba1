"""Pure array functions: rewards, advantages, surrogates, reductions, the loss."""
