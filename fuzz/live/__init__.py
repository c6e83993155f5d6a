"""Live models for the fuzzers: a tiny Qwen3-architecture model of our own, and any model that mlx-lm can load."""
