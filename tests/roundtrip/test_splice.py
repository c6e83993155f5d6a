"""Raw turns in prompts: `extend`, `turns=`, both policies, any template, segments and ids."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from real_tokenizers import table, tokenizer
from roundtrip.support import DATA, NATIVE, THINKING, TOOLS, follow_up, random_case, read

import qwenparse.templates
from qwenparse import FormatError, Parser, Prompt, TemplateError, Turn, render_prompt
from qwenparse.store import MemoryStore
from qwenparse.tokens import Encoder

ROBUST = Path(qwenparse.templates.__file__).with_name("robust.jinja")
DROPPING = """
{%- set ns = namespace(last=0) -%}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor -%}
{%- for m in messages -%}
<|im_start|>{{ 'user' if m.role == 'tool' else m.role }}
{% if m.role == 'assistant' and m.reasoning_content and loop.index0 > ns.last %}<think>
{{ m.reasoning_content | trim }}
</think>

{% endif %}{{ m.content | trim if m.content else '' }}
{%- for c in m.tool_calls or [] %}
[{{ c.function.name }} {{ c.function.arguments | tojson }}]
{%- endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
<think>
{% endif %}"""


def check_segments(prompt: Prompt) -> None:
    assert "".join(prompt.text[s.start : s.end] for s in prompt.segments) == prompt.text
    assert all(s.start < s.end for s in prompt.segments)


@pytest.mark.parametrize("format", NATIVE)
def test_random_conversations(format: str) -> None:
    """Turn after turn, any text: each prompt begins with the last one and what was generated, in text and in ids."""
    encoder = tokenizer("small")
    tokens = table("small")
    for number in range(25):
        rng = random.Random(f"conversation/{format}/{number}")
        messages, kwargs, prompt, turn = random_case(rng, format)
        store = MemoryStore()
        history, same_head = list(messages), True
        for _ in range(3):
            if rng.random() < 0.4:
                parser = Parser.for_prompt(prompt.text, format=format, tools=TOOLS, tokens=tokens)
                ids = [i for c in turn.raw.removesuffix("<|im_end|>").removesuffix("<|endoftext|>")
                       for i in Encoder(encoder).encode(c, specials=True)]  # fmt: skip
                parser.feed_ids(ids)
                parser.close(stop=turn.closed or "none")
                turn = parser.turn
            stored = store.remember(history, turn)
            new = follow_up(rng, turn)
            following = prompt.extend(turn, new)
            check_segments(following)
            assert following.text.startswith(prompt.text + turn.raw)
            assert not following.notes
            held = prompt.ids(encoder)
            if turn.token_ids is not None:
                held += turn.token_ids
            assert following.ids(encoder)[: len(held)] == held
            history = [*history, turn.message(), *new]
            same_head = same_head and stored
            if same_head:
                rendered = render_prompt(
                    history, format, tools=TOOLS, turns=store, history_thinking="raw", normalize="openai", **kwargs
                )
                assert rendered.text == following.text and rendered.ids(encoder) == following.ids(encoder)
                assert [s[2:] for s in rendered.segments if s.kind == "raw"] == [
                    s[2:] for s in following.segments if s.kind == "raw"
                ]
            prompt = following
            raw = random_case(rng, format)[3].raw.removesuffix("<|im_end|>").removesuffix("<|endoftext|>")
            turn = read(prompt.text, raw, format, stop=rng.choice(("im_end", "none", "other_stop")), tools=TOOLS)


def golden_histories() -> list[dict[str, Any]]:
    found = []
    for name in ("templates.jsonl.gz", "templates_random.jsonl.gz"):
        with gzip.open(DATA / name, "rt", encoding="utf-8", newline="\n") as file:
            found += [row for row in map(json.loads, file) if row.get("output") is not None and row["pipeline"] == "raw"]
    return found


def test_canonical_turns_of_the_golden_histories() -> None:
    """With turns that are just as the template wrote them, the template's own policy gives the template's own text."""
    spliced = kept = 0
    for row in golden_histories():
        messages, kwargs = row["messages"], {k: v for k, v in row["kwargs"].items() if k != "add_generation_prompt"}
        generation = row["kwargs"].get("add_generation_prompt", True)
        store, any_stored = MemoryStore(), False
        for index, message in enumerate(messages):
            if not isinstance(message, dict) or message.get("role") != "assistant":
                continue
            try:
                asked = render_prompt(messages[:index], row["template"], tools=row["tools"], **kwargs)
                said = render_prompt(
                    messages[: index + 1], row["template"], tools=row["tools"], add_generation_prompt=False, **kwargs
                )
            except TemplateError:
                continue
            raw = said.text.removeprefix(asked.text)
            if raw == said.text or not raw.endswith("<|im_end|>\n") or raw.count("<|im_end|>") > 1:
                continue
            turn = read(asked.text, raw.removesuffix("<|im_end|>\n"), row["template"], tools=None)
            content = message.get("content")
            if row["template"].startswith("qwen3") and isinstance(content, str) and content.strip() != content:
                continue  # these templates write whitespace that no turn has as its content
            any_stored |= store.remember(messages[:index], turn)
        if not any_stored:
            continue
        settings = {"tools": row["tools"], "turns": store, "add_generation_prompt": generation, **kwargs}
        prompt = render_prompt(messages, row["template"], history_thinking="template", **settings)
        assert prompt.text == row["output"], (row["id"], row["template"])
        check_segments(prompt)
        spliced += sum(s.kind == "raw" for s in prompt.segments)
        default = render_prompt(messages, row["template"], **settings)
        if not any(note.code == "thought-dropped" for note in prompt.notes):
            raw_text = render_prompt(messages, row["template"], history_thinking="raw", **settings).text
            assert raw_text == row["output"] == default.text
            kept += 1
    assert spliced > 300 and kept > 100


def turn_of(format: str, thought: str = "Plan.") -> tuple[list[dict[str, Any]], Prompt, Turn]:
    messages = [{"role": "user", "content": "Hi"}]
    prompt = render_prompt(messages, format)
    opened = "" if (prompt.gen_prefix or "").startswith("<think>") else "<think>\n"
    return messages, prompt, read(prompt.text, f"{opened} {thought}\n</think>\n\nHello  \n", format)


def test_policies() -> None:
    ask = {"role": "user", "content": "And?"}
    for format in ("qwen3", "qwen3.5", "qwen3.6", "qwen3.8"):
        messages, prompt, turn = turn_of(format)
        store = MemoryStore()
        store.remember(messages, turn)
        history = [*messages, turn.message(), ask]
        raw = render_prompt(history, format, turns=store, history_thinking="raw")
        dropped = render_prompt(history, format, turns=store, history_thinking="template")
        default = render_prompt(history, format, turns=store)
        assert raw.text.startswith(prompt.text + turn.raw) and not raw.notes
        if format == "qwen3.8":
            assert raw == dropped == default
            dropped = render_prompt(history, format, turns=store, preserve_thinking=False)
        else:
            assert default == dropped
        assert "<|im_start|>assistant\nHello  \n<|im_end|>\n<|im_start|>user\nAnd?" in dropped.text
        assert [(note.code, note.message) for note in dropped.notes] == [("thought-dropped", 1)]
        kept = {"preserve_thinking": True} if format == "qwen3.6" else None
        if kept:
            assert render_prompt(history, format, turns=store, **kept).text == raw.text
        tool = [*messages, turn.message(), {"role": "tool", "content": "r"}]  # still the turn at hand
        assert prompt.text + turn.raw in render_prompt(tool, format, turns=store).text
    with pytest.raises(FormatError):
        render_prompt(messages, "qwen3.8", history_thinking="both")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", THINKING)
def test_dropping_a_thought(format: str) -> None:
    """Under the template's policy the think block goes, and nothing else, whoever wrote it."""
    ask, dropped = {"role": "user", "content": "And?"}, 0
    for number in range(150):
        rng = random.Random(f"drop/{format}/{number}")
        messages, kwargs, _, turn = random_case(rng, format)
        kwargs.pop("preserve_thinking", None)
        if format == "qwen3.8":
            kwargs["preserve_thinking"] = False
        store = MemoryStore()
        if turn.tool_calls or not store.remember(messages, turn):
            continue
        history = [*messages, turn.message(), ask]
        prompt = render_prompt(history, format, tools=TOOLS, turns=store, normalize="openai", **kwargs)
        start = next((s.start for s in prompt.segments if s.turn is not None), None)
        if start is None:
            continue
        body = prompt.text[start : prompt.text.rindex("\n<|im_start|>user\nAnd?")]
        close = next((k for k, span in enumerate(turn.spans) if span.kind == "think_close"), None)
        end = "" if turn.closed != "none" else "<|im_end|>"
        if "</think>" in turn.gen_prefix:
            assert body == turn.raw.lstrip(" \n\r\t\v\f") + end or not turn.spans or turn.spans[0].kind != "ws"
        elif close is not None:
            spans = turn.spans[close + 1 :]
            kept = spans[1:] if spans and spans[0].kind == "ws" else spans
            assert body == (turn.raw[kept[0].start :] if kept else "") + end
            dropped += 1
        elif not turn.gen_prefix and all(span.kind not in ("think_open", "think_body") for span in turn.spans):
            assert body == turn.raw + end
    assert dropped > 10 or format == "qwen3.5-small"


def test_unknown_turns_are_noted() -> None:
    messages, _, turn = turn_of("qwen3.8")
    history = [*messages, turn.message(), {"role": "user", "content": "?"}]
    prompt = render_prompt(history, "qwen3.8", turns=MemoryStore())
    assert [(note.code, note.message) for note in prompt.notes] == [("turn-unknown", 1)]
    assert prompt.text == render_prompt(history, "qwen3.8").text


def test_any_finder_will_do() -> None:
    """`turns=` takes whatever has `find`."""
    messages, prompt, turn = turn_of("qwen3.8")

    class Own:
        def find(self, messages: Any, index: int, /) -> Turn | None:
            return turn if messages[index].get("content") == "Hello" else None

    history = [*messages, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "?"}]
    assert render_prompt(history, "qwen3.8", turns=Own()).text.startswith(prompt.text + turn.raw)


