"""mlx-lm's own server with our loop: its handler, its request and its generation context, a scripted generation."""

from __future__ import annotations

import importlib
import inspect
import io
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import mlx_lm.server
import pytest
import real_tokenizers
from adapter_inputs import HEADER, Input, inputs
from mlx_lm.generate import TextStateMachine
from mlx_lm.server import APIHandler, GenerationContext, Response

from qwenparse import DeltaParser, Turn
from qwenparse.adapters import mlx_lm as plugin
from qwenparse.adapters import openai
from qwenparse.adapters.pieces import joined

ORIGINAL = APIHandler.handle_completion
TABLE = real_tokenizers.table("small")
ENCODER = real_tokenizers.tokenizer("small")
TAILS = {"reasoning": "<think>\n", "content": "<think>\n\n</think>\n\n", "auto": ""}
TOOLS = [{"type": "function", "function": {"name": "sh", "parameters": {"properties": {"cmd": {"type": "string"}}}}}]
CALL = "<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"


def ids(text: str) -> list[int]:
    return list(ENCODER.encode(text, add_special_tokens=False).ids)


class Socket:
    """A connection whose request is there already."""

    def __init__(self, path: str, body: Any) -> None:
        data = json.dumps(body).encode()
        self.request = f"POST {path} HTTP/1.0\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
        self.sent = b""

    def makefile(self, *args: Any, **kwargs: Any) -> io.BytesIO:
        return io.BytesIO(self.request)

    def sendall(self, data: bytes) -> None:
        self.sent += bytes(data)

    @property
    def body(self) -> bytes:
        return self.sent.partition(b"\r\n\r\n")[2]


class Generator:
    """mlx-lm's response generator with a completion it knows."""

    def __init__(self, prompt: str, text: str, end: str | None, tokenizer: Any = ENCODER) -> None:
        self.cli_args = SimpleNamespace(
            num_draft_tokens=3, max_tokens=9, temp=0.0, top_p=1.0, top_k=0, min_p=0.0, allowed_origins=["*"]
        )
        self.model_provider = SimpleNamespace(tokenizer=tokenizer)
        self.prompt = ids(prompt)
        self.responses = list(self._responses(text, end))
        self.context: Any = None

    @staticmethod
    def _responses(text: str, end: str | None) -> Iterator[Response]:
        tokens = ids(text)
        sent = ""
        for place, token in enumerate(tokens):
            cut = end is None and place == len(tokens) - 1
            # As mlx-lm's detokenizer: the text is late where a character is not whole, and lossy. (Long ones go by id.)
            whole = joined(TABLE.decode(tokens[: place + 1])).rstrip("\ufffd") if len(tokens) < 200 else ""
            yield Response(whole[len(sent) :], token, 0.0, "length" if cut else None, ())
            sent = whole
        if end is not None:
            yield Response(end, ids(end)[0], 0.0, "stop", ())

    def generate(self, request: Any, args: Any, progress_callback: Any = None) -> Any:
        self.args = args
        machine = TextStateMachine(
            {
                "normal": [("<think>", "reasoning"), ("<tool_call>", "tool")],
                "reasoning": [("</think>", "normal"), ("<tool_call>", "tool")],
                "tool": [("</tool_call>", "normal")],
            }
        )
        self.context = GenerationContext(True, True, plugin.parse_tool_call, machine, "normal", self.prompt, 2)
        return self.context, iter(self.responses)


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    plugin.install()
    yield
    APIHandler.handle_completion = ORIGINAL


def ask(generator: Generator, path: str = "/v1/chat/completions", **body: Any) -> Socket:
    socket = Socket(path, {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body})
    APIHandler(generator, socket, ("host", 1), None, system_fingerprint="fp")
    assert socket.sent.startswith(b"HTTP/1.0 200"), socket.sent[:200]
    return socket


def chunks(socket: Socket) -> list[Any]:
    *lines, done, end = socket.body.decode().split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    return [json.loads(line.removeprefix("data: ")) for line in lines if not line.startswith(":")]


def joined_chunks(got: list[Any]) -> tuple[str, str, list[list[str]]]:
    deltas = [c["choices"][0]["delta"] for c in got if c["choices"]]
    calls: list[list[str]] = []
    for call in (call for delta in deltas for call in delta.get("tool_calls", ())):
        if "id" in call:
            calls.append([call["function"]["name"], ""])
        calls[-1][1] += call["function"]["arguments"]
    return (
        "".join(d.get("reasoning") or "" for d in deltas), "".join(d.get("content") or "" for d in deltas), calls,
    )  # fmt: skip


def expected(turn: Turn) -> tuple[str, str, list[list[str]]]:
    calls = [[c.name or "", c.arguments_json] for c in turn.calls]
    return joined(turn.reasoning or ""), joined(turn.content or ""), calls


