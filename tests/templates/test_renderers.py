"""Native renderers: segments, what follows a turn, spliced turns, engine profiles, errors, hostile input."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwenparse.errors import FormatError, TemplateError
from qwenparse.prompt import Prompt, render_prompt
from qwenparse.templates import RENDERERS, get_renderer, texts
from qwenparse.templates.engines import get_engine
from qwenparse.templates.pieces import Part, Pieces

NAMES = sorted(set(RENDERERS) - {"robust"})
XML = ["qwen3.5", "qwen3.5-small", "qwen3.6", "qwen3.6-unsloth", "qwen3.8"]
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": {"path": "a.py", "n": 1.0, "x": [1]}}}
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"properties": {"path": {"type": "string"}}}}}]
HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Read a.py"},
    {"role": "assistant", "content": "Yes.", "reasoning_content": "I read it.", "tool_calls": [CALL, CALL]},
    {"role": "tool", "content": "one"},
    {"role": "tool", "content": "two"},
    {"role": "assistant", "content": "Done.", "reasoning_content": "It is short."},
]


def data_of(prompt: Prompt) -> list[str]:
    return [prompt.text[s.start : s.end] for s in prompt.segments if s.kind == "data"]


def test_fixed_texts_are_the_published_bytes() -> None:
    digests = {
        "EFFORT_XHIGH": "982cfb432c323e6de8a3562b3456054e08709d51961bb3f50a3b74d351e5c7e3",
        "EFFORT_LOW": "6b391e93fe4721f0b0a10bf81661d4ebce08eed424505cd2a73fbaf73f2a9b45",
        "XML_TOOLS_HEAD": "c1ac20d770de32b1f158c730a299681c8cc51b3868454fbba102ac9aeacad7bf",
        "XML_TOOLS_TAIL": "c618bf70de036a3337fbf9cfaf7171d7b700d3e116d61b6f4a40511e1ab4e25b",
        "JSON_TOOLS_HEAD": "882960e4e368f73936cfd8aa6ac5f92ca154b6ce94632bf3645b9745e41554b2",
        "JSON_TOOLS_TAIL": "6709bb8b0113e0b380182998e500d0a642d5b5dc261e3c95ffcade3f489c05ce",
        "CODER_DEFAULT_SYSTEM": "ba7533faa67ed9a1697c226c52de35e49481bfddece0607dccdf804b51a6528b",
        "CODER_TOOLS_HEAD": "b1980ffedb2d15967a5b657d64915fbf1709f651d689faab2c07033fb8b085d0",
        "CODER_TOOLS_HEAD_LC": "87eedae79c9f11b5f0f072cd54da7c979c1f90687a8c6bd2dfe3abceb154a712",
        "CODER_TOOLS_TAIL_LC": "1799874b3dc3f8883df4f9e5ff5d04028432d6b9d4cd6ebc1fdda11a406a438c",
    }
    assert {name: hashlib.sha256(getattr(texts, name).encode()).hexdigest() for name in digests} == digests


# segments


def test_segments_tell_frames_from_message_text() -> None:
    prompt = render_prompt(HISTORY, "qwen3.8", tools=TOOLS)
    assert data_of(prompt) == [
        json.dumps(TOOLS[0]),
        "Be brief.", "Read a.py", "I read it.", "Yes.",
        "read", "path", "a.py", "n", "1.0", "x", "[1]", "read", "path", "a.py", "n", "1.0", "x", "[1]",
        "one", "two", "It is short.", "Done.",
    ]  # fmt: skip
    kinds = [s.kind for s in prompt.segments]
    assert kinds[0] == "head" and kinds[-2:] == ["frame", "gen_prefix"]
    assert prompt.text[prompt.segments[-1].start :] == prompt.gen_prefix == "<think>\n"
    assert all(s.turn is None for s in prompt.segments)


@pytest.mark.parametrize("name", NAMES)
def test_no_tag_of_the_template_lies_in_data(name: str) -> None:
    prompt = render_prompt(HISTORY, name, tools=TOOLS)
    assert not any("<" in text for text in data_of(prompt))
    frames = "".join(prompt.text[s.start : s.end] for s in prompt.segments if s.kind != "data")
    assert "Be brief" not in frames and "short" not in frames and "Read" not in frames


def test_vision_pads_are_frames() -> None:
    content = [
        {"type": "text", "text": " see "},
        {"type": "image"},
        {"type": "text", "text": " and "},
        {"type": "video"},
        {"type": "text", "text": " end "},
    ]
    for name in ("qwen3.6", "qwen3-vl"):
        prompt = render_prompt([{"role": "user", "content": content}], name, add_vision_id=True)
        ends = ("see ", " end") if name == "qwen3.6" else (" see ", " end ")
        assert data_of(prompt) == [ends[0], " and ", ends[1]]
        assert "Picture 1: <|vision_start|><|image_pad|><|vision_end|>" in prompt.text


def test_pads_stay_frames_where_reasoning_is_split_from_content() -> None:
    image = {"type": "image"}
    parts = ["<think>\na ", image, " b\n</think>\n\nc ", image, " d"]
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    prompt = render_prompt([{"role": "user", "content": "q"}, {"role": "assistant", "content": content}], "qwen3.6")
    assert data_of(prompt) == ["q", "a ", " b", "c ", " d"]
    assert "<think>\na <|vision_start|><|image_pad|><|vision_end|> b\n</think>\n\nc <|vision_start|>" in prompt.text


def test_recorded_prompt_knows_its_open_turn() -> None:
    prompt = Prompt("<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n<think>\n", "qwen3.8")
    assert prompt.gen_prefix == "<think>\n" and [s.kind for s in prompt.segments] == ["frame", "gen_prefix"]
    closed = Prompt("<|im_start|>assistant\nx<|im_end|>\n")
    assert closed.gen_prefix is None and [s.kind for s in closed.segments] == ["frame"]
    with pytest.raises(FormatError):
        Prompt("x", "qwen9")


# what follows a turn, spliced turns


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("turn", [2, 5])
def test_what_follows_a_turn_is_rendered_alone(name: str, turn: int) -> None:
    new = {"role": "user", "content": [{"type": "image"}]} if name in (*XML, "qwen3-vl") else HISTORY[1]
    answer = {"role": "assistant", "content": "Ok."}
    history = [*HISTORY[: turn + 1], *([] if turn == 5 else HISTORY[3:5]), new, answer]
    options = {"preserve_thinking": True, "add_vision_id": True}
    renderer = get_renderer(name, get_engine("python"), options)
    before = renderer.render(history[: turn + 1], TOOLS, add_generation_prompt=False)
    after = Pieces()
    after.images = before.images
    renderer.follow(after, history[turn + 1 :])
    whole = renderer.render(history, TOOLS, add_generation_prompt=False).join()
    assert whole.endswith(after.join())
    if renderer.keeps_old_thinking:
        assert before.join() + after.join() == whole


@pytest.mark.parametrize("name", NAMES)
def test_spliced_turn_stands_in_the_place_of_the_message(name: str) -> None:
    broken = {"role": "assistant", "content": 1, "tool_calls": [{"function": {"arguments": "{}"}}]}
    asked: list[tuple[int, str]] = []

    def splice(index: int, keep: str) -> list[Part] | None:
        asked.append((index, keep))
        if index != 2:
            return None
        return [
            Part("frame", "<|im_start|>assistant\n"),
            Part("gen_prefix", "<think>\n", "t1"),
            Part("raw", "x</think>\n\n<tool_call>", "t1"),
            Part("close", "<|im_end|>", "t1"),
            Part("frame", "\n"),
        ]

    renderer = get_renderer(name, get_engine("python"), {})
    messages = [*HISTORY[:2], broken, *HISTORY[3:], {"role": "user", "content": "More"}]
    pieces = renderer.render(messages, TOOLS, splice=splice)
    plain = renderer.render([*messages[:2], {**broken, "content": "", "tool_calls": []}, *messages[3:]], TOOLS).join()
    text = pieces.join()
    head, rest = text.split("<|im_start|>assistant\n<think>\nx</think>\n\n<tool_call><|im_end|>\n")
    assert plain.startswith(head) and plain.endswith(rest)
    assert [(s.kind, text[s.start : s.end]) for s in pieces.segments() if s.turn == "t1"] == [
        ("gen_prefix", "<think>\n"), ("raw", "x</think>\n\n<tool_call>"), ("close", "<|im_end|>"),
    ]  # fmt: skip
    thinks = renderer.thinks and name != "qwen3.8"
    assert asked == [(2, "drop" if thinks else "keep"), (5, "drop" if thinks else "keep")]


def test_a_group_can_be_spliced_by_its_first_message() -> None:
    renderer = get_renderer("qwen3.8", get_engine("python"), {})
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, {"role": "assistant"}]
    pieces = renderer.render(messages, splice=lambda index, keep: [Part("raw", "RAW")] if index == 1 else ())
    assert pieces.join().endswith("q<|im_end|>\nRAW<|im_start|>assistant\n<think>\n")


# continuation


@pytest.mark.parametrize(
    ("field", "end", "kinds"),
    [
        ("content", "<think>\n r </think>\n</think>\n\n c ", ["gen_prefix", "data", "gen_prefix", "data"]),
        (True, "<think>\n r </think>\n</think>\n\n c ", ["gen_prefix", "data", "gen_prefix", "data"]),
        ("reasoning_content", "<think>\n r </think>", ["gen_prefix", "data"]),
    ],
)
def test_continued_text_is_data_and_untrimmed(field: Any, end: str, kinds: list[str]) -> None:
    last = {"role": "assistant", "content": " c ", "reasoning_content": " r </think>"}
    prompt = render_prompt([{"role": "user", "content": "q"}, last], "qwen3.6", continue_final_message=field)
    assert prompt.gen_prefix == end
    assert [s.kind for s in prompt.segments][-len(kinds) :] == kinds


def test_families_without_thoughts_drop_them_in_a_continuation() -> None:
    last = {"role": "assistant", "content": "c ", "reasoning_content": "r"}
    for name in ("qwen3-coder", "qwen3-instruct-2507", "qwen3-vl"):
        messages = [{"role": "user", "content": "q"}, last]
        assert render_prompt(messages, name, continue_final_message=True).gen_prefix == "c "
        assert render_prompt(messages, name, continue_final_message="reasoning_content").gen_prefix == ""


@pytest.mark.parametrize(
    ("name", "last", "field", "gen_prefix"),
    [
        ("qwen3.8", {"content": "It is "}, True, "<think>\n\n</think>\n\nIt is"),
        ("qwen3.8", {"content": "a", "reasoning": "so \n"}, "reasoning", "<think>\nso"),
        ("qwen3", {"content": "It is "}, "content", "<think>\n\n</think>\n\nIt is "),
        ("qwen3-coder", {"content": [{"text": "x"}]}, True, None),
        ("qwen3-vl", {"content": [{"text": "x "}, {"image": 1}]}, True, "x "),
    ],
)
def test_transformers_continuation_goes_through_the_template(
    name: str, last: dict[str, Any], field: Any, gen_prefix: str | None
) -> None:
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", **last}]
    before = copy.deepcopy(messages)
    if gen_prefix is None:
        with pytest.raises(TemplateError, match="concatenate"):
            render_prompt(messages, name, normalize="transformers5", continue_final_message=field)
    else:
        prompt = render_prompt(messages, name, normalize="transformers5", continue_final_message=field)
        assert prompt.gen_prefix == gen_prefix
        assert prompt.text.endswith("<|im_start|>assistant\n" + gen_prefix)
        assert "".join(prompt.text[s.start : s.end] for s in prompt.segments) == prompt.text
    assert messages == before


@pytest.mark.parametrize(
    ("messages", "field", "normalize"),
    [
        ([{"role": "user", "content": "q"}], True, None),
        ([], True, "transformers5"),
        ([{"role": "user", "content": "q"}, {"role": "assistant"}], True, "transformers5"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "x": "y"}], "x", "transformers5"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": [{"image": 1}]}], True, "transformers5"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": 1}], True, "transformers5"),
    ],
)
def test_a_turn_that_cannot_go_on_is_an_error(messages: Any, field: Any, normalize: Any) -> None:
    with pytest.raises(TemplateError):
        render_prompt(messages, "qwen3.8", normalize=normalize, continue_final_message=field)


def test_continuation_of_an_unknown_field_is_a_format_error() -> None:
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    with pytest.raises(FormatError, match="continue_final_message"):
        render_prompt(messages, "qwen3.8", continue_final_message="text")  # type: ignore[arg-type]


# engine profiles


def turn(arguments: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    call = {"function": {"name": "f", "arguments": arguments}}
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "tool_calls": [call], **more}]


@pytest.mark.parametrize(
    ("engine", "name", "written"),
    [
        ("python", "qwen3.8", ["1.0", "1e+16", "true", "null", '{"a": 1000000}', "[1e-07]"]),
        ("go", "qwen3.8", ["1", "1e+16", "true", "null", '{"a": 1000000}', "[1e-7]"]),
        ("llama", "qwen3.8", ["1", "1e+16", "true", "null", '{"a": 1000000}', "[1e-07]"]),
        ("python", "qwen3.5", ["1.0", "1e+16", "True", "None", '{"a": 1000000}', "[1e-07]"]),
        (("none", "go"), "qwen3-coder", ["1", "1e+16", "True", "None", '{"a": 1000000}', "[1e-7]"]),
    ],
)
def test_numbers_follow_the_engine(engine: Any, name: str, written: list[str]) -> None:
    arguments = {"a": 1.0, "b": 1e16, "c": True, "d": None, "e": {"a": 1000000}, "f": [1e-7]}
    text = render_prompt(turn(arguments), name, engine=engine).text
    values = [part.split("\n</parameter>")[0].split(">\n")[1] for part in text.split("<parameter=")[1:]]
    assert values == written


def test_trim_profiles_differ_in_the_characters_they_strip() -> None:
    body = "\x1c\u3000 x \u3000\x1c"
    messages = [{"role": "user", "content": body}]
    found = {}
    for trim in ("python", "go", "llama", "none"):
        prompt = render_prompt(messages, "qwen3.6", engine=(trim, "python"))
        found[trim] = prompt.text.split("user\n")[1].split("<|im_end|>")[0]
    assert found == {"python": "x", "go": body, "llama": body, "none": body}
    inner = render_prompt([{"role": "user", "content": "\u3000 x \u3000"}], "qwen3.6", engine=("go", "python"))
    assert "user\nx<|im_end|>" in inner.text


def test_untrimmed_bodies_keep_blank_tests() -> None:
    messages = [
        {"role": "system", "content": " \n"},
        {"role": "user", "content": "\n<tool_response>x</tool_response>\n"},
        {"role": "user", "content": " q\n"},
        {"role": "assistant", "content": "\n\n", "reasoning_content": "\nr \n", "tool_calls": [CALL]},
    ]
    text = render_prompt(messages, "qwen3.8", engine=("none", "python"), reasoning_effort="medium").text
    assert text.startswith("<|im_start|>user\n\n<tool_response>x</tool_response>\n<|im_end|>")
    assert "assistant\n<think>\n\nr \n\n</think>\n\n\n\n<tool_call>\n" in text
    kept = render_prompt(messages, "qwen3.6", engine=("none", "python")).text
    assert kept.startswith("<|im_start|>system\n \n<|im_end|>\n")


@pytest.mark.parametrize("engine", ["rust", "none", ("go", "none"), ("go",), 1, ("go", 1)])
def test_unknown_engine_is_a_format_error(engine: Any) -> None:
    with pytest.raises(FormatError):
        render_prompt(HISTORY, "qwen3.8", engine=engine)


# errors


def test_names_without_a_renderer_are_format_errors() -> None:
    for name in ("qwen2.5", "qwq", "qwen9", 1):
        with pytest.raises(FormatError):
            render_prompt(HISTORY, name)  # type: ignore[arg-type]


def test_string_arguments_fail_with_a_hint_and_render_normalized() -> None:
    messages = turn('{"a": 1}')  # type: ignore[arg-type]
    with pytest.raises(TemplateError) as caught:
        render_prompt(messages, "qwen3.8")
    assert (str(caught.value), caught.value.kind) == ("Can only get item pairs from a mapping.", "engine")
    assert caught.value.type == "TypeError" and 'normalize="openai"' in str(caught.value.hint)
    text = render_prompt(messages, "qwen3.8", normalize="openai").text
    assert "<parameter=a>\n1\n</parameter>" in text
    with pytest.raises(TemplateError) as plain:
        render_prompt([], "qwen3.8")
    assert plain.value.hint is None and plain.value.kind == "template"


def test_openai_normalisation() -> None:
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "a"}, "b"]},
        {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "reasoning_content": " ", "reasoning": "r", "tool_calls": [
            {"function": {"name": "f", "arguments": '{"a": 1.0, "a": 2}'}}, {"name": "g", "arguments": "{}"},
        ]},
    ]  # fmt: skip
    before = copy.deepcopy(messages)
    text = render_prompt(messages, "qwen3.8", normalize="openai", reasoning_effort="medium").text
    assert messages == before
    assert text == (
        "<|im_start|>system\nab<|im_end|>\n<|im_start|>user\nq<|vision_start|><|image_pad|><|vision_end|><|im_end|>\n"
        "<|im_start|>assistant\n<think>\nr\n</think>\n\n<tool_call>\n<function=f>\n<parameter=a>\n2\n</parameter>\n"
        "</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call><|im_end|>\n"
        "<|im_start|>assistant\n<think>\n"
    )
    kept = [{"role": "user", "content": "q"}, *turn("[1]")[1:]]  # type: ignore[arg-type]
    with pytest.raises(TemplateError, match="Can only get item pairs") as caught:
        render_prompt(kept, "qwen3.8", normalize="openai")
    assert caught.value.hint is None


class Message:
    """A message object such as client libraries have."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_dump(self) -> dict[str, Any]:
        return dict(self.__dict__)


