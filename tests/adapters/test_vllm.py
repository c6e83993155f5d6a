"""The vLLM plugin under vLLM's own code, as its wheel has it: the managers, the composed parser, the stream processor.

vLLM is not installed (it needs torch and a compiled part); see `host_sources`. What runs as published is listed in
`REAL`; requests are stand-ins.
"""

from __future__ import annotations

import ast
import inspect
import json
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import adapter_inputs
import host_sources
import pytest
import real_tokenizers
from adapter_inputs import HEADER, Input, cuts, inputs

from qwenparse import DeltaParser, Turn
from qwenparse.adapters.answer import collect

VERSION = "0.33.0"
FILES = ["vllm/tool_parsers/", "vllm/reasoning/", "vllm/parser/", "vllm/entrypoints/", "vllm/utils/"]
REAL = [
    "vllm.entrypoints.serve.engine.protocol",
    "vllm.entrypoints.generate.base.protocol",
    "vllm.tool_parsers.tool_strict_level",
    "vllm.utils.collection_utils",
    "vllm.utils.import_utils",
    "vllm.tool_parsers.abstract_tool_parser",
    "vllm.reasoning.abs_reasoning_parsers",
    "vllm.reasoning",
    "vllm.tool_parsers",
    "vllm.parser.engine.adapters",
    "vllm.parser.abstract_parser",
    "vllm.parser.parser_manager",
    "vllm.entrypoints.serve.utils.tool_calls_utils",
    "vllm.entrypoints.openai.chat_completion.message_assembly",
    "vllm.entrypoints.openai.chat_completion.stream_processor",
]
GIVEN: dict[str, dict[str, Any]] = {
    "vllm.envs": {"VLLM_MAX_STOP_STRINGS": 16, "VLLM_ENFORCE_STRICT_TOOL_CALLING": True},
    "vllm.logger": {"init_logger": host_sources.silent_logger},
    "vllm.renderers.chat_utils": {
        "make_tool_call_id": lambda **_: "chatcmpl-tool-" + uuid.uuid4().hex,
        "get_tool_call_id_type": lambda _: "random",
    },
    "vllm.parser.response_template": {"response_template_parser_cls": lambda _: None},
    "vllm.parser.metrics": {"record_tool_parser_invocation": lambda **_: None},
    "xgrammar": {}, "torch": {}, "partial_json_parser": {}, "regex": {}, "transformers": {}, "jinja2": {},
}  # fmt: skip


@pytest.fixture(scope="module")
def host() -> Iterator[Any]:
    root = host_sources.source("vllm", VERSION, FILES)
    with host_sources.loaded(root, "vllm", REAL, GIVEN) as modules:
        managers = modules["vllm.tool_parsers.abstract_tool_parser"], modules["vllm.reasoning.abs_reasoning_parsers"]
        managers[0].ToolParserManager.import_tool_parser("qwenparse.adapters.vllm")
        managers[1].ReasoningParserManager.import_reasoning_parser("qwenparse.adapters.vllm")
        import qwenparse.adapters.vllm as plugin

        yield SimpleNamespace(root=root, plugin=plugin, **{name.rpartition(".")[2]: m for name, m in modules.items()})


class Tokenizer:
    """What the plugin asks of vLLM's tokenizer."""

    def __init__(self) -> None:
        self.encoder = real_tokenizers.tokenizer("small")
        self.table = real_tokenizers.table("small")

    def get_vocab(self) -> dict[str, int]:
        return dict(self.encoder.get_vocab())

    def decode(self, ids: list[int]) -> str:
        return self.table.decode(ids)

    def ids(self, text: str) -> list[int]:
        return list(self.encoder.encode(text, add_special_tokens=False).ids)


TOKENIZER = Tokenizer()
TAILS = {"reasoning": "<think>\n", "content": "<think>\n\n</think>\n\n", "auto": ""}


