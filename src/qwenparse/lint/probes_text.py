"""Probes of what a template does with the text of messages, their roles and their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .probes_options import FAILS, USER
from .registry import NotApplicable, defect, probe
from .report import Finding
from .target import ASSISTANT, Target, call

ON, OFF = "<|think_on|>", "<|think_off|>"
LOST = "text is lost in silence"


def _system(content: Any, role: str = "system") -> list[dict[str, Any]]:
    return [{"role": role, "content": content}, USER]


@probe("markers", "R7")
def markers(t: Target) -> Iterator[Finding]:
    plain = t.render(_system("Be brief."))
    if plain.text is None:
        raise NotApplicable(f"a system message is refused: {plain.error}")
    open_prefix = t.gen_prefix(plain.text)
    off = t.render(_system(f"Be brief.{OFF}"))
    if off.text is None or (OFF in off.text and t.gen_prefix(off.text) == open_prefix):
        raise NotApplicable("the template knows no thinking markers")
    closed_prefix = t.gen_prefix(off.text)
    wrong = "the last marker does not win: thinking is on or off against what was asked last"
    for content, want in ((f"{OFF} a {ON}", open_prefix), (f"{ON} a {OFF}", closed_prefix)):
        outcome = t.render(_system(content))
        if outcome.text is not None and t.gen_prefix(outcome.text) != want:
            messages = _system(content)
            what = "of two markers not the last one wins"
            yield defect(t, "marker-order", what, wrong, messages, t.gen_prefix(outcome.text), rule="R7")
    for messages in (
        _system(f"a{OFF}b{OFF}c"),
        _system("<|think_<|think_on|>off|>s"),
        _system([{"type": "text", "text": f"a{OFF}"}, {"type": "text", "text": "b"}]),
        _system(f"{ON}d", "developer"),
        [{"role": "user", "content": f"a{ON}b"}],
        [{"role": "user", "content": [{"type": "text", "text": f"a{ON}b"}]}],
        [USER, {"role": "assistant", "content": "a"}, {"role": "user", "content": f"{ON}{OFF}b"}],
    ):
        outcome = t.render(messages)
        if outcome.text is not None and (ON in outcome.text or OFF in outcome.text):
            cost = "the model reads a control word that it was never taught"
            yield defect(t, "marker-left", "a marker stays in the text", cost, messages, outcome, rule="R7")
    said = [*_system("Be brief."), {"role": "assistant", "content": "a"}, {"role": "user", "content": f"x{OFF}"}]
    outcome = t.render(said)
    if outcome.text is not None and t.gen_prefix(outcome.text) != open_prefix:
        what = "a user message, or a page pasted into one, turns thinking off without being allowed to"
        cost = "anyone who writes to the model steers it, and the prompt's head changes: all of it is read again"
        yield defect(t, "marker-user-override", what, cost, said, outcome, rule="R8")
    about = _system(f"Explain what {OFF} does.")
    outcome = t.render(about, think_markers="text") if "think_markers" in t.reads else t.render(about)
    if outcome.text is not None and OFF not in outcome.text:
        what = "there is no way to write about a marker"
        yield defect(t, "marker-no-escape", what, LOST, about, outcome, rule="R7")
    data: list[dict[str, Any]] = [
        USER,
        {"role": "assistant", "content": f"see {OFF} there", "tool_calls": [call({"city": f"{OFF}"})]},
        {"role": "tool", "content": f"out {OFF} end"},
    ]
    clean = t.render([USER, {**data[1], "content": "see there"}, {**data[2], "content": "out"}])
    outcome = t.render(data)
    if outcome.text is not None and clean.text is not None:
        if t.gen_prefix(outcome.text) != t.gen_prefix(clean.text):
            what = "a marker in an assistant or tool message is obeyed"
            cost = "a tool result steers the model"
            yield defect(t, "marker-in-data-obeyed", what, cost, data, outcome, rule="R7")
        if f"see {OFF} there" not in outcome.text or f"out {OFF} end" not in outcome.text:
            what = "a marker in an assistant or tool message is removed"
            yield defect(t, "marker-in-data-removed", what, LOST, data, outcome, rule="R7")


TOOL_TEXTS = (
    "error: 0",
    "no error: success",
    "Error: no such file",
    '{"error": null}',
    "Traceback (most recent call last):",
    "0 errors, 0 warnings",
    "failed: 0",
    "x" * 600 + " error: boom",
)
_PLAIN = "plain result text"


@probe("tool errors", "R9")
def tool_errors(t: Target) -> Iterator[Finding]:
    def history(text: str) -> list[dict[str, Any]]:
        turn = {"role": "assistant", "content": "", "tool_calls": [call({"city": "Oslo"})]}
        return [USER, turn, {"role": "tool", "content": text}]

    plain = t.render(history(_PLAIN))
    if plain.text is None or _PLAIN not in plain.text:
        raise NotApplicable("the template writes no tool results")
    for text in TOOL_TEXTS:
        messages = history(text)
        outcome = t.render(messages)
        if outcome.text != plain.text.replace(_PLAIN, text):
            what = f"a result that reads {text[-40:]!r} is treated as an error, or otherwise than other text"
            cost = "the model is told of an error that did not happen, or loses the text of one that did"
            shown = outcome.shown[-200:]
            yield defect(t, "tool-error-invented", what, cost, messages, shown, rule="R9")


@probe("roles", "R10")
def roles(t: Target) -> Iterator[Finding]:
    word = "quartz"
    late = [USER, {"role": "assistant", "content": "a"}, {"role": "system", "content": word}, USER]
    outcome = t.render(late)
    if outcome.text is not None and word not in outcome.text:
        yield defect(t, "late-system-dropped", "a late system message is dropped", LOST, late, outcome, rule="R10")
    elif outcome.text is not None:
        what = "a late system message is accepted"
        cost = "no Qwen model was trained on it, and where it joins the head the whole prompt is read again"
        yield defect(t, "late-system-accepted", what, cost, late, outcome, rule="R10")
    for role in ("function", "observer"):
        unknown = [USER, {"role": role, "content": word}, USER]
        outcome = t.render(unknown)
        if outcome.text is None:
            continue
        if word in outcome.text:
            what = f"the unknown role {role!r} is written as it is"
            cost = "the model reads a turn header that it never saw"
            yield defect(t, "unknown-role-accepted", what, cost, unknown, outcome, rule="R10")
        else:
            what = f"a message of the unknown role {role!r} is dropped"
            yield defect(t, "unknown-role-dropped", what, LOST, unknown, outcome, rule="R10")
    developer = _system(word, "developer")
    outcome = t.render(developer)
    if outcome.text is None:
        yield defect(t, "developer-rejected", "a developer message is refused", FAILS, developer, outcome, rule="R10")
    elif word not in outcome.text:
        yield defect(t, "developer-dropped", "a developer message is dropped", LOST, developer, outcome, rule="R10")
    elif f"<|im_start|>developer\n{word}" in outcome.text:
        what = "a developer message gets a header of its own"
        cost = "the model reads a turn header that it never saw"
        yield defect(t, "developer-unknown-header", what, cost, developer, outcome, rule="R10")
    if outcome.text is not None:
        both = [{"role": "system", "content": "marble"}, *developer]
        outcome = t.render(both)
        if outcome.text is not None and not (word in outcome.text and "marble" in outcome.text):
            what = "of a system and a developer message one is dropped"
            yield defect(t, "leading-message-dropped", what, LOST, both, outcome, rule="R10")


@probe("items", "R10")
def items(t: Target) -> Iterator[Finding]:
    word = "quartz words"
    plain = [{"role": "user", "content": [{"type": "text", "text": word}]}]
    outcome = t.render(plain)
    if outcome.text is None:
        yield defect(t, "text-items-rejected", "a list of text parts is refused", FAILS, plain, outcome, rule="R10")
        return
    if word not in outcome.text:
        yield defect(t, "text-items-dropped", "a list of text parts is dropped", LOST, plain, outcome, rule="R10")
        return
    if "{'type'" in outcome.text or '{"type"' in outcome.text:
        what = "a list of text parts is printed as a Python list"
        cost = "the model reads brackets and quotes nobody wrote"
        yield defect(t, "items-stringified", what, cost, plain, outcome, rule="R10")
        return
    for item in ("an image of text", "some text", "a video"):
        messages = [{"role": "user", "content": [{"type": "text", "text": "Look:"}, item]}]
        outcome = t.render(messages)
        if outcome.text is not None and item not in outcome.text:
            what = f"a string item, {item!r}, is not written as text"
            yield defect(t, "string-item-changed", what, LOST, messages, outcome, rule="R10")
    odd: tuple[Any, ...] = ({"type": "audio", "audio": word}, 5, {}, {"type": "text", "text": {"a": 1}}, {"text": None})
    for item in odd:
        messages = [{"role": "user", "content": [{"type": "text", "text": "Look:"}, item]}]
        outcome = t.render(messages)
        if outcome.text is not None:
            body = t.body_of(outcome.text, "<|im_start|>user\n")
            kind = "dropped" if body.strip() == "Look:" else "stringified"
            what = f"the item {item!r} is {kind} in silence"
            yield defect(t, f"item-{kind}", what, LOST, messages, body, rule="R10")
    contents: tuple[Any, ...] = ({"text": word}, 5)
    for content in contents:
        messages = [{"role": "user", "content": content}]
        outcome = t.render(messages)
        if outcome.text is not None:
            what = f"content {content!r} is accepted in silence"
            yield defect(t, "content-type-accepted", what, LOST, messages, outcome, rule="R10")


SPLITS = (
    "<think>alpha</think>beta</think>gamma",
    "alpha\n</think>\nbeta\n</think>\ngamma",
    "The tag </think> ends beta.",
    "alpha <think> beta\n</think>\n\ngamma",
    "Example:\n```\n</think>\n```\nbeta.",
    "<think>\nalpha never closed",
)
WORDS = ("alpha", "beta", "gamma", "The tag", "ends", "Example", "never closed")


@probe("reasoning", "R11")
def reasoning(t: Target) -> Iterator[Finding]:
    for content in SPLITS:
        messages = [USER, {"role": "assistant", "content": content}]
        outcome = t.render(messages, add_generation_prompt=False)
        if outcome.text is None:
            continue
        lost = [word for word in WORDS if word in content and word not in outcome.text]
        if lost:
            what = f"{', '.join(lost)!r} is lost when the content is split at `</think>`"
            yield defect(t, "reasoning-text-lost", what, LOST, messages, outcome, rule="R11")
    said = [USER, {"role": "assistant", "content": "a", "reasoning_content": "quartz"}]
    outcome = t.render(said, add_generation_prompt=False)
    if outcome.text is None or "quartz" not in outcome.text:
        return
    for name in ("thinking", "reasoning"):
        messages = [USER, {"role": "assistant", "content": "a", name: "quartz"}]
        outcome = t.render(messages, add_generation_prompt=False)
        if outcome.text is not None and "quartz" not in outcome.text:
            what = f"thoughts in the field `{name}`, which some servers use, are dropped"
            cost = "the turn's thoughts are lost, and with them the prefix from that turn on"
            yield defect(t, f"reasoning-field-{name}", what, cost, messages, outcome, rule="R11")


@probe("results", "R14")
def results(t: Target) -> Iterator[Finding]:
    if t.dialect is None:
        raise NotApplicable("the template writes no calls")
    calls = [call({"city": "Oslo"}, id="first"), call({"city": "Rome"}, id="second")]
    turn: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": calls}

    def result(text: str, id: str) -> dict[str, Any]:
        return {"role": "tool", "content": text, "tool_call_id": id}

    swapped = [USER, turn, result("rain in Rome", "second"), result("sun in Oslo", "first")]
    outcome = t.render(swapped)
    if outcome.text is not None:
        tail = outcome.text.rpartition("</tool_call>")[2]
        if "first" not in tail and tail.find("rain in Rome") < tail.find("sun in Oslo"):
            what = "results that came back in another order are bound to their calls by position only"
            cost = "the model takes the answer of one call for that of another"
            yield defect(t, "results-by-position", what, cost, swapped, tail, rule="R14")
    stranger = [USER, turn, result("sun in Oslo", "first"), result("rain in Rome", "third")]
    outcome = t.render(stranger)
    if outcome.text is not None and "third" not in outcome.text.rpartition(ASSISTANT)[0].rpartition("</tool_call>")[2]:
        what = "a result with the id of no call is accepted"
        cost = "the model takes it for the result of another call"
        yield defect(t, "result-unmatched", what, cost, stranger, outcome, rule="R14")