INPUTS = [
    i for i in inputs(40)
    if "<|" not in i.text and not i.prefix and not any("\ud800" <= c <= "\udfff" for c in i.text)
]  # fmt: skip


@pytest.mark.parametrize("item", INPUTS, ids=lambda i: i.id)
def test_the_servers_answer_is_ours(item: Input, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "POLICY", item.settings["policy"] if "policy" in item.settings else plugin.POLICY)
    tools = item.settings["tools"] or []
    prompt = f"<|im_start|>user\nHi<|im_end|>\n{HEADER}{TAILS[item.settings['start']]}"
    end = {"im_end": "<|im_end|>", "other_stop": "<|endoftext|>", "none": None}[item.stop]
    parser = DeltaParser.for_prompt(ids(prompt), tokens=TABLE, tools=tools, policy=plugin.POLICY)
    parser.feed_ids(ids(item.text))
    parser.close(stop=item.stop)  # type: ignore[arg-type]
    turn = parser.turn
    got = chunks(ask(Generator(prompt, item.text, end), stream=True, tools=tools))
    assert joined_chunks(got) == expected(turn)
    reason = openai.outcome(turn, "length" if end is None and item.text else "stop")
    assert got[-1]["choices"][0]["finish_reason"] == reason
    whole = json.loads(ask(Generator(prompt, item.text, end), tools=tools).body)
    message = openai.message(turn, reasoning="reasoning")
    for call in (*message.get("tool_calls", ()), *whole["choices"][0]["message"].get("tool_calls", ())):
        del call["id"]
    assert whole["choices"][0]["message"] == message and whole["choices"][0]["finish_reason"] == reason


def test_arguments_stream_token_by_token() -> None:
    text = CALL.replace("ls", "one two three four five six")
    got = chunks(ask(Generator(HEADER, text, "<|im_end|>"), stream=True, tools=TOOLS))
    pieces = [c["choices"][0]["delta"] for c in got if "tool_calls" in c["choices"][0]["delta"]]
    assert len(pieces) > 6
    assert joined_chunks(got)[2] == [["sh", '{"cmd": "one two three four five six"}']]


def test_bytes_of_a_character_in_two_tokens_are_not_lost() -> None:
    generator = Generator(HEADER, "水鏡", "<|im_end|>")
    assert len(generator.responses) > 3
    assert joined_chunks(chunks(ask(generator, stream=True)))[1] == "水鏡"


def test_usage_and_context() -> None:
    generator = Generator(HEADER, "Hi", "<|im_end|>")
    got = chunks(ask(generator, stream=True, stream_options={"include_usage": True}))
    usage = got[-1]["usage"]
    assert got[-1]["choices"] == [] and usage["prompt_tokens"] == len(generator.prompt)
    assert usage["completion_tokens"] == len(generator.responses)
    assert usage["prompt_tokens_details"] == {"cached_tokens": 2}
    assert generator.context._should_stop and generator.args.max_tokens == 9
    assert got[0]["system_fingerprint"] == "fp" and got[0]["id"].startswith("chatcmpl-")
    whole = json.loads(ask(Generator(HEADER, "Hi", "<|im_end|>")).body)
    assert whole["usage"]["prompt_tokens_details"] == {"cached_tokens": 2} and whole["system_fingerprint"] == "fp"


