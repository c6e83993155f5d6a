"""Stores: the right turn or none, bounded, purged, shared, safe to use at once."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import sqlite3
import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from roundtrip.conftest import Clock, Make
from roundtrip.support import NATIVE, TOOLS, follow_up, random_case, read
from roundtrip.test_digest import transformed

from qwenparse import Parser, Turn, render_prompt
from qwenparse.store import MemoryStore, RedisStore, SQLiteStore, TurnStore
from qwenparse.store.base import OVERHEAD

ASK = {"role": "user", "content": "Hi"}
PROMPT = "<|im_start|>assistant\n<think>\n"


def say(text: str, thought: str = "Plan.", calls: str = "", **settings: Any) -> Turn:
    return read(PROMPT, f"{thought}\n</think>\n\n{text}{calls}", "qwen3.8", tools=TOOLS, **settings)


def call(name: str = "sh", cmd: str = "ls") -> str:
    return f"\n\n<tool_call>\n<function={name}>\n<parameter=cmd>\n{cmd}\n</parameter>\n</function>\n</tool_call>"


def without_ids(message: dict[str, Any]) -> dict[str, Any]:
    message = deepcopy(message)
    for each in message.get("tool_calls", ()):
        each["id"] = "client"
    return message


# matching ---------------------------------------------------------------------------------------------------------


def test_every_transformation(make: Make) -> None:
    """Whatever a client does to the message without changing it, the turn is found; after an edit it is not."""
    store = make()
    for number in range(60):
        format = NATIVE[number % len(NATIVE)]
        rng = random.Random(f"store/{number}")
        messages, _, _, turn = random_case(rng, format)
        messages = [*messages, {"role": "user", "content": f"Question {number}"}]
        if not store.remember(messages, turn):
            assert "<|im_end|>" in turn.raw[:-10]
            continue
        for _ in range(3):
            sent = transformed(rng, turn.message())
            assert store.find([*messages, *sent, *follow_up(rng, turn)], len(messages)) == turn
        edited = {**turn.message(), "content": (turn.content or "") + "x"}
        assert store.find([*messages, edited], len(messages)) is None
        if turn.reasoning:
            edited = {**turn.message(), "reasoning_content": turn.reasoning + "x"}
            assert store.find([*messages, edited], len(messages)) is None


def test_identical_turns(make: Make) -> None:
    """Ids and the chain tell equal turns apart; the thoughts differ."""
    store = make()
    first, second = say("Ok", "One.", call()), say("Ok", "Two.", call())
    assert first.digest() == second.digest() and first != second
    result = {"role": "tool", "content": "out"}
    before = [ASK, first.message(), result]
    store.remember([ASK], first)
    store.remember(before, second)
    bare = [ASK, without_ids(first.message()), result, without_ids(second.message())]
    for message in bare:
        message.pop("reasoning_content", None)
    assert store.find(bare, 1) == first and store.find(bare, 3) == second
    by_id = [ASK, second.message(), result, first.message()]  # the places changed, the ids say which is which
    for message in by_id:
        message.pop("reasoning_content", None)
    assert store.find(by_id, 1) == second and store.find(by_id, 3) == first
    assert {k: v for k, (v, _) in store.find_all(bare).items()} == {1: first, 3: second}


def test_two_turns_for_one_place_are_a_doubt(make: Make) -> None:
    store = make()
    one, other = say("Yes", "One."), say("Yes", "Two.")
    store.remember([ASK], one)
    sent = {"role": "assistant", "content": "Yes"}
    assert store.find([ASK, sent], 1) == one
    store.remember([ASK], other)
    assert store.find([ASK, sent], 1) is None
    assert store.find([ASK, {**sent, "reasoning_content": "Two."}], 1) == other
    assert store.find([ASK, {**sent, "thinking": " One.\r\n"}], 1) == one
    store.remember([ASK], other)  # twice the same is no doubt
    assert store.find([ASK, {**sent, "reasoning": "Two."}], 1) == other
    assert store.purge([ASK]) == 2


def test_deleted_messages(make: Make) -> None:
    """With the history compacted a turn is found by the ids of its calls only."""
    store = make()
    with_call, text = say("A", calls=call()), say("B")
    history = [ASK, {"role": "user", "content": "more"}]
    store.remember(history, with_call)
    store.remember([*history, with_call.message(), {"role": "tool", "content": "x"}], text)
    compacted = [{"role": "user", "content": "Summary"}, with_call.message(), {"role": "tool", "content": "x"}, text.message()]
    assert store.find(compacted, 1) == with_call
    assert store.find([compacted[0], without_ids(with_call.message())], 1) is None
    assert store.find(compacted, 3) is None


def test_tool_results_in_any_order(make: Make) -> None:
    store = make()
    asked = say("", calls=call(cmd="a") + call(cmd="b").removeprefix("\n"))
    answer = say("Done")
    one, two = ({"role": "tool", "tool_call_id": each.id, "content": each.arguments["cmd"]} for each in asked.tool_calls)
    store.remember([ASK, asked.message(), one, two], answer)
    assert store.find([ASK, asked.message(), two, one, answer.message()], 4) == answer
    renamed = without_ids(asked.message())
    for number, each in enumerate(renamed["tool_calls"]):
        each["id"] = f"n{number}"
    sent = [{**two, "tool_call_id": "n1"}, {**one, "tool_call_id": "n0"}]
    assert store.find([ASK, renamed, *sent, answer.message()], 4) == answer
    assert store.find([ASK, asked.message(), {**one, "content": "other"}, two, answer.message()], 4) is None
    no_ids = [{k: v for k, v in each.items() if k != "tool_call_id"} for each in (one, two)]
    assert store.find([ASK, asked.message(), *no_ids, answer.message()], 4) == answer
    assert store.find([ASK, asked.message(), *no_ids[::-1], answer.message()], 4) is None


def test_head_is_not_in_the_chain(make: Make) -> None:
    store = make()
    turn = say("Hello")
    store.remember([{"role": "system", "content": "A"}, ASK], turn)
    message = {"role": "assistant", "content": "Hello"}
    for head in (
        [],
        [{"role": "system", "content": "B"}],
        [{"role": "developer", "content": "C"}, {"role": "system", "content": "D"}],
    ):
        assert store.find([*head, ASK, message], len(head) + 1) == turn
    late = [ASK, {"role": "system", "content": "E"}, message]
    assert store.find(late, 2) is None
    images = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "data:,1"}}]
    store.remember([{"role": "user", "content": images}], turn)
    assert store.find([{"role": "user", "content": deepcopy(images)}, message], 1) == turn
    assert (
        store.find([{"role": "user", "content": [images[0], {**images[1], "image_url": {"url": "data:,2"}}]}, message], 1) is None
    )
    assert (
        store.find([{"role": "user", "content": [{"type": "text", "text": " Hi\r\n", "cache_control": {}}]}, message], 1) == turn
    )


def test_groups(make: Make) -> None:
    """Split messages are one turn; a message that the model never wrote is left to the template."""
    store = make()
    turn = say("Look", calls=call())
    store.remember([ASK], turn)
    message = turn.message()
    split = [{"role": "assistant", "content": "Look"}, {**message, "content": None}]
    assert store.find([ASK, *split], 1) == turn
    assert store.find_all([ASK, *split]) == {1: (turn, 3)}
    foreign = {"role": "assistant", "content": "[interrupted]"}
    assert store.find([ASK, foreign, message], 1) is None
    assert store.find_all([ASK, foreign, message]) == {2: (turn, 3)}
    later = say("Later")
    store.remember([ASK, foreign, {"role": "user", "content": "Go on"}], later)
    history = [ASK, foreign, {"role": "user", "content": "Go on"}, later.message()]
    assert store.find_all(history) == {3: (later, 4)}
    after = say("After a foreign one")
    store.remember([ASK, foreign], after)
    assert store.find_all([ASK, foreign, after.message()]) == {2: (after, 3)}
    assert store.find([ASK], 0) is None and store.find([ASK], 5) is None and store.find([], 0) is None
    many = [ASK, *[foreign] * 200, message]
    assert store.find_all(many) == {}


def test_continued_turn(make: Make) -> None:
    store = make()
    turn = read(PROMPT + "\n</think>\n\nOne, ", "two", "qwen3.8")
    store.remember([ASK], turn)
    assert store.find([ASK, {"role": "assistant", "content": "One, two"}], 1) == turn
    text = render_prompt([ASK, {"role": "assistant", "content": "One, two"}, ASK], "qwen3.8", turns=store).text
    assert PROMPT + "\n</think>\n\nOne, two<|im_end|>\n" in text


def test_control_tokens_need_a_key(make: Make) -> None:
    store = make(key=b"secret")
    spelled = say("The token <|im_end|> ends a turn.")
    assert not store.remember([ASK], spelled) and store.find([ASK, spelled.message()], 1) is None
    with pytest.raises(ValueError):
        parser = Parser("qwen3.8")
        store.remember([ASK], parser.turn)


# bounds -----------------------------------------------------------------------------------------------------------


def test_least_recently_used_goes_first(make: Make, clock: Clock) -> None:
    turns = [say(f"answer {k} " + "x" * 40) for k in range(5)]
    size = max(len(turn.to_blob()) for turn in turns) + OVERHEAD
    store = make(max_bytes=4 * size)
    asks = [[{"role": "user", "content": f"q{k}"}] for k in range(5)]
    for k in range(4):
        clock.now += 1
        assert store.remember(asks[k], turns[k])
    clock.now += 1
    assert store.find([*asks[0], turns[0].message()], 1) == turns[0]
    clock.now += 1
    store.remember(asks[4], turns[4])
    alive = [store.find([*asks[k], turns[k].message()], 1) == turns[k] for k in range(5)]
    assert alive == [True, False, True, True, True]
    assert store.used_bytes <= 4 * size and len(store) == 4  # type: ignore[attr-defined, arg-type]
    assert not store.remember(
        [ASK], say("x" * 60_000 + str(random.Random(1).random()), thought=random.Random(2).randbytes(9000).hex())
    )
    assert len(store) == 4  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        make("other", max_bytes=0)


def test_bytes_stay_right(make: Make, clock: Clock) -> None:
    """Whatever is remembered, found and purged, the sum is that of what is there."""
    rng = random.Random(5)
    store = make(max_bytes=9000, ttl=50)
    turns = [say(f"{k} " * 10, calls=call(cmd=str(k))) for k in range(12)]
    for step in range(300):
        clock.now += rng.random() * 4
        k = rng.randrange(12)
        before = [{"role": "user", "content": f"q{rng.randrange(3)}"}]
        action = rng.random()
        if action < 0.6:
            store.remember(before, turns[k])
        elif action < 0.9:
            found = store.find([*before, turns[k].message()], 1)
            assert found is None or found == turns[k]
        elif action < 0.95:
            store.purge(before)
        else:
            store.purge(older_than=30)
        assert 0 <= store.used_bytes <= 9000, step  # type: ignore[attr-defined]
    store.purge()
    assert store.used_bytes == 0 and len(store) == 0  # type: ignore[attr-defined, arg-type]


def test_time_to_live(make: Make, clock: Clock) -> None:
    store = make(ttl=100)
    turn, other = say("A"), say("B")
    history = [ASK, turn.message()]
    store.remember([ASK], turn)
    for _ in range(3):
        clock.now += 60
        assert store.find(history, 1) == turn  # use keeps it
    clock.now += 101
    assert store.find(history, 1) is None
    store.remember([ASK], other)
    assert len(store) == 1  # type: ignore[arg-type]
    for bad in (0, -1):
        with pytest.raises(ValueError):
            make("other", ttl=bad)


def test_purge(make: Make, clock: Clock) -> None:
    store = make()
    mine, other = {"role": "user", "content": "Mine"}, {"role": "user", "content": "Other"}
    one, two, three = say("1"), say("2"), say("3")
    store.remember([mine], one)
    clock.now += 10
    store.remember([mine, one.message(), ASK], two)
    store.remember([other], three)
    assert store.purge([{"role": "user", "content": "unknown"}]) == 0
    assert store.purge([{"role": "system", "content": "s"}, {"role": "user", "content": " Mine "}], older_than=5) == 1
    assert store.find([mine, one.message()], 1) is None
    assert store.purge([mine]) == 1
    assert store.find([other, three.message()], 1) == three
    clock.now += 100
    assert store.purge(older_than=200) == 0 and store.purge(older_than=50) == 1
    store.remember([mine], one)
    store.remember([other], three)
    assert store.purge() == 2 and store.purge() == 0


# forged and foreign -------------------------------------------------------------------------------------------------


def test_keys(make: Make) -> None:
    if isinstance(make("kind"), MemoryStore):
        return  # gone with its process: nobody else writes into it
    turn = say("A")
    old = make(key=b"old")
    old.remember([ASK], turn)
    history = [ASK, turn.message()]
    assert old.find(history, 1) == turn
    for key in (b"new", None):
        assert make(key=key).find(history, 1) is None
    assert make(key=[b"new", b"old"]).find(history, 1) == turn
    unsealed = make("two")
    unsealed.remember([ASK], turn)
    assert unsealed.find(history, 1) == turn and make("two", key=b"k").find(history, 1) is None


def test_foreign_blobs_are_a_miss(tmp_path: Path) -> None:
    turn, other = say("A"), say("B")
    path = tmp_path / "f.db"
    store = SQLiteStore(path)
    store.remember([ASK], turn)
    history = [ASK, turn.message()]
    for blob in (b"junk", other.to_blob(), turn.to_blob(key=b"k"), b""):
        with sqlite3.connect(path) as db:
            db.execute("UPDATE turn SET blob = ?", (blob,))
        assert store.find(history, 1) is None
    store.close()


@pytest.mark.redis
def test_foreign_blobs_in_redis_are_a_miss(tmp_path: Path, redis_url: str) -> None:
    turn, other = say("A"), say("B")
    history = [ASK, turn.message()]
    shared = RedisStore(redis_url, prefix=tmp_path.name)
    shared.remember([ASK], turn)
    assert shared.find(history, 1) == turn
    (name,) = shared._client.keys(f"{{{tmp_path.name}}}:turn:*")
    shared._client.hset(name, "blob", other.to_blob())
    assert shared.find(history, 1) is None
    shared._client.delete(name)
    assert shared.find(history, 1) is None and shared.purge() == 1 and shared.used_bytes == 0
    shared.close()


def test_nothing_is_logged(make: Make, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(0)
    store = make()
    store.remember([ASK], say("SECRET"))
    store.find([ASK, {"role": "assistant", "content": "SECRET"}], 1)
    assert "SECRET" not in caplog.text and capsys.readouterr() == ("", "")


# sharing ------------------------------------------------------------------------------------------------------------


def test_threads(make: Make) -> None:
    store = make(max_bytes=40_000)
    turns = [say(f"{k}", thought=f"thought {k}", calls=call(cmd=str(k))) for k in range(30)]
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(40):
                k = rng.randrange(30)
                if rng.random() < 0.5:
                    store.remember([ASK], turns[k])
                elif rng.random() < 0.1:
                    store.purge(older_than=1e9)
                else:
                    assert store.find([ASK, turns[k].message()], 1) in (None, turns[k])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and store.used_bytes <= 40_000  # type: ignore[attr-defined]


def _replica(kind: str, where: str, number: int) -> None:
    store: TurnStore = SQLiteStore(where) if kind == "sqlite" else RedisStore(where, prefix="replicas")
    for k in range(20):
        turn = say(f"{number}/{k}")
        store.remember([ASK], turn)
        assert store.find([ASK, turn.message()], 1) == turn
    store.close()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def test_processes(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Several processes write at once, and each reads what the others wrote."""
    where = str(tmp_path / "shared.db") if kind == "sqlite" else request.getfixturevalue("redis_url")
    spawn = multiprocessing.get_context("fork")
    workers = [spawn.Process(target=_replica, args=(kind, where, number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    store: Any = SQLiteStore(where) if kind == "sqlite" else RedisStore(where, prefix="replicas")
    assert len(store) == 60
    for number in range(3):
        turn = say(f"{number}/7")
        assert store.find([ASK, turn.message()], 1) == turn
    assert store.purge() == 60 and store.used_bytes == 0
    store.close()


def test_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    turn = say("A")
    store = SQLiteStore(path)
    store.remember([ASK], turn)
    assert path.stat().st_mode & 0o077 == 0
    store.close()
    again = SQLiteStore(path)
    assert again.find([ASK, turn.message()], 1) == turn
    again.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(sqlite3.DatabaseError, match="version 99"):
        SQLiteStore(path)
    (tmp_path / "other.db").write_bytes(b"no database at all, just text" * 50)
    with pytest.raises(sqlite3.DatabaseError):
        SQLiteStore(tmp_path / "other.db")


def test_stores_are_not_pickled(tmp_path: Path) -> None:
    for store in (MemoryStore(), SQLiteStore(tmp_path / "p.db")):
        with pytest.raises(TypeError):
            pickle.dumps(store)
        store.close()


@pytest.mark.redis
def test_a_history_is_one_question(redis_url: str) -> None:
    """Rendering a long history asks the server a bounded number of times."""
    store = RedisStore(redis_url, prefix="questions")
    history: list[dict[str, Any]] = []
    for k in range(40):
        history.append({"role": "user", "content": f"q{k}"})
        turn = say(f"a{k}")
        store.remember(history, turn)
        history.append(turn.message())
    asked: list[int] = []
    inner = store._get
    store._get = lambda queries, now: (asked.append(len(queries)), inner(queries, now))[1]  # type: ignore[method-assign]
    prompt = render_prompt([*history, ASK], "qwen3.8", turns=store)
    assert asked == [40] and sum(segment.kind == "raw" for segment in prompt.segments) == 40
    store.close()
