"""The linter of chat templates: it finds what is there, and nothing where there is nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from qwenparse.cli import main
from qwenparse.common import common_prefix
from qwenparse.errors import FormatError, TemplateError
from qwenparse.lint import Report, check_template, probes_options
from qwenparse.lint.engines import CONSTRUCTS, constructs
from qwenparse.lint.registry import PROBES
from qwenparse.lint.report import Loss
from qwenparse.lint.shapes import Held, loss
from qwenparse.templates import RENDERERS, shipped_template
from qwenparse.templates.texts import EFFORT_LOW, EFFORT_XHIGH, XML_TOOLS_HEAD, XML_TOOLS_TAIL

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DEFECTS = HERE / "defects.jinja"
AGENT = ROOT / "benchmarks" / "agent.jinja"
AGENT_TEXTS = {
    "effort_xhigh": EFFORT_XHIGH, "effort_low": EFFORT_LOW, "tools_head": XML_TOOLS_HEAD, "tools_tail": XML_TOOLS_TAIL,
}  # fmt: skip

KNOWN_38 = {
    "effort-high-rejected", "effort-none-rejected", "effort-unchecked-when-off", "string-arguments-fail",
    "blank-arguments-fail", "developer-rejected", "string-item-changed", "item-stringified",
    "reasoning-field-thinking", "reasoning-field-reasoning", "results-by-position", "result-unmatched",
}  # fmt: skip
"""What a caller of the published template of Qwen3.8 runs into."""

ALL_DEFECTS = {
    "effort-high-differs", "effort-fallback", "effort-unchecked-when-off", "format-fallback", "string-arguments-raw",
    "blank-arguments-fail", "python-scalar", "python-container", "empty-block-dropped", "empty-block-dropped-in-loop",
    "length-heuristic", "long-text-cut", "marker-order", "marker-left", "marker-user-override", "marker-no-escape",
    "marker-in-data-obeyed", "marker-in-data-removed", "tool-error-invented", "late-system-dropped",
    "unknown-role-dropped", "developer-dropped", "leading-message-dropped", "string-item-changed", "item-dropped",
    "item-stringified", "content-type-accepted", "reasoning-text-lost", "reasoning-field-thinking",
    "reasoning-field-reasoning", "results-by-position", "result-unmatched", "prefix-unstable", "engines-differ",
    "tojson-escapes",
}  # fmt: skip


def codes(report: Report, severity: str = "defect") -> set[str]:
    return {finding.code for finding in report.findings if finding.severity == severity}


def test_what_is_known_of_the_3_8_template() -> None:
    report = check_template("qwen3.8")
    assert codes(report) == KNOWN_38 and not codes(report, "warning")
    assert all(shape.loss is not None and shape.loss.stable for shape in report.shapes)


def test_the_same_of_a_file_that_renders_as_it_does() -> None:
    report = check_template(AGENT, options=AGENT_TEXTS)
    # It checks the effort whether thinking is on or off, and asks nothing else otherwise than the native renderer.
    assert codes(report) == KNOWN_38 - {"effort-unchecked-when-off"} | {"tojson-escapes", "tojson-numbers"}
    assert codes(report, "warning") == {"construct-items", "construct-neighbours"}
    assert [site.what for site in report.sites] == [site.what for site in check_template("qwen3.8").sites]


SITES_38 = {
    "think_leading_ws": "template", "think_trailing_ws": "template", "think_close_ws": "message",
    "reasoning_missing": "client", "content_leading_ws": "template", "content_trailing_ws": "template",
    "call_leading_ws": "message", "call_gap_ws": "message", "text_between_calls": "message",
    "call_trailing_ws": "message", "text_after_call": "message", "call_frame": "message", "value_frame": "message",
    "duplicate_parameter": "message", "call_in_think": "message", "number_spelling": "message",
    "bool_spelling": "message", "null_spelling": "message", "json_layout": "message", "json_escape": "message",
}  # fmt: skip


@pytest.mark.parametrize("template", ["qwen3.8", "robust.jinja"])
def test_normalisation_sites(template: str) -> None:
    report = check_template(template)
    owners: dict[str, str] = {}
    for site in report.sites:
        owners.setdefault(site.cause, site.owner)
        assert site.loss.lost_bytes > 0 and site.generated != site.rendered
    assert owners == SITES_38
    assert {"a value with CRLF", "spaces around a value", "arguments in another order", "null"} <= set(report.kept)


def test_raw_turns_have_no_sites() -> None:
    report = check_template("splice.jinja")
    assert report.ok and not report.sites and len(report.kept) > 30 and "raw" in report.notes[0]


def test_a_client_that_returns_the_string_keeps_a_spelling() -> None:
    owner = {site.what: site.owner for site in check_template("robust").sites}
    assert owner["the integer as 7.531e3"] == "client" and owner["True for true"] == "message"
    compact = {site.cause: site.owner for site in check_template("qwen3-instruct-2507").sites}
    assert compact["json_layout"] == "client" and compact["json_call_layout"] == "message"


@pytest.mark.parametrize("template", ["robust", "robust.jinja", "splice.jinja"])
@pytest.mark.parametrize("options", [{}, {"tool_call_format": "json"}, {"tool_instructions": "scoped"}])
def test_no_defect_in_the_robust_policy(template: str, options: dict[str, Any]) -> None:
    report = check_template(template, options=options)
    assert report.findings == () and report.ok
    assert all(shape.loss is not None and shape.loss.stable for shape in report.shapes)
    verdicts = {probe.name: probe.verdict for probe in report.probes}
    assert set(verdicts.values()) <= {"ok", "not applicable"}
    assert verdicts["engines"] == ("not applicable" if template == "robust" else "ok")


def test_every_defect_of_a_template_that_has_them_all() -> None:
    report = check_template(DEFECTS)
    assert codes(report) == ALL_DEFECTS
    assert codes(report, "warning") == {"construct-replace", "construct-items", "construct-neighbours"}
    assert {probe.verdict for probe in report.probes} == {"defect"}
    for finding in report.findings:
        assert finding.cost and finding.what
        assert finding.severity == "warning" or finding.example is not None or finding.code == "prefix-unstable"


STABILITY = {  # byte of the turn at which the next prompt parts from what the server holds; None: it does not
    "qwen3": (0, -19, None, None, -17, -19, None, 2),
    "qwen3-instruct-2507": (None,) * 8,
    "qwen3-coder": (None,) * 8,
    "qwen3.5": (-8, -19, None, None, None, None, None, -6),
    "qwen3.5-small": (-8, -19, None, None, None, None, None, -6),
    "qwen3.6": (-8, -19, None, None, None, None, None, -6),
    "qwen3.6-unsloth": (-8, -19, None, None, None, None, None, -6),
    "qwen3.8": (None,) * 8,
}


@pytest.mark.parametrize("template", STABILITY)
def test_prefix_stability(template: str) -> None:
    report = check_template(template)
    offsets = tuple(shape.loss.offset for shape in report.shapes if shape.loss is not None)
    assert offsets == STABILITY[template]
    assert ("prefix-unstable" in codes(report)) == any(offset is not None for offset in offsets)


def test_options_go_to_every_render() -> None:
    assert "prefix-unstable" not in codes(check_template("qwen3.6", options={"preserve_thinking": True}))


LATE = '{{- raise_exception("System message must be at the beginning.") -}}'
UNKNOWN = '{{- raise_exception("Unexpected message role.") -}}'
AS_TURN = '{{- "<|im_start|>" ~ role ~ "\\n" ~ message["content"] ~ "<|im_end|>\\n" -}}'
LEADING = 'message["role"] in ["system", "developer"] and loop.index0 == state.first'
ITEMS = "{%- for item in content -%}"
NO_STRING = '{{- raise_exception("Tool call arguments must be a mapping in XML format.") -}}'
START = "{%- if not messages -%}"
KNOWN_EFFORTS = 'effort not in ["xhigh", "medium", "low"]'

EDITS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "late-system-accepted": ("roles", [(LATE, AS_TURN)]),
    "unknown-role-accepted": ("roles", [(UNKNOWN, AS_TURN)]),
    "developer-unknown-header": (
        "roles, markers",
        [(LATE, AS_TURN), (LEADING, 'message["role"] == "system" and loop.index0 == state.first')],
    ),
    "string-arguments-lost": ("string arguments", [(NO_STRING, "{%- set arguments = {} -%}")]),
    "string-arguments-double": ("string arguments", [(NO_STRING, '{%- set arguments = {"a": [arguments]} -%}')]),
    "effort-high-rejected": ("effort", [('or reasoning_effort == "high"', "")]),
    "effort-medium-rejected": ("effort", [(KNOWN_EFFORTS, 'effort not in ["xhigh", "low"]')]),
    "effort-low-rejected": ("effort", [(KNOWN_EFFORTS, 'effort not in ["xhigh", "medium"]')]),
    "effort-xhigh-rejected": ("effort", [(KNOWN_EFFORTS, 'reasoning_effort == "xhigh"')]),
    "effort-none-rejected": ("effort", [("or reasoning_effort is none", "")]),
    "string-changed": ("scalars", [("{{- value if value is string else as_json(value) -}}", "{{- as_json(value) -}}")]),
    "values-fail": (
        "scalars",
        [("{{- value if value is string", '{{- "" + value if value is none else value if value is string')],
    ),
    "text-items-rejected": ("items", [(ITEMS, '{{- raise_exception("No lists.") -}}' + ITEMS)]),
    "text-items-dropped": ("items, markers", [(ITEMS, "{%- for item in [] -%}")]),
    "items-stringified": ("items", [("{%- if content is string -%}", "{%- if content is sequence -%}")]),
    "marker-order": ("markers", [('"on" if text', '"off" if text')]),
    "engine-fails": ("engines", [(START, '{%- set _ = "a".isidentifier() -%}' + START)]),
    "engines-refuse-differently": ("engines", [('"Unexpected message role."', '"Role " ~ (1e-7 | tojson)')]),
}
"""One edit of `robust.jinja` and the one thing it breaks."""


@pytest.mark.parametrize("code", EDITS)
def test_one_edit_is_one_finding(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes_options, "LENGTHS", (1, 2, 3, 10))
    probes, edits = EDITS[code]
    source = shipped_template("robust.jinja").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    path = tmp_path / "edited.jinja"
    path.write_text(source, encoding="utf-8")
    report = check_template(path)
    assert code in {f.code for p in report.probes if p.name in probes for f in p.findings}
    assert {p.name for p in report.probes if p.verdict == "defect"} <= {*probes.split(", "), "engines"}


MORE = {
    "qwen3": {"blank-arguments-broken", "late-system-accepted", "text-items-dropped", "developer-dropped"},
    "qwen3-2504": {"text-items-rejected"},
    "qwen3-vl": {"late-system-dropped", "item-dropped", "content-type-accepted"},
    "qwen3-coder": {"unknown-role-accepted", "developer-unknown-header", "python-scalar"},
    "qwen3.5": {"reasoning-text-lost", "python-scalar", "empty-block-dropped"},
    "qwen3.6-unsloth": {"string-arguments-lost", "late-system-dropped"},
}


@pytest.mark.parametrize("template", MORE)
def test_other_published_templates(template: str) -> None:
    assert MORE[template] <= codes(check_template(template))


def test_every_name_can_be_checked() -> None:
    for name in RENDERERS:
        report = check_template(name)
        assert len(report.probes) == len(PROBES) + 2 and len(report.shapes) == 8


def test_tokens_are_counted() -> None:
    def encode(text: str) -> list[int]:
        """Characters, and two newlines as one token."""
        return [ord(c) for c in text.replace("\n\n", "\0")]

    report = check_template("qwen3.6", encode=encode)
    broken = [shape.loss for shape in report.shapes if shape.loss is not None and shape.loss.offset is not None]
    assert broken and all(found.lost_tokens for found in broken)
    kept = [shape.loss for shape in report.shapes if shape.loss is not None and shape.loss.offset is None]
    assert kept and all(found.lost_tokens == 0 for found in kept)
    assert all(site.loss.lost_tokens for site in report.sites)
    seam = next(site for site in report.sites if site.cause == "token_seam")
    assert seam.loss.offset is None and seam.loss.lost_tokens and "tokens differ at a seam" in report.to_text()
    assert "a thought without text" in check_template("qwen3.6").kept


def test_a_seam_costs_tokens_where_all_bytes_agree() -> None:
    held = Held("<think>\n", "\n</think>", (8,))
    found = loss(held, "<think>\n\n</think>\n\nHi", lambda text: [ord(c) for c in text.replace("\n\n", "\0")])
    assert found == Loss(None, 0, 0.0, 10) and not found.stable
    assert loss(held, "<think>\n\n</think>").stable


@pytest.mark.parametrize(("a", "b", "n"), [("", "x", 0), ("abc", "abd", 2), ("ab", "abc", 2), ("x", "y", 0)])
def test_common_prefix(a: str, b: str, n: int) -> None:
    assert common_prefix(a, b) == n == common_prefix(list(a), list(b))


CONSTRUCT_SOURCES = {
    "replace": '{{ messages[0].content | replace("a", "b") }}',
    "items": "{% for k, v in messages[0].items() %}{% endfor %}",
    "neighbours": "{% for m in messages %}{{ loop.nextitem is defined }}{% endfor %}",
    "loop-control": "{% for m in messages %}{% break %}{% endfor %}",
    "generation": "{% generation %}x{% endgeneration %}",
    "string-sequence": "{{ messages is sequence }}",
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs_on_which_engines_differ(name: str) -> None:
    assert list(constructs("\n" + CONSTRUCT_SOURCES[name])) == [(name, 2)]
    assert list(constructs("{# " + CONSTRUCT_SOURCES[name].replace("endgeneration", "") + " #}")) == []


def test_what_is_no_template() -> None:
    with pytest.raises(FormatError, match=r"neither a file nor a template.*robust\.jinja"):
        check_template("no-such-template")
    with pytest.raises(FormatError):
        check_template(HERE)


def test_a_file_that_is_no_jinja(tmp_path: Path) -> None:
    path = tmp_path / "broken.jinja"
    path.write_text("{% if %}", encoding="utf-8")
    with pytest.raises(TemplateError) as caught:
        check_template(path)
    assert caught.value.kind == "engine"
    assert main(["check-template", str(path)]) == 2


@pytest.mark.parametrize("source", ["", "plain text", "{{ 1 / 0 }}", "{{ raise_exception('no') }}", "{{ messages }}"])
def test_odd_templates_give_a_report(source: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.jinja"
    path.write_text(source, encoding="utf-8")
    report = check_template(path)
    assert report.to_text().startswith(str(path)) and json.loads(report.to_json())["template"] == str(path)


def test_without_minijinja_the_comparison_is_reported_as_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minijinja", None)
    report = check_template("robust.jinja")
    engines = report.probes[-1]
    assert (engines.verdict, engines.findings) == ("not run", ()) and "minijinja" in str(engines.reason)
    assert report.engines == ("jinja2",)
    assert check_template(DEFECTS).probes[-1].verdict == "warning"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-template", "robust.jinja"]) == 0
    out = capsys.readouterr().out
    assert "robust.jinja (jinja2, minijinja): no defects, no warnings" in out and "\x1b" not in out
    assert main(["check-template", str(DEFECTS), "robust.jinja"]) == 1
    out = capsys.readouterr().out
    for word in ("string-arguments-raw [R3]", "cost: ", "example: ", "gives: ", "breaks at byte -8 of the turn"):
        assert word in out
    assert main(["check-template", "robust.jinja", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["check-template", "no-such-template"]) == 2
    assert "neither a file nor a template" in capsys.readouterr().err


def test_the_command_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-template", "qwen3.8", "qwen3.6", "--json", "--option", "preserve_thinking=true"]) == 1
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["template"], r["ok"]) for r in reports] == [("qwen3.8", False), ("qwen3.6", False)]
    first = reports[0]["probes"][0]["findings"][0]
    assert set(first) == {"code", "what", "cost", "severity", "rule", "example"}
    assert all(shape["loss"]["offset"] is None for shape in reports[1]["shapes"])


def test_warnings_count_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "warned.jinja"
    source = shipped_template("robust.jinja").read_text(encoding="utf-8")
    path.write_text('{%- set _ = "a" | replace("a", "b") -%}' + source, encoding="utf-8")
    assert main(["check-template", str(path)]) == 0
    assert main(["check-template", str(path), "--strict", "--color", "always"]) == 1
    assert "\x1b[33m    warning construct-replace" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["name", "=1"])
def test_options_are_name_and_value(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-template", "qwen3.8", "--option", option]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err


def test_the_command_counts_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.BPE({chr(b): b for b in range(33, 127)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    assert main(["check-template", "qwen3.6", "--tokenizer", str(path)]) == 1
    assert " tokens lost (" in capsys.readouterr().out


def test_the_pre_commit_hook_runs_the_command() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry = next(line for line in text.splitlines() if "entry:" in line).partition("entry: ")[2]
    program, *arguments = entry.split()
    assert program == "qwenparse"
    done = subprocess.run([sys.executable, "-m", program, *arguments, "robust.jinja"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