def test_stop_strings_are_cut_off_and_end_no_turn() -> None:
    generator = Generator(HEADER, "One two END", None)
    last = generator.responses[-1]
    generator.responses[-1] = Response(last.text, last.token, 0.0, "stop", ())
    assert joined_chunks(chunks(ask(generator, stream=True, stop=["END"])))[1] == "One two"
    kept = chunks(ask(Generator(HEADER, "One two EN", None), stream=True, stop="END"))
    assert joined_chunks(kept)[1] == "One two EN" and kept[-1]["choices"][0]["finish_reason"] == "length"
    ended = chunks(ask(Generator(HEADER, "One", "<|im_end|>"), stop=["END"], stream=True))
    assert joined_chunks(ended)[1] == "One" and ended[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("body", [{"logprobs": True}, {"top_logprobs": 2, "logprobs": True}])
def test_requests_with_logprobs_go_the_hosts_way(body: Any) -> None:
    whole = json.loads(ask(Generator(HEADER, "Hi", "<|im_end|>"), **body).body)
    assert whole["choices"][0]["message"]["content"] == "Hi" and "logprobs" in whole["choices"][0]


def test_text_completions_go_the_hosts_way() -> None:
    whole = json.loads(ask(Generator("", "<think>Hi", None), "/v1/completions", prompt="x").body)
    assert whole["object"] == "text_completion"


def test_other_vocabularies_go_the_hosts_way() -> None:
    class Other:
        pass

    got = chunks(ask(Generator(HEADER, CALL, "<|im_end|>", Other()), stream=True, tools=TOOLS))
    assert joined_chunks(got)[2] == [["sh", '{"cmd": "ls"}']] and "role" in got[-1]["choices"][0]["delta"]


def test_a_generation_that_fails_is_answered_as_the_host_does() -> None:
    class Failing(Generator):
        def generate(self, request: Any, args: Any, progress_callback: Any = None) -> Any:
            raise ValueError("no model")

    socket = Socket("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]})
    APIHandler(Failing(HEADER, "Hi", None), socket, ("host", 1), None, system_fingerprint="fp")
    assert socket.sent.startswith(b"HTTP/1.0 404") and json.loads(socket.body) == {"error": "no model"}


def test_install_twice_is_install_once() -> None:
    installed = APIHandler.handle_completion
    plugin.install()
    assert APIHandler.handle_completion is installed and installed is not ORIGINAL


# ---------------------------------------------------------------------------------------------------- the tool parser


def test_the_module_is_found_where_mlx_lm_looks() -> None:
    plugin.register()
    module = importlib.import_module("mlx_lm.tool_parsers.qwenparse")
    assert module.parse_tool_call is plugin.parse_tool_call


@pytest.mark.parametrize("item", INPUTS, ids=lambda i: i.id)
def test_the_tool_parser_reads_what_the_host_cuts_out(item: Input) -> None:
    """Whatever lies between the tags gives calls or `ValueError`, which is all that mlx-lm's formatter catches."""
    machine = TextStateMachine({"normal": [("<tool_call>", "tool")], "tool": [("</tool_call>", "normal")]})
    _, segments = machine.split(machine.make_state(), item.text)
    formatter = mlx_lm.server.ToolCallFormatter(plugin.parse_tool_call, item.settings["tools"] or None)
    for state, text in segments:
        if state == "tool":
            for call in formatter([text]):
                assert isinstance(json.loads(call["function"]["arguments"]), dict) and call["id"]


def test_calls_of_both_dialects() -> None:
    xml = CALL.removeprefix("<tool_call>").removesuffix("</tool_call>")
    js = '{"name": "sh", "arguments": {"cmd": "ls"}}'
    for text in (xml, js, "\n" + js + "\n"):
        call = plugin.parse_tool_call(text, TOOLS)
        assert isinstance(call, dict) and (call["name"], call["arguments"]) == ("sh", {"cmd": "ls"})
    both = plugin.parse_tool_call(xml + xml, TOOLS)
    assert isinstance(both, list) and [c["name"] for c in both] == ["sh", "sh"]
    cut = ["\n<function=sh>\n<parameter=cmd>\nrm -rf /srv/bu", xml[:30], xml[:-16], js[:-1]]
    for text in ("", "x", '{"name": 5}', *cut):
        with pytest.raises(ValueError, match="no complete tool call"):
            plugin.parse_tool_call(text, TOOLS)


# ------------------------------------------------------------------------------------------------------ the interface


def test_what_is_used_of_the_host_is_there() -> None:
    assert list(inspect.signature(ORIGINAL).parameters) == ["self", "request", "stop_words"]
    assert list(inspect.signature(mlx_lm.server.ResponseGenerator.generate).parameters) == [
        "self", "request", "generation_args", "progress_callback",
    ]  # fmt: skip
    assert {"text", "token", "finish_reason"} <= set(Response.__dataclass_fields__)
    assert {"prompt", "prompt_cache_count"} <= set(GenerationContext.__dataclass_fields__)
    for name in ("_set_stream_headers", "_set_completion_headers", "completion_usage_response"):
        assert callable(getattr(APIHandler, name))
    for name in ("split", "flush", "make_state"):
        assert callable(getattr(TextStateMachine, name))
    source = inspect.getsource(APIHandler)
    for name in ("requested_model", "request_id", "created", "system_fingerprint", "stream_options", "logprobs"):
        assert f"self.{name} =" in source
    assert "self.tokenizer = tokenizer" in inspect.getsource(mlx_lm.server.ModelProvider)


@pytest.mark.parametrize("name", ["json_tools", "qwen3_coder"])
def test_the_hosts_own_tool_parsers_have_the_same_three_names(name: str) -> None:
    module = importlib.import_module(f"mlx_lm.tool_parsers.{name}")
    assert isinstance(module.tool_call_start, str) and isinstance(module.tool_call_end, str)
    assert list(inspect.signature(module.parse_tool_call).parameters)[1:] == ["tools"]
    assert len(inspect.signature(plugin.parse_tool_call).parameters) == 2