def test_extend_refuses() -> None:
    _, prompt, turn = turn_of("qwen3.8")
    with pytest.raises(ValueError, match="open turn"):
        Prompt(prompt.text + turn.raw, "qwen3.8").extend(turn, [])
    with pytest.raises(ValueError, match="still being read"):
        prompt.extend(Parser("qwen3.8").turn, [])
    with pytest.raises(TemplateError, match="System message"):
        prompt.extend(turn, [{"role": "system", "content": "late"}])
    with pytest.raises(FormatError):
        Prompt(prompt.text, "qwq").extend(turn, [])
    assert Prompt(prompt.text).extend(turn, []).text == prompt.extend(turn, []).text


def test_how_turns_are_closed() -> None:
    _, prompt, _ = turn_of("qwen3.8")
    for stop, end in (("im_end", "Hi<|im_end|>\n"), ("none", "Hi<|im_end|>\n"), ("other_stop", "Hi<|endoftext|>\n")):
        turn = read(prompt.text, "\n</think>\n\nHi", "qwen3.8", stop=stop)
        following = prompt.extend(turn, [{"role": "user", "content": "?"}])
        assert following.text.startswith(f"{prompt.text}\n</think>\n\n{end}<|im_start|>user\n?<|im_end|>\n")
        assert ("close" in {s.kind for s in following.segments}) == (stop == "none")
    tokens, encoder = table("small"), tokenizer("small")
    parser = Parser.for_prompt(prompt.text, format="qwen3.8", tokens=tokens)
    ids = Encoder(encoder).encode("\n</think>\n\nHi<|im_end|>", specials=True)
    parser.feed_ids([*ids, *Encoder(encoder).encode("\n\nbehind", specials=True)])
    assert parser.turn.spans[-1].kind == "trailing"
    for turn in (parser.turn, Turn.from_blob(parser.turn.to_blob())):
        following = prompt.extend(turn, [])
        assert "behind" not in following.text
        held = prompt.ids(encoder) + ids
        assert following.ids(encoder)[: len(held)] == held


