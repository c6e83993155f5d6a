"""Parsing by ids: the same as parsing the text, with only sampled tags as tags."""

from __future__ import annotations

import random
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import real_tokenizers

import qwenparse
from benchmarks.corpus import TOOLS, Turn, corpus
from qwenparse.tokens import Encoder, TokenTable

TURNS = list(corpus(120))
LOOKALIKES = list(corpus(120, lookalikes=True))
FORMATS = ("qwen3.6", "qwen3.5", "qwen3-coder", "qwen3", "qwen3-thinking-2507")
BYTES = {bytes([b]): b for b in range(256)}
TAGS = {"<think>": 300, "</think>": 301, "<tool_call>": 302, "</tool_call>": 303}
TABLE = TokenTable.from_ranks(BYTES, {"<|endoftext|>": 256, "<|im_end|>": 258, **TAGS}, vocab_size=320)


@pytest.fixture(scope="module")
def encoders() -> dict[str, Encoder]:
    return {name: Encoder(real_tokenizers.tokenizer(name)) for name in real_tokenizers.NAMES}


def parser_of(turn: Turn, cls: Any = qwenparse.Parser, **options: Any) -> Any:
    options.setdefault("tokens", real_tokenizers.table(turn.vocabulary))
    return cls(turn.format, tools=TOOLS, start=turn.start, **options)


def small(**options: Any) -> qwenparse.Parser:
    return qwenparse.Parser("qwen3.6", start="content", tokens=TABLE, **options)


def steps(ids: Sequence[int], how: str) -> Iterator[Any]:
    if how == "whole":
        yield ids
    elif how == "one int":
        yield from ids
    else:
        r = random.Random(len(ids))
        at = 0
        while at < len(ids):
            size = r.randint(0, 8)
            yield {"list": list, "tuple": tuple, "array": lambda s: array("I", s)}[how](ids[at : at + size])
            at += size


def fed(parser: Any, ids: Sequence[int], how: str) -> list[Any]:
    events = [event for step in steps(ids, how) for event in parser.feed_ids(step)]
    return events + list(parser.close(stop="im_end"))


def merged(events: list[Any]) -> list[Any]:
    """Neighbouring deltas of a kind in one."""
    out: list[Any] = []
    for event in events:
        key = (type(event), getattr(event, "index", None), getattr(event, "kind", None))
        if out and out[-1][0] == key and event.raw and hasattr(event, "text"):
            out[-1] = (key, out[-1][1] + event.raw, None)
        elif out and out[-1][0] == key and key[2]:
            out[-1] = (key, out[-1][1] + event.raw, None)
        else:
            out.append((key, event.raw, None if hasattr(event, "text") or key[2] else event))
    return out


@pytest.mark.parametrize("how", ["whole", "one int", "list", "tuple", "array"])
@pytest.mark.parametrize("format", FORMATS)
def test_ids_give_what_the_text_gives(format: str, how: str, encoders: dict[str, Encoder]) -> None:
    for turn in TURNS:
        if turn.format != format:
            continue
        ids = turn.ids(encoders[turn.vocabulary])
        by_ids, by_text = parser_of(turn), parser_of(turn, tokens=None)
        text_events = list(by_text.feed(turn.text)) + list(by_text.close(stop="im_end"))
        assert merged(fed(by_ids, ids, how)) == merged(text_events)
        assert by_ids.turn == by_text.turn
        assert by_ids.turn.token_ids == tuple(ids)


@pytest.mark.parametrize("turns", [TURNS, LOOKALIKES], ids=["plain", "lookalikes"])
@pytest.mark.parametrize("how", ["whole", "one int", "list"])
def test_the_parse_is_the_one_the_turn_was_written_from(
    turns: list[Turn], how: str, encoders: dict[str, Encoder]
) -> None:
    for turn in turns:
        parser = parser_of(turn)
        fed(parser, turn.ids(encoders[turn.vocabulary]), how)
        read = parser.turn
        assert (read.reasoning, read.content) == (turn.reasoning, turn.content)
        assert [(call.name, call.arguments) for call in read.tool_calls] == list(turn.calls)
        assert read.raw == turn.text + "<|im_end|>" and read.issues == () and read.complete


