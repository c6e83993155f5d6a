"""The pages under docs/ against the code: names, rows, links, examples."""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path

import pytest
from cases import load_all

import qwenparse
from qwenparse.formats import FORMATS, ISSUE_CODES, KINDS, POLICY_VALUES, UNCLEAN, Policy, State

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FORMAT = (ROOT / "docs" / "format.md").read_text("utf-8")
MODES = (ROOT / "docs" / "modes.md").read_text("utf-8")


def section(number: str) -> str:
    """The text of one section of docs/format.md, its subsections too."""
    depth = "##" if "." not in number else "###"
    found = re.search(rf"^{depth} {re.escape(number)}\.? .*?(?=^#{{2,{len(depth)}}} |\Z)", FORMAT, re.M | re.S)
    assert found, number
    return found[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the tables' lines."""
    lines = [line for line in text.splitlines() if line.startswith("| ") or line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_format_is_listed_with_its_dialect_start_and_renderer() -> None:
    listed = {
        name: (row[1].lower(), names(row[2])[0], row[3] == "yes")
        for row in rows(section("3"))
        if len(row) == 4 and row[1] in ("XML", "JSON")
        for name in names(row[0])
    }
    assert listed == {f.name: (f.dialect, f.start, f.renderer) for f in FORMATS.values()}


def test_every_kind_is_listed_once() -> None:
    listed = [name for row in rows(section("9.1"))[1:] for name in names(row[0])]
    assert sorted(listed) == sorted(KINDS)


def test_every_issue_code_is_listed_and_marked_as_the_code_has_it() -> None:
    listed = [(name, "✗" in row[0]) for row in rows(section("10.7"))[1:] for name in names(row[0])]
    assert listed == [(code, code in UNCLEAN) for code in ISSUE_CODES]


def test_every_policy_is_listed_with_its_default_and_alternatives() -> None:
    table = section("6").partition("**Policies**")[2]
    listed = {names(row[0])[0]: (names(row[1])[0], names(row[2])) for row in rows(table)[1:]}
    for field in fields(Policy):
        default, alternatives = listed[field.name]
        assert default == f'"{field.default}"'
        quoted = {name.strip('"') for name in alternatives if name.startswith('"')}
        assert quoted == set(POLICY_VALUES[field.name]) - {field.default}


def test_every_row_is_a_case_and_every_case_of_a_row_has_its_row() -> None:
    listed = re.findall(r'^\| <a id="(\w+)"></a>(\w+) \|', FORMAT, re.M)
    assert all(anchor == shown for anchor, shown in listed)
    titles = {case.id.partition(": ")[2].split()[0] for case in load_all()}
    cases = {title for title in titles if re.fullmatch(r"[FRTMVC]\d+[bc]?", title)}
    assert {row for row, _ in listed} == cases and len(listed) == len(cases)


def test_every_row_that_is_referred_to_exists() -> None:
    anchors = set(re.findall(r'<a id="(\w+)">', FORMAT))
    assert {row for row in re.findall(r"\b[FRTMVC]\d+[bc]?\b", FORMAT)} == anchors


def test_sections_are_numbered_without_gaps() -> None:
    numbers = [int(n) for n in re.findall(r"^## (\d+)\. ", FORMAT, re.M)]
    assert numbers == list(range(1, 14))
    assert [f"I{n}" for n in range(1, 10)] == [row[0] for row in rows(section("11.2")) if row[0]]


def test_every_state_is_listed() -> None:
    line = next(line for line in MODES.splitlines() if line.startswith("| `.state`"))
    assert names(line.split("|")[3]) == [state.name for state in State]


@pytest.mark.parametrize("event", [e for e in vars(qwenparse).values() if isinstance(e, type)
                                   and issubclass(e, qwenparse.Event) and e is not qwenparse.Event])  # fmt: skip
def test_every_event_is_listed_with_its_fields(event: type) -> None:
    row = next(row for row in rows(MODES.replace("\\|", "/")) if row[0] == f"`{event.__name__}`")
    listed = [name.partition(":")[0] for name in names(row[1])]
    own = [k for k in dir(event) if not k.startswith("_") and k not in dir(qwenparse.Event)]
    assert sorted(listed) == sorted(own)


def test_every_name_of_the_api_tables_exists() -> None:
    owners = {
        "Parsing": [qwenparse.Parser, qwenparse.DeltaParser],
        "A turn": [qwenparse.Turn, qwenparse.ToolCall],
    }
    for title, classes in owners.items():
        table = MODES.partition(f"**{title}**")[2].partition("\n**")[0]
        found = {name for row in rows(table) for n in names(row[0]) for name in re.findall(r"^(?:\w+)?\.(\w+)", n)}
        assert len(found) > 8
        for name in found:
            assert any(hasattr(c, name) or name in getattr(c, "__annotations__", {}) for c in classes), name


def anchors_of(page: Path) -> set[str]:
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([\w.-]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_anchors_of_links_exist(page: Path) -> None:
    for target in re.findall(r"\]\((?![a-z]+:)([^)\s]*#[^)\s]+)\)", page.read_text("utf-8")):
        name, _, anchor = target.partition("#")
        assert anchor in anchors_of(page.parent / name if name else page), target


def test_examples_run() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / "modes.md"), module_relative=False, encoding="utf-8")
    assert tried > 10 and not failed