class Case:
    """An input as a vLLM request: the tools declared, the rendered prompt, the policies of the plugin."""

    def __init__(self, host: Any, item: Input) -> None:
        host.plugin.FORMAT = item.format
        host.plugin.POLICY = item.settings.get("policy", adapter_inputs.Policy())
        self.host = host
        self.item = item
        self.tools = item.settings["tools"] or []
        tail = item.prefix if item.prefix else TAILS[item.settings["start"]]
        self.prompt = f"<|im_start|>user\nHi<|im_end|>\n{HEADER}{tail}"
        self.prompt_ids = TOKENIZER.ids(self.prompt)
        param = __import__("vllm.entrypoints.openai.chat_completion.protocol", fromlist=["x"]).ChatCompletionToolsParam
        made = [param() for _ in self.tools]
        for tool, one in zip(self.tools, made, strict=True):
            one.model_dump = lambda tool=tool: tool
        self.request = SimpleNamespace(
            tools=made, tool_choice="auto", include_reasoning=True, parallel_tool_calls=None, skip_special_tokens=True,
            structured_outputs=None, extract_structured_outputs=lambda: None,
        )  # fmt: skip

    def ours(self, stop: str) -> Turn:
        parser = DeltaParser.for_prompt(
            self.prompt, format=self.item.format, tools=self.tools, policy=self.host.plugin.POLICY
        )
        parser.feed(self.item.text)
        parser.close(stop=stop)  # type: ignore[arg-type]
        return parser.turn

    def parser_class(self, reasoning: bool = True, tools: bool = True) -> Any:
        return self.host.parser_manager.ParserManager.get_parser(
            tool_parser_name="qwenparse" if tools else None,
            reasoning_parser_name="qwenparse" if reasoning else None,
            enable_auto_tools=True,
        )

    def parser(self, **parts: bool) -> Any:
        make = self.parser_class(**parts)
        return make(TOKENIZER, self.request.tools or None, chat_template_kwargs={}, model_config=None)

    def stream(self, pieces: list[str], stop: str, **parts: bool) -> tuple[str, str, list[list[str]], str]:
        parser = self.parser(**parts)
        processor = self.host.stream_processor.ChatStreamProcessor(
            self.request, parser, enable_auto_tools=True, parser_cls=type(parser)
        )
        reasoning = content = ""
        calls: list[list[str]] = []
        ends = {"im_end": "<|im_end|>", "other_stop": "<|endoftext|>", "none": ""}[stop]
        steps = [(piece, [TOKENIZER.ids("x")[0]], None) for piece in pieces]
        steps.append(("", TOKENIZER.ids(ends), "stop" if ends else "length"))
        finish = ""
        for text, ids, reason in steps:
            step = processor.step(text, ids, reason, self.prompt_ids)
            finish = step.finish_reason or finish
            if step.delta is None:
                continue
            reasoning += step.delta.reasoning or ""
            content += step.delta.content or ""
            for call in step.delta.tool_calls:
                if call.function.name is not None:
                    assert call.index == len(calls) and call.type == "function" and call.id
                    calls.append([call.function.name, ""])
                assert call.index == len(calls) - 1
                calls[-1][1] += call.function.arguments or ""
        return reasoning, content, calls, finish


def expected(turn: Turn) -> tuple[str, str, list[list[str]]]:
    return turn.reasoning or "", turn.content or "", [[c.name or "", c.arguments_json] for c in turn.calls]


def plain(item: Input) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in item.text)


INPUTS = [item for item in inputs(80) if plain(item)]


@pytest.mark.parametrize("item", INPUTS, ids=lambda i: i.id)
def test_the_hosts_stream_is_ours(host: Any, item: Input) -> None:
    case = Case(host, item)
    turn = case.ours(item.stop)
    want = expected(turn)
    for pieces in cuts(item):
        if isinstance(pieces[0] if pieces else "", str):
            got = case.stream(pieces, item.stop)
            assert got[:3] == want
            assert got[3] == ("length" if item.stop == "none" else "tool_calls" if turn.calls else "stop")


@pytest.mark.parametrize("item", INPUTS, ids=lambda i: i.id)
def test_the_hosts_whole_answer_is_ours(host: Any, item: Input) -> None:
    case = Case(host, item)
    turn = case.ours("none")
    parser = case.parser()
    parser.set_prompt_token_ids(case.prompt_ids)
    reasoning, content, calls = parser.parse(item.text, case.request, enable_auto_tools=True)
    assert (reasoning, content or None) == (turn.reasoning, _visible(turn.content, turn))
    assert [(c.name, c.arguments) for c in calls or ()] == [(c.name, c.arguments_json) for c in turn.tool_calls]