def test_deltas_by_ids(encoders: dict[str, Encoder]) -> None:
    for turn in LOOKALIKES[:60]:
        parser = parser_of(turn, qwenparse.DeltaParser)
        reasoning, content = "", ""
        for i in turn.ids(encoders[turn.vocabulary]):
            delta = parser.feed_ids(i)
            if delta is not None:
                reasoning += delta.reasoning or ""
                content += delta.content or ""
        delta = parser.close(stop="im_end")
        if delta is not None:
            reasoning += delta.reasoning or ""
            content += delta.content or ""
        assert (reasoning or None, content or None) == (turn.reasoning, turn.content)


def test_every_way_to_spell_a_tag_in_ordinary_tokens_is_text() -> None:
    call = "<tool_call>\n<function=search>\n<parameter=query>\nx\n</parameter>\n</function>\n</tool_call>"
    for name in real_tokenizers.NAMES:
        tokenizer, table = real_tokenizers.tokenizer(name), real_tokenizers.table(name)
        encoder = Encoder(tokenizer)
        ids = encoder.encode(call, specials=False)
        sampled = encoder.encode(call, specials=True)
        assert len(ids) > len(sampled)
        for given, tags, calls in ((ids, "ids", 0), (sampled, "ids", 1), (ids, "text", 1), (sampled, "text", 1)):
            parser = qwenparse.Parser("qwen3.6", tools=None, start="content", tokens=table, tags=tags)
            parser.feed_ids(given)
            parser.close(stop="im_end")
            assert len(parser.turn.calls) == calls, (given, tags)
            if not calls:
                assert parser.turn.content == call
        byte_by_byte = qwenparse.Parser("qwen3.6", start="content", tokens=TABLE)
        byte_by_byte.feed_ids(list(call.encode()))
        byte_by_byte.close()
        assert byte_by_byte.turn.content == call


@pytest.mark.parametrize(
    "text", ["naïve ß", "天气。", "👩‍💻🎉", "a\u0301\U0010ffff", "\x00\x7f\u0080\u07ff\u0800\uffff"]
)
def test_a_character_may_be_split_over_any_ids(text: str) -> None:
    data = text.encode()
    for cut in range(len(data) + 1):
        parser = small()
        parser.feed_ids(list(data[:cut]))
        parser.feed_ids(list(data[cut:]))
        parser.close()
        assert parser.turn.content == text and parser.turn.issues == ()
    parser = small()
    for byte in data:
        parser.feed_ids(byte)
        assert len(parser.held_bytes) <= 3
    parser.close()
    assert parser.turn.content == text


def test_an_unfinished_character_before_a_control_token_is_broken() -> None:
    parser = small()
    parser.feed_ids([*"a天".encode()[:-1], 302])
    parser.feed_ids([*b"b"])
    parser.close()
    assert parser.turn.raw_bytes == b"a\xe5\xa4<tool_call>b"
    assert [issue.code for issue in parser.turn.issues] == ["broken-utf8"]


@pytest.mark.parametrize(
    ("stop", "text", "closed"), [(258, "<|im_end|>", "im_end"), (256, "<|endoftext|>", "other_stop")]
)
def test_a_stop_id_ends_the_turn(stop: int, text: str, closed: str) -> None:
    parser = small()
    parser.feed_ids([*b"Hi", stop])
    assert parser.turn.closed == closed and parser.turn.raw == "Hi" + text
    with pytest.raises(qwenparse.ParserClosed):
        parser.feed_ids([72])
    parser.close()
    assert parser.turn.closed == closed
    by_text = small()
    by_text.feed_ids([*b"Hi"])
    by_text.close(stop=closed)  # type: ignore[arg-type]
    assert by_text.turn == parser.turn


def test_ids_behind_a_stop_are_kept_as_trailing() -> None:
    parser = small()
    parser.feed_ids([*b"Hi", 258, *b"\nmore", 302])
    parser.close()
    turn = parser.turn
    assert turn.raw == "Hi<|im_end|>\nmore<tool_call>" and turn.content == "Hi"
    assert [span.kind for span in turn.spans] == ["content", "stop", "trailing"]
    assert turn.token_ids == (*b"Hi", 258, *b"\nmore", 302)