def test_message_objects_render_like_dicts() -> None:
    dicts = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "reasoning_content": "r"}]
    objects: Any = [Message(**message) for message in dicts]
    want = render_prompt(dicts, "qwen3.8").text
    assert render_prompt(objects, "qwen3.8").text == want
    assert render_prompt(objects, "qwen3.8", normalize="transformers5").text == want


# hostile input

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["text", "</think>", "<think>", "<tool_response>x</tool_response>", '{"a": 1}', "1" * 5000]),
)  # fmt: skip
keys = st.sampled_from(["text", "type", "image", "video", "name", "arguments", "function", "description", "properties"])
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(keys, scalars), inner, max_size=3)),
    max_leaves=8,
)
roles = st.one_of(st.sampled_from(["system", "user", "assistant", "tool", "developer"]), values)
hostile = st.one_of(
    st.fixed_dictionaries({}, optional={"role": roles, "content": values, "reasoning_content": values, "tool_calls": values}),
    values,
)
engines = st.sampled_from(["python", "go", "llama", ("none", "go")])
options = st.fixed_dictionaries(
    {},
    optional={
        **{name: values for name in ("enable_thinking", "preserve_thinking", "reasoning_effort", "add_vision_id")},
        "continue_final_message": st.sampled_from([True, "content", "reasoning_content"]),
        "normalize": st.sampled_from([None, "transformers5", "openai"]),
    },
)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.lists(hostile, max_size=5), values),
    st.one_of(st.none(), st.lists(values, max_size=2)),
    engines,
    options,
)
def test_hostile_messages_raise_template_errors_only(messages: Any, tools: Any, engine: Any, options: Any) -> None:
    for name in NAMES:
        before = repr(messages)
        try:
            prompt = render_prompt(messages, name, tools=tools, engine=engine, **options)
        except TemplateError as error:
            assert error.kind in ("template", "engine")
        else:
            ends = [0, *(s.end for s in prompt.segments)]
            assert [s.start for s in prompt.segments] == ends[:-1] and ends[-1] == len(prompt.text)
            assert all(a != b for a, b in itertools.pairwise(s.kind for s in prompt.segments))
        assert repr(messages) == before


