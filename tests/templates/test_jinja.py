"""Template files run by Jinja2 with the settings chat templates expect."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from qwenparse.errors import FormatError, TemplateError
from qwenparse.prompt import render_prompt

ROOT = Path(__file__).parent.parent.parent
USER = [{"role": "user", "content": "q"}]
CHAT = """\
{% for message in messages %}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' }}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def text(template: Any, messages: Any = USER, format: str = "qwen2.5", **more: Any) -> str:
    return render_prompt(messages, format, template=template, **more).text


def test_blocks_are_trimmed_as_chat_templates_expect() -> None:
    assert text(CHAT) == "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n"
    assert text(CHAT, add_generation_prompt=False) == "<|im_start|>user\nq<|im_end|>\n"


def test_a_path_names_a_file(tmp_path: Path) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text(CHAT, encoding="utf-8")
    prompt = render_prompt(USER, "qwen2.5", template=file)
    assert prompt.text == text(CHAT)
    assert prompt.gen_prefix == "" and [s.kind for s in prompt.segments] == ["frame"]
    with pytest.raises(FileNotFoundError):
        text(tmp_path / "none.jinja")


def test_gen_prefix_is_what_stands_behind_the_open_header() -> None:
    prompt = render_prompt(USER, "qwq", template="<|im_start|>assistant\nx<|im_end|>\n<|im_start|>assistant\n<think>\n")
    assert prompt.gen_prefix == "<think>"  # Jinja takes one newline off the end of a template
    assert [s.kind for s in prompt.segments] == ["frame", "gen_prefix"]
    assert render_prompt(USER, "qwq", template="<|im_start|>assistant\nx<|im_end|>").gen_prefix is None


@pytest.mark.parametrize(
    ("template", "written"),
    [
        ("{{ {'a': '<é>', 'b': [1.0, none]} | tojson }}", '{"a": "<é>", "b": [1.0, null]}'),
        ("{{ [2, 1] | tojson(indent=1) }}", "[\n 2,\n 1\n]"),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"),
        ("{% generation %}a{{ messages[0].content }}{% endgeneration %}b", "aqb"),
        ("{% set x = 1 %}{% generation %}{% set x = 2 %}{% endgeneration %}{{ x }}", "1"),
        ("{{ tools is none }} {{ documents is none }} {{ enable_thinking is defined }}", "True True False"),
        ("{{ strftime_now('%%') }}", "%"),
    ],
)
def test_what_templates_may_use(template: str, written: str) -> None:
    assert text(template) == written


def test_arguments_reach_the_template() -> None:
    assert text("{{ enable_thinking }}{{ tools[0].name }}", enable_thinking=False, tools=[{"name": "f"}]) == "Falsef"


@pytest.mark.parametrize(
    ("template", "kind", "type", "message"),
    [
        ("{{ raise_exception('No <x>.') }}", "template", "TemplateError", "No <x>."),
        ("{{ 'a' + 1 }}", "engine", "TypeError", 'can only concatenate str (not "int") to str'),
        ("{{ x.y }}", "engine", "UndefinedError", "'x' is undefined"),
        ("{{ messages.append(1) }}", "engine", "SecurityError", None),
        ("{{ ().__class__.__mro__ }}", "engine", "SecurityError", None),
        ("{% if %}", "engine", "TemplateSyntaxError", None),
        ("{{ 1 / 0 }}", "engine", "ZeroDivisionError", "division by zero"),
    ],
)
def test_failures_say_who_failed(template: str, kind: str, type: str, message: str | None) -> None:
    with pytest.raises(TemplateError) as caught:
        text(template)
    assert (caught.value.kind, caught.value.type) == (kind, type)
    assert message is None or str(caught.value) == message


def test_messages_reach_the_template_unchanged_unless_normalized() -> None:
    template = "{% for m in messages %}{{ m | tojson }}{% endfor %}"
    messages: list[Any] = [{"role": "assistant", "content": None, "thinking": "t"}]
    assert text(template, messages) == '{"role": "assistant", "content": null, "thinking": "t"}'
    assert text(template, messages, normalize="transformers5") == (
        '{"thinking": "t", "role": "assistant", "reasoning_content": "t"}'
    )
    assert text(template, messages, normalize="openai") == (
        '{"role": "assistant", "content": null, "thinking": "t", "reasoning_content": "t"}'
    )
    with pytest.raises(FormatError, match="normalize"):
        text(template, messages, normalize="x")


def test_transformers_normalisation_rebuilds_plain_values() -> None:
    class Name(str):
        """A str that is not one."""

    template = "{% for m in messages %}{{ m | tojson }}{% endfor %}"
    messages: list[Any] = [{"role": Name("user"), "content": ({"x": object()}, True, 2, 1.5)}]
    assert text(template, messages, normalize="transformers5") == (
        '{"role": "user", "content": [{"x": "<object>"}, true, 2, 1.5]}'
    )


@pytest.mark.parametrize(
    ("format", "field", "end"),
    [
        ("qwen2.5", "content", " c "),
        ("qwen2.5", "reasoning_content", ""),
        ("qwq", "content", "<think> r </think> c "),
        ("qwq", "reasoning_content", "<think> r "),
        ("qwen3-thinking-2507", True, "<think>\n r \n</think>\n\n c "),
    ],
)
def test_continued_messages(format: str, field: Any, end: str) -> None:
    messages = [*USER, {"role": "assistant", "content": " c ", "reasoning_content": " r "}]
    prompt = render_prompt(messages, format, template=CHAT, continue_final_message=field)
    assert prompt.text == "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n" + end
    assert prompt.gen_prefix == end


def test_continued_messages_as_transformers_does_it() -> None:
    messages = [*USER, {"role": "assistant", "content": "c "}]
    end = "<|im_start|>assistant\nc "
    assert text(CHAT, messages, normalize="transformers5", continue_final_message=True).endswith(end)
    trimming = CHAT.replace("message.content", "message.content | trim")
    assert text(trimming, messages, normalize="transformers5", continue_final_message=True).endswith(end[:-1])


@pytest.mark.parametrize("more", [{"engine": "go"}, {"robust": True}])
def test_a_template_file_has_no_profile_and_no_policy(more: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="template="):
        text(CHAT, **more)


def test_jinja2_is_imported_only_when_a_template_is_rendered() -> None:
    code = (
        "import sys; from qwenparse.prompt import render_prompt; m = [{'role': 'user', 'content': 'q'}]\n"
        "render_prompt(m, 'qwen3.8'); assert 'jinja2' not in sys.modules; sys.modules['jinja2'] = None\n"
        "try: render_prompt(m, 'qwen3.8', template='x')\n"
        "except ImportError as e: print(e)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "template= needs jinja2: pip install 'qwenparse[templates]'\n"


def test_native_renderer_is_much_faster_than_jinja2() -> None:
    """A guard against a slow path, not the claim: that is `benchmarks/bench_templates.py`, 15 to 20 times."""
    spec = importlib.util.spec_from_file_location("bench_templates", ROOT / "benchmarks" / "bench_templates.py")
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    ratios = [bench.measure(10)["ratio"] for _ in range(3)]
    assert max(ratios) > 6, ratios