def _visible(content: str | None, turn: Turn) -> str | None:
    # vLLM drops content of whitespace alone where there are calls.
    return None if turn.tool_calls and content is not None and not content.strip() else content


@pytest.mark.parametrize("item", INPUTS[::5], ids=lambda i: i.id)
def test_each_parser_works_alone(host: Any, item: Input) -> None:
    case = Case(host, item)
    tools, case.tools = case.tools, []
    turn = case.ours(item.stop)
    case.tools = tools
    # Where the prompt has closed the thought vLLM asks no reasoning parser, and passes the text on.
    asked = not case.parser(tools=False).is_reasoning_end(case.prompt_ids)
    want_alone = expected(turn) if asked else ("", item.text, [])
    for pieces in cuts(item, single=False):
        if isinstance(pieces[0] if pieces else "", str):
            assert case.stream(pieces, item.stop, tools=False)[:3] == want_alone
    # Without a reasoning parser the completion is an answer, whatever the prompt says.
    alone = DeltaParser(item.format, tools=case.tools, start="content", policy=host.plugin.POLICY)
    want = collect(alone, [item.text], stop=item.stop)  # type: ignore[arg-type]
    for pieces in cuts(item, single=False):
        if isinstance(pieces[0] if pieces else "", str):
            got = case.stream(pieces, item.stop, reasoning=False)
            assert got[1:3] == (want.content or "", [[c.name, c.arguments_json] for c in want.calls])


def test_arguments_are_streamed_and_no_text_is_kept(host: Any) -> None:
    item = next(i for i in INPUTS if i.id == "typed")
    case = Case(host, item)
    parser = case.parser()
    text = "Hm.\n</think>\n\n<tool_call>\n<function=v>\n<parameter=s>\n"
    parser.parse_delta(text, [1], case.request, case.prompt_ids, finished=False)
    seen = []
    for word in ("alpha ", "beta ", "gamma"):
        delta = parser.parse_delta(word, [1], case.request, case.prompt_ids, finished=False)
        seen.append(delta.tool_calls[0].function.arguments)
    assert seen == ["alpha ", "beta ", "gamma"]
    assert parser._engine_based and parser._stream_state.previous_text == ""
    joint = parser.tool_parser.joint
    assert joint is parser.reasoning_parser.joint and joint.empty


def test_the_prompt_decides_whether_reasoning_has_ended(host: Any) -> None:
    case = Case(host, INPUTS[0])
    parser = case.parser().reasoning_parser
    for tail, ended in (
        ("<think>\n", False), ("<think>\n\n</think>\n\n", True), ("", False), ("<think>\nHm.\n</think>\n\nHi", True),
        ("<think>\nHm", False), ("Hi", True),
    ):  # fmt: skip
        assert parser.is_reasoning_end(TOKENIZER.ids(f"<|im_start|>user\nx</think><|im_end|>\n{HEADER}{tail}")) is ended


def test_counts_and_ids(host: Any) -> None:
    case = Case(host, INPUTS[0])
    parser = case.parser().reasoning_parser
    parser.set_prompt_token_ids(TOKENIZER.ids(HEADER + "<think>\n"))
    ids = TOKENIZER.ids("Hm. Yes.\n</think>\n\nHi")
    closing = TOKENIZER.get_vocab()["</think>"]
    at = ids.index(closing)
    assert parser.count_reasoning_tokens(ids) == at
    assert parser.count_reasoning_tokens(ids[:at]) == at
    assert parser.extract_content_ids(ids) == ids[at + 1 :] and parser.extract_content_ids(ids[:at]) == []
    assert parser.is_reasoning_end_streaming(ids, [closing]) and not parser.is_reasoning_end_streaming(ids, [ids[0]])
    parser.set_prompt_token_ids(TOKENIZER.ids(HEADER + "<think>\n\n</think>\n\n"))
    assert parser.count_reasoning_tokens(TOKENIZER.ids("Hi")) == 0
    assert (parser.reasoning_start_str, parser.reasoning_end_str) == ("<think>", "</think>")


def test_requests_keep_control_tokens(host: Any) -> None:
    case = Case(host, next(i for i in INPUTS if i.settings["tools"]))
    assert case.parser().adjust_request(case.request).skip_special_tokens is False