@pytest.mark.parametrize("name", NAMES)
def test_deep_and_circular_values_are_engine_failures(name: str) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    circular: dict[str, Any] = {}
    circular["x"] = circular
    for value in (deep, circular):
        for engine in ("python", "go"):
            with pytest.raises(TemplateError) as caught:
                render_prompt(turn({"a": value}), name, engine=engine)
            assert caught.value.kind == "engine"
    del deep


def test_an_integer_python_refuses_to_print_is_an_engine_failure() -> None:
    for name in ("qwen3.5", "qwen3.8", "qwen3"):
        with pytest.raises(TemplateError) as caught:
            render_prompt(turn({"a": 10**5000}), name)
        assert (caught.value.kind, caught.value.type) == ("engine", "ValueError")
    assert "\n+Inf\n" in render_prompt(turn({"a": 10**5000}), "qwen3.8", engine="go").text


words = st.sampled_from(["a", " ", "\n", "<think>", "</think>", "<|im_end|>", "<tool_call>", "\u3000", "é", "{}"])
text = st.lists(words, max_size=6).map("".join)
arguments = st.dictionaries(text, st.one_of(text, st.integers(-9, 9), st.booleans(), st.none()), max_size=2)
call = st.builds(lambda name, arguments: {"function": {"name": name, "arguments": arguments}}, text, arguments)
well_formed = st.one_of(
    st.builds(lambda content: {"role": "user", "content": content}, text),
    st.builds(lambda content: {"role": "tool", "content": content}, text),
    st.builds(
        lambda content, reasoning, calls: {
            "role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": calls,
        },
        text, text, st.lists(call, max_size=2),
    ),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(well_formed, max_size=6), st.booleans())
def test_splitting_a_history_at_any_turn_gives_the_whole(messages: list[dict[str, Any]], off: bool) -> None:
    history = [{"role": "user", "content": "q"}, *messages]
    for name in ("qwen3-instruct-2507", "qwen3-vl", "qwen3-coder", "qwen3.6", "qwen3.8"):
        renderer = get_renderer(name, get_engine("python"), {"preserve_thinking": True, "enable_thinking": not off})
        whole = renderer.render(history).join()
        assert whole.endswith("<|im_start|>assistant\n" + renderer.gen_prefix())
        for index, message in enumerate(history):
            if message["role"] == "assistant":
                before = renderer.render(history[: index + 1], add_generation_prompt=False).join()
                after = Pieces()
                renderer.follow(after, history[index + 1 :])
                renderer.open_turn(after)
                assert before + after.join() == whole