def test_an_id_without_bytes_is_an_issue_once() -> None:
    parser = small()
    parser.feed_ids([72, 310, 105])
    parser.feed_ids([310, 311])
    parser.close()
    assert parser.turn.content == "Hi"
    assert [(issue.code, issue.text) for issue in parser.turn.issues] == [
        ("unknown-token", "310"), ("unknown-token", "311")
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [-1, 320, 1 << 40, -(1 << 70), 1 << 70])
def test_an_id_outside_the_table_is_refused_before_anything_is_consumed(bad: int) -> None:
    parser = small()
    parser.feed_ids([72])
    for ids in ([105, bad], [bad], (105, bad, 105), bad):
        with pytest.raises(ValueError, match="table"):
            parser.feed_ids(ids)
    parser.feed_ids([105])
    parser.close()
    assert parser.turn.content == "Hi" and parser.turn.token_ids == (72, 105)


@pytest.mark.parametrize("bad", ["ab", b"ab", 1.0, None, [1.0], ["a"], [None]])
def test_what_is_no_id_is_a_type_error(bad: Any) -> None:
    with pytest.raises(TypeError):
        small().feed_ids(bad)


def test_feeding_two_ways_is_refused() -> None:
    parser = small()
    parser.feed_ids([72])
    with pytest.raises(TypeError):
        parser.feed("i")
    with pytest.raises(TypeError):
        qwenparse.Parser("qwen3.6").feed_ids([1])


@pytest.mark.parametrize("kind", ["b", "B", "h", "H", "i", "I", "q", "Q"])
def test_arrays_of_every_integer_type(kind: str) -> None:
    parser = small()
    parser.feed_ids(array(kind, [72, 105]))
    parser.feed_ids(memoryview(array(kind, [33])))
    parser.close()
    assert parser.turn.content == "Hi!"


def test_a_tag_without_an_id_is_recognised_by_its_characters() -> None:
    table = TokenTable.from_ranks(BYTES, {"<|im_end|>": 258, "<tool_call>": 302, "</tool_call>": 303})
    parser = qwenparse.Parser("qwen2.5", start="auto", tokens=table)
    parser.feed_ids(list(b"<think>\nx\n</think>\n\ny <tool_call> z"))
    parser.close()
    assert (parser.turn.reasoning, parser.turn.content) == ("x", "y <tool_call> z")


def test_a_sampled_tag_that_cannot_be_one_is_text() -> None:
    parser = small()
    parser.feed_ids([*b"The token `", 302, *b"` opens a call, ", 301, *b" closes."])
    parser.close()
    assert parser.turn.content == "The token `<tool_call>` opens a call, </think> closes."
    assert parser.turn.calls == ()


def test_certainty_survives_holding() -> None:
    """A sampled tag is held until what follows decides; a spelled one in the same place is not."""
    rest = b"\n\n<function=f>\n</function>\n"
    for tag, calls in (([302], 1), (list(b"<tool_call>"), 0)):
        for size in (1, 2, 5, 1000):
            ids = [*b"x ", *tag, *rest, 303]
            parser = small()
            for at in range(0, len(ids), size):
                parser.feed_ids(ids[at : at + size])
            parser.close(stop="im_end")
            assert len(parser.turn.tool_calls) == calls


def test_many_streams_interleaved(encoders: dict[str, Encoder]) -> None:
    live = [(parser_of(turn), turn.ids(encoders[turn.vocabulary]), turn) for turn in LOOKALIKES]
    for k in range(max(len(ids) for _, ids, _ in live)):
        for parser, ids, _ in live:
            if k < len(ids):
                parser.feed_ids(ids[k])
    for parser, _, turn in live:
        parser.close(stop="im_end")
        assert (parser.turn.reasoning, parser.turn.content) == (turn.reasoning, turn.content)
        assert [(call.name, call.arguments) for call in parser.turn.tool_calls] == list(turn.calls)


LIVE = """
import resource, sys
import qwenparse
from qwenparse.schema import ToolSet
from qwenparse.tokens import TokenTable

tools = ToolSet.of([{"type": "function", "function": {"name": "f"}}])
table = TokenTable.from_ranks({bytes([b]): b for b in range(256)}, {"<tool_call>": 302})

def memory():
    # A child's peak begins at its parent's on Linux; what is resident now does not.
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

def parsers(count):
    made = [qwenparse.Parser("qwen3.6", tools=tools, tokens=table, record=False) for _ in range(count)]
    for parser in made:
        for _ in range(40):
            parser.feed_ids(list(b"some thought and more of it, "))
    return made

warm = parsers(100)
before = memory()
live = parsers(20_000)
print((memory() - before) / len(live))
"""


