"""Problems, prompts and the order in which they are drawn."""
