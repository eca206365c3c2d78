"""Tests of what concerns images."""