def test_text_that_spells_a_control_token_keeps_its_ids() -> None:
    tokens, encoder = table("small"), tokenizer("small")
    prompt = render_prompt([{"role": "user", "content": "Hi"}], "qwen3")
    spelled = [i for c in "a <|im_end|> b" for i in Encoder(encoder).encode(c, specials=True)]
    parser = Parser.for_prompt(prompt.text, format="qwen3", tokens=tokens)
    parser.feed_ids(spelled)
    parser.close(stop="im_end")
    store = MemoryStore()
    assert store.remember([{"role": "user", "content": "Hi"}], parser.turn)
    history = [{"role": "user", "content": "Hi"}, parser.turn.message(), {"role": "user", "content": "?"}]
    for following in (prompt.extend(parser.turn, history[2:]), render_prompt(history, "qwen3", turns=store)):
        held = prompt.ids(encoder) + spelled
        assert following.ids(encoder)[: len(held)] == held


def test_encodes_only_what_is_new() -> None:
    """`ids` of an extended prompt takes the ids of the one before it as they are."""
    encoder = tokenizer("small")
    sizes: list[int] = []

    class Counting:
        def encode(self, text: str) -> list[int]:
            sizes.append(len(text))
            return Encoder(encoder).encode(text, specials=True)

    counting = Counting()
    prompt = render_prompt([{"role": "user", "content": "long " * 2000}], "qwen3.8")
    prompt.ids(counting)
    _, _, turn = turn_of("qwen3.8")
    sizes.clear()
    following = prompt.extend(turn, [{"role": "user", "content": "short"}])
    ids = following.ids(counting)
    assert sum(sizes) < 200
    assert ids == Prompt._of(following.text, following._pieces, "qwen3.8", None).ids(counting)
    assert following.ids(encoder, specials_in_data="template") == ids
    assert ids is not following.ids(counting)


