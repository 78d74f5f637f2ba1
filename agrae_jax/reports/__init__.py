"""The run report: one HTML file of everything that a run directory tells."""