def test_a_new_request_does_not_meet_an_old_reasoning_parser(host: Any) -> None:
    case = Case(host, INPUTS[0])
    old = case.parser(tools=False).reasoning_parser
    old.extract_reasoning_streaming("", "", "Hm.", [], [], [1])
    alone = case.parser(reasoning=False).tool_parser
    assert alone.partner is None and not old.paired


# ------------------------------------------------------------------------------------------------------ the interface

TOOL_METHODS = {
    "__init__": ["self", "tokenizer", "tools"],
    "adjust_request": ["self", "request"],
    "extract_tool_calls": ["self", "model_output", "request"],
    "extract_tool_calls_streaming": [
        "self", "previous_text", "current_text", "delta_text", "previous_token_ids", "current_token_ids",
        "delta_token_ids", "request",
    ],
    "get_remaining_unstreamed_args": ["self"],
}  # fmt: skip
REASONING_METHODS = {
    "adjust_request": ["self", "request"],
    "adjust_initial_state_from_prompt": ["self", "prompt_token_ids"],
    "count_reasoning_tokens": ["self", "token_ids"],
    "extract_content_ids": ["self", "input_ids"],
    "extract_reasoning": ["self", "model_output", "request"],
    "extract_reasoning_streaming": [
        "self", "previous_text", "current_text", "delta_text", "previous_token_ids", "current_token_ids",
        "delta_token_ids",
    ],
    "has_engine_confirmed_reasoning_end": ["self"],
    "is_reasoning_end": ["self", "input_ids"],
    "is_reasoning_end_streaming": ["self", "input_ids", "delta_ids"],
    "set_prompt_token_ids": ["self", "prompt_token_ids"],
}  # fmt: skip
# Of the host's methods these are inherited as they are.
INHERITED = {"vocab", "get_structural_tag", "__init_subclass__", "prepare_structured_tag", "__init__"}


def _methods(file: Any, name: str) -> dict[str, list[str]]:
    (found,) = (n for n in ast.parse(file.read_text("utf-8")).body if isinstance(n, ast.ClassDef) and n.name == name)
    return {f.name: [a.arg for a in f.args.args] for f in found.body if isinstance(f, ast.FunctionDef)}


def test_every_method_of_the_host_is_known(host: Any) -> None:
    tool = _methods(host.root / "vllm/tool_parsers/abstract_tool_parser.py", "ToolParser")
    reasoning = _methods(host.root / "vllm/reasoning/abs_reasoning_parsers.py", "ReasoningParser")
    reasoning = {k: v for k, v in reasoning.items() if not k.endswith("_str")}
    assert {k: v for k, v in tool.items() if k not in INHERITED - {"__init__"}} == TOOL_METHODS
    assert {k: v for k, v in reasoning.items() if k not in INHERITED} == REASONING_METHODS
    plugin = host.plugin
    for ours, methods in ((plugin.QwenToolParser, TOOL_METHODS), (plugin.QwenReasoningParser, REASONING_METHODS)):
        for name, arguments in methods.items():
            assert list(inspect.signature(vars(ours)[name]).parameters) == arguments
        assert "finish_streaming" in vars(ours) and ours.engine_based_streaming is True


def test_the_host_asks_for_nothing_else() -> None:
    """What the host's code calls on the two parsers, beside the methods of their classes."""
    root = host_sources.source("vllm", VERSION, FILES)
    called = set()
    for node in ast.walk(ast.parse((root / "vllm/parser/abstract_parser.py").read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Attribute, ast.Name)):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
            if owner in ("_reasoning_parser", "_tool_parser", "reasoning_parser", "tool_parser"):
                called.add(node.attr)
    known = {*TOOL_METHODS, *REASONING_METHODS, "finish_streaming", "engine_based_streaming"}
    attributes = {"default_tool_strict_level", "structural_tag_model", "supports_required_and_named"}
    assert called - known == attributes | {"get_structural_tag", "skip_reasoning_parsing"}


def test_json_of_every_complete_call_parses(host: Any) -> None:
    case = Case(host, next(i for i in INPUTS if i.id == "typed"))
    _, _, calls, _ = case.stream(list(case.item.text), "im_end")
    assert len(calls) == 3 and all(isinstance(json.loads(text), dict) for _, text in calls)
