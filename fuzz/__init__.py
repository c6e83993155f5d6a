"""Fuzzers of qwenparse; docs/fuzzing.md says how to run them. Not installed with the package."""