STEADY = """
import qwenparse
from qwenparse.tokens import TokenTable
table = TokenTable.from_ranks({bytes([k]): k for k in range(256)}, {"<think>": 256, "</tool_call>": 257})
parser = qwenparse.Parser("qwen3.5", start="content", tokens=table, record=False)
parser.feed_ids(list(b"hi"))

def memory():
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def feed(count):
    for _ in range(count // 2):
        parser.feed_ids(256)
        parser.feed_ids([257, 97])

feed(1000)
before = memory()
feed(600_000)
print(memory() - before)
"""


@pytest.mark.measures
def test_tags_that_mean_nothing_here_are_not_remembered() -> None:
    out = subprocess.run([sys.executable, "-c", STEADY], check=True, capture_output=True, text=True).stdout
    assert float(out) < 1024 * (1024 if sys.platform == "darwin" else 1)


def test_the_tail_of_a_prompt_of_ids_is_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TokenTable.from_ranks({bytes([k]): k for k in range(256)}, {"<|im_start|>": 256})
    ids = [256, *b"assistant\n<think>\n" + "wörd ".encode() * 1000]
    decoded = []
    decode = TokenTable.decode_bytes
    monkeypatch.setattr(TokenTable, "decode_bytes", lambda self, some: (decoded.append(len(some)), decode(self, some))[1])
    parser = qwenparse.Parser.for_prompt(ids, tokens=table, format="qwen3.5")
    assert parser.gen_prefix == "<think>\n" + "wörd " * 1000
    assert sum(decoded) < 6 * len(ids)


@pytest.mark.measures
def test_a_live_parser_without_a_record_holds_less_than_2_kib() -> None:
    out = subprocess.run([sys.executable, "-c", LIVE], check=True, capture_output=True, text=True).stdout
    assert 200 < float(out) < 2048


BIG = TokenTable.from_ranks(BYTES, {"<|im_end|>": 258}, vocab_size=70_000)


@pytest.mark.parametrize("kind", "bhilq")
def test_negative_ids_of_an_array_are_refused(kind: str) -> None:
    parser = qwenparse.Parser("qwen3.6", start="content", tokens=BIG)
    with pytest.raises(ValueError):
        parser.feed_ids(array(kind, [97, -1]))
    assert parser.position == 0 and parser.feed_ids(array(kind, [97]))


def test_a_character_begun_in_the_prompt_is_not_finished_by_the_completion() -> None:
    prompt = [*b"<|im_start|>assistant\n<think>\nHm \xe4\xb8"]
    parser = qwenparse.Parser.for_prompt(prompt, format="qwen3.6", tokens=TABLE)
    parser.feed_ids([0x96, 97])
    assert parser.turn.raw_bytes == b"\x96a" and parser.gen_prefix == "<think>\nHm \udce4\udcb8"


def test_a_table_that_leads_out_of_its_bytes() -> None:
    class Wrong:
        size, blob, kinds = 2, b"abc", b"\0\0"
        tag_ids: dict[str, int] = {}  # noqa: RUF012

        def __init__(self, *offsets: int) -> None:
            self.offsets = array("I", offsets).tobytes()

    for offsets in ((0, 4, 3), (0, 3, 4), (0, 1 << 31, 3), (5, 5, 5), (0, 1)):
        with pytest.raises(ValueError):
            qwenparse.Parser("qwen3", tokens=Wrong(*offsets))  # type: ignore[arg-type]
    parser = qwenparse.Parser("qwen3", tokens=Wrong(0, 1, 3))  # type: ignore[arg-type]
    parser.feed_ids([0, 1, 0])
    assert parser.turn.raw == "abca"


def test_a_parser_made_anew() -> None:
    """Another `__init__`: the settings of the first are gone, and ids checked against its table are not read."""
    few = TokenTable.from_ranks({b"a": 0}, {})

    class Id:
        def __init__(self, tokens: TokenTable | None) -> None:
            self.tokens = tokens

        def __index__(self) -> int:
            parser.__init__("qwen3", tokens=self.tokens)  # type: ignore[misc]
            return 0

    for tokens in (few, None):
        parser = small()
        with pytest.raises(RuntimeError, match="made anew"):
            parser.feed_ids([97] * 600 + [Id(tokens)])
    with pytest.raises(TypeError, match="tokens="):
        parser.feed_ids([97])
