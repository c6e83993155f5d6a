"""What the parser reads, in the shapes of APIs and hosts. Import the module you need; none imports a client library.

`openai`, `responses`, `anthropic`, `ollama` make plain dicts. `vllm`, `sglang`, `mlx_lm` are the parser interfaces of
these programs and import them.
"""
