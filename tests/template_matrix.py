"""The matrix of docs/templates.md, from live renders; `python tests/template_matrix.py` writes it anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qwenparse.errors import QwenParseError, TemplateError
from qwenparse.lint import check_template
from qwenparse.prompt import Prompt, render_prompt
from qwenparse.templates.texts import EFFORT_LOW, EFFORT_XHIGH, XML_TOOLS_HEAD, XML_TOOLS_TAIL

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "templates.md"
FILE = ROOT / "benchmarks" / "agent.jinja"
FILE_ARGUMENTS = {
    "effort_xhigh": EFFORT_XHIGH, "effort_low": EFFORT_LOW, "tools_head": XML_TOOLS_HEAD, "tools_tail": XML_TOOLS_TAIL,
}  # fmt: skip

Render = Callable[..., Prompt]


def column(**fixed: Any) -> Render:
    def render(messages: list[dict[str, Any]], **options: Any) -> Prompt:
        return render_prompt(messages, "qwen3.8", **{**fixed, **options})

    return render


COLUMNS: dict[str, Render] = {
    "native 3.8": column(),
    "robust, XML": column(robust=True),
    "robust, JSON": column(robust=True, tool_call_format="json"),
    "any file": column(template=FILE, normalize="openai", **FILE_ARGUMENTS),
}
"""Any file: a template with the behaviour of 3.8, run by Jinja2, with `normalize="openai"`."""

CHECKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "native 3.8": ("qwen3.8", {}),
    "robust, XML": ("robust", {}),
    "robust, JSON": ("robust", {"tool_call_format": "json"}),
    "any file": (FILE, FILE_ARGUMENTS),
}

USER: dict[str, Any] = {"role": "user", "content": "q"}
EXOTIC = '{"n": 5e1, "s": "x"}'


def calling(arguments: Any, *ids: str) -> dict[str, Any]:
    calls = [{"id": id, "function": {"name": "f", "arguments": arguments}} for id in ids or ("a",)]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(text: str, id: str = "a", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": id, **more}


def outcome(render: Render, messages: list[dict[str, Any]], show: Callable[[str], str], **options: Any) -> str:
    """What `show` makes of the text, or that it fails."""
    try:
        return show(render(messages, **options).text)
    except TemplateError as error:
        return "error" if error.kind == "template" else "fails"
    except QwenParseError:
        return "no"


def has(*parts: str) -> Callable[[str], str]:
    return lambda text: "yes" if all(part in text for part in parts) else "no"


def lacks(part: str) -> Callable[[str], str]:
    return lambda text: "no" if part in text else "yes"


def last(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [USER, message]


def before(first: str, second: str) -> Callable[[str], str]:
    return lambda text: "yes" if text.index(first) < text.index(second) else "as sent"


def refused(render: Render, messages: list[dict[str, Any]], **options: Any) -> str:
    """Whether something is an explicit error."""
    return {"error": "yes", "fails": "fails"}.get(outcome(render, messages, str, **options), "no")


def kinds(render: Render) -> str:
    found = {segment.kind for segment in render([USER]).segments}
    return "yes" if "data" in found else "no"


def unhurt(name: str) -> str:
    template, options = CHECKED[name]
    shapes = check_template(template, options=options).shapes
    return f"{sum(shape.loss is not None and shape.loss.stable for shape in shapes)} of {len(shapes)}"


def notes(render: Render) -> str:
    try:
        return "yes" if render([{"role": "user", "content": "q<|think_on|>"}]).notes else "no"
    except QwenParseError:
        return "no"


ANSWER = {"role": "assistant", "content": "a"}
FEATURES: dict[str, Callable[[Render], str]] = {
    "arguments as a JSON string": lambda r: outcome(r, last(calling(EXOTIC)), has("x")),
    "… their number spelling (`5e1`) is kept": lambda r: outcome(r, last(calling(EXOTIC)), has("5e1")),
    "… that holds no object is an error": lambda r: refused(r, last(calling("[1]"))),
    "arguments missing, None or blank": lambda r: outcome(r, last(calling(None)), has("f")),
    "`true`, `null` as JSON": lambda r: outcome(r, last(calling({"a": True, "b": None})), has("true", "null")),
    "`reasoning_effort=\"high\"`": lambda r: outcome(r, [USER], has("xhigh"), reasoning_effort="high"),
    "an unknown effort is an error": lambda r: refused(r, [USER], reasoning_effort="medum"),
    "… with thinking off too": lambda r: refused(r, [USER], reasoning_effort="medum", enable_thinking=False),
    "an unknown option is an error": lambda r: refused(r, [USER], reasoning_efort="low"),
    "role `developer`": lambda r: outcome(r, [{"role": "developer", "content": "DEV"}, USER], has("DEV")),
    "several leading system messages": lambda r: outcome(
        r, [{"role": "system", "content": "ONE"}, {"role": "system", "content": "TWO"}, USER], has("ONE\n\nTWO")
    ),
    "a late system message is an error": lambda r: refused(r, [USER, {"role": "system", "content": "s"}, USER]),
    "an unknown role is an error": lambda r: refused(r, [USER, {"role": "function", "content": "s"}]),
    "lists of text parts": lambda r: outcome(
        r, [{"role": "user", "content": [{"type": "text", "text": "O"}, {"type": "text", "text": "K"}]}], has("OK")
    ),
    "strings in lists are text": lambda r: outcome(r, [{"role": "user", "content": ["an image"]}], has("an image")),
    "images and videos": lambda r: outcome(
        r, [{"role": "user", "content": [{"type": "image"}, {"type": "video"}]}], has("image_pad", "video_pad")
    ),
    "thoughts in `thinking` or `reasoning`": lambda r: outcome(r, last({**ANSWER, "reasoning": "WHY"}), has("WHY\n<")),
    "thoughts left in the content are taken out": lambda r: outcome(
        r, last({"role": "assistant", "content": "WHY\n</think>\n\nyes"}), has("<think>\nWHY\n</think>\n\nyes")
    ),
    "the empty block of thinking off is kept": lambda r: outcome(
        r, [*last(ANSWER), USER], has("<think>\n\n</think>\n\na"), enable_thinking=False
    ),
    "thinking markers in system messages": lambda r: outcome(
        r, [{"role": "system", "content": "s<|think_off|>"}, USER], has("assistant\n<think>\n\n</think>\n\n")
    ),
    "… a user's marker is removed without effect": lambda r: outcome(
        r, [{"role": "user", "content": "q<|think_off|>"}], lacks("<|think_off|>")
    ),
    "… removals are noted": notes,
    "results stand in the order of their calls": lambda r: outcome(
        r, [USER, calling({}, "a", "b"), result("TWO", "b"), result("ONE", "a")], before("ONE", "TWO")
    ),
    "a result of no call is an error": lambda r: refused(r, [USER, calling({}), result("x", "z")]),
    "`is_error` marks a tool error": lambda r: outcome(
        r, [USER, calling({}), result("x", is_error=True)], has("[tool error]\nx")
    ),
    "no user message": lambda r: outcome(r, [ANSWER], has("a"), **({"no_user": "continuation"} if _robust(r) else {})),
    "engine profiles (`engine=\"llama\"`)": lambda r: outcome(r, [USER], has("q"), engine="llama"),
    "message text is told from frames (segments)": kinds,
    "continues an unfinished answer": lambda r: outcome(
        r, last(ANSWER), has("</think>\n\na"), continue_final_message=True
    ),
}  # fmt: skip


def _robust(render: Render) -> bool:
    return outcome(render, [USER], str, no_user="continuation", unknown=1) == "error"


def matrix() -> str:
    """The table in Markdown."""
    lines = [f"| | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for feature, ask in FEATURES.items():
        lines.append(f"| {feature} | {' | '.join(ask(render) for render in COLUMNS.values())} |")
    lines.append(f"| canonical turns come back ([shapes](#checking-a-template)) | {' | '.join(map(unhurt, COLUMNS))} |")
    return "\n".join(lines)


BEGIN, END = "<!-- matrix: python tests/template_matrix.py -->\n", "\n<!-- end of matrix -->"


def written(text: str) -> str:
    """The matrix as a document has it."""
    found = re.search(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", text, re.DOTALL)
    return found.group(1) if found else ""


if __name__ == "__main__":
    document = DOCS.read_text(encoding="utf-8")
    DOCS.write_text(document.replace(written(document), matrix()), encoding="utf-8")
