"""The ids of calls: `call_` and 24 hexadecimal digits, never the same twice, in a forked child neither."""

import os
import re

import qwenparse

CALL = "<tool_call>\n<function=f>\n</function>\n</tool_call>"


def ids(count: int) -> list[str]:
    return [call.id for call in qwenparse.parse(CALL * count, "qwen3-coder").calls]


def test_ids_are_unique_and_of_one_shape() -> None:
    made = ids(1000) + ids(1000)
    assert len(set(made)) == 2000
    assert all(re.fullmatch("call_[0-9a-f]{24}", one) for one in made)


def test_a_forked_child_gives_out_ids_of_its_own() -> None:
    before = ids(10)
    if not hasattr(os, "fork"):
        return
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, " ".join(ids(100)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    of_child = os.read(ours, 1 << 16).decode().split()
    assert len(set(before + ids(100) + of_child)) == 210
