"""Tests, laid out as the package they test."""