# templates known as text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", [ROBUST, DROPPING], ids=["robust", "dropping"])
def test_any_template(template: Any) -> None:
    for number in range(60):
        rng = random.Random(f"jinja/{number}")
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
        prompt = render_prompt(messages, "qwen3.8", template=template, tools=TOOLS)
        store, history = MemoryStore(), list(messages)
        for _ in range(2):
            raw = random_case(rng, "qwen3.8")[3].raw.removesuffix("<|im_end|>").removesuffix("<|endoftext|>")
            turn = read(prompt.text, raw, "qwen3.8", stop=rng.choice(("im_end", "none", "other_stop")), tools=TOOLS)
            if not store.remember(history, turn):
                break
            new = follow_up(rng, turn)
            following = prompt.extend(turn, new)
            assert following.text.startswith(prompt.text + turn.raw) and following.text.endswith(
                "<|im_start|>assistant\n<think>\n"
            )
            check_segments(following)
            history = [*history, turn.message(), *new]
            rendered = render_prompt(
                history, "qwen3.8", template=template, tools=TOOLS, turns=store, history_thinking="raw", normalize="openai"
            )
            assert rendered.text == following.text and rendered.gen_prefix == "<think>\n"
            check_segments(rendered)
            prompt = following


def test_template_policy_of_a_template_file() -> None:
    messages, _, _ = turn_of("qwen3.8")
    for template, keeps in ((ROBUST, True), (DROPPING, False)):
        prompt = render_prompt(messages, "qwen3.8", template=template)
        turn = read(prompt.text, " Plan. \n</think>\n\nHello  \n", "qwen3.8")
        store = MemoryStore()
        store.remember(messages, turn)
        history = [*messages, turn.message(), {"role": "user", "content": "And?"}]
        default = render_prompt(history, "qwen3.8", template=template, turns=store)
        if keeps:
            assert default.text.startswith(prompt.text + turn.raw) and not default.notes
        else:
            assert "assistant\nHello  \n<|im_end|>\n<|im_start|>user" in default.text
            assert [note.code for note in default.notes] == ["thought-dropped"]
        raw = render_prompt(history, "qwen3.8", template=template, turns=store, history_thinking="raw")
        assert raw.text.startswith(prompt.text + turn.raw)
    with pytest.raises(TemplateError, match="turn of its own"):
        render_prompt(history, "qwen3.8", template="{{ messages[-1].content }}", turns=store, history_thinking="raw")


def test_recorded_prompt_of_a_robust_history() -> None:
    """Under the robust policy new tool results follow in the order of the calls of the turn."""
    messages = [{"role": "user", "content": "Hi"}]
    prompt = render_prompt(messages, "qwen3.8", robust=True, tools=TOOLS)
    calls = "".join(f"<tool_call>\n<function=sh>\n<parameter=cmd>\n{c}\n</parameter>\n</function>\n</tool_call>\n" for c in "ab")
    turn = read(prompt.text, "Plan.\n</think>\n\n" + calls, "qwen3.8", tools=TOOLS)
    results = [{"role": "tool", "tool_call_id": each.id, "content": f"r{each.index}"} for each in turn.calls]
    following = prompt.extend(turn, results[::-1])
    assert following.text.index("r0") < following.text.index("r1")
    assert following.text.startswith(prompt.text + turn.raw)
    plain = render_prompt(messages, "qwen3.8", tools=TOOLS).extend(turn, results[::-1])
    assert plain.text.index("r1") < plain.text.index("r0")
