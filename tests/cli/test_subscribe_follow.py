"""`pamctl subscribe follow` and `pamctl log --follow`."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pamctl.store.lock import exclusive
from tests.cli.conftest import Program
from tests.cli.test_subscribe import Remember, Subscribe, got

PATIENCE_SEC = 60
AFTER_SIGPIPE = -signal.SIGPIPE


class Following:
    """A command that prints lines until somebody ends it."""

    def __init__(self, program: Program, *words: str) -> None:
        self.process = subprocess.Popen(
            [*program.command, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.folder,
            env=program.environment,
        )
        self._begun = b""

    def line(self, within_sec: float = PATIENCE_SEC) -> str | None:
        """The next line; None where it ended before, or none came in time."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + within_sec
        while b"\n" not in self._begun:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return None
            self._begun += data
        line, _, self._begun = self._begun.partition(b"\n")
        return line.decode()

    def sequences(self, count: int) -> list[int]:
        """Of that many events, as they come."""
        lines = [self.line() for _ in range(count)]
        return [json.loads(line or "{}").get("sequence") for line in lines]

    def end(self, number: int = signal.SIGINT) -> tuple[int, bytes]:
        """Exit status and standard error, after a signal."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, bytes]:
        assert self.process.stderr is not None
        status = self.process.wait(PATIENCE_SEC)
        return status, self.process.stderr.read()


Follow = Callable[..., Following]


@pytest.fixture
def follow(in_store: Program) -> Iterator[Follow]:
    begun: list[Following] = []

    def start(*words: str) -> Following:
        begun.append(Following(in_store, *words))
        return begun[-1]

    yield start
    for following in begun:
        following.process.kill()
        following.process.communicate()


class TestFollowing:
    def test_an_event_of_another_process_comes_at_once(
        self, in_store: Program, subscribe: Subscribe, follow: Follow
    ) -> None:
        """Within 200 ms of the commit; a machine that is busy gets more than one chance. How
        long the device takes to keep how far the follower got is not counted."""
        following = follow("subscribe", "follow", subscribe())
        with subprocess.Popen(
            [*in_store.command, "stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=in_store.folder,
            env=in_store.environment,
        ) as writer:
            assert writer.stdin is not None
            assert writer.stdout is not None
            writer.stdout.readline()
            delays = []
            for number in range(12):
                assert _eventually(lambda done=number + 1: _cursor(in_store) == done)
                time.sleep(0.2)
                writer.stdin.write(_create(number))
                writer.stdin.flush()
                assert b'"result"' in writer.stdout.readline()
                committed = time.monotonic()
                assert following.line() is not None
                delays.append(time.monotonic() - committed)
            writer.stdin.close()
        assert sorted(delays)[len(delays) // 4] < 0.2, delays

    def test_what_waits_comes_first_and_nothing_twice(
        self, in_store: Program, subscribe: Subscribe, follow: Follow, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        remember("a"), remember("b")
        following = follow("subscribe", "follow", subscription_id)
        assert following.sequences(2) == [2, 3]
        remember("c")
        assert following.sequences(1) == [4]
        assert following.line(0.5) is None
        assert following.end() == (130, b"")
        assert got(in_store, subscription_id) == []

    def test_it_ends_after_as_many_as_were_asked_for(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        for name in "abc":
            remember(name)
        followed = in_store("subscribe", "follow", subscription_id, "--limit", "2")
        assert followed.status == 0
        assert len(followed.stdout.splitlines()) == 2
        assert got(in_store, subscription_id) == [4]

    def test_killed_between_printing_and_acknowledging_it_comes_again(
        self, in_store: Program, subscribe: Subscribe, follow: Follow, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        following = follow("subscribe", "follow", subscription_id)
        remember("a")
        assert following.sequences(1) == [2]
        assert _eventually(lambda: _acknowledged(in_store) == 2)
        # Whoever holds the lock keeps the cursor where it is, and nobody from printing.
        with exclusive(_lock(in_store)):
            remember("b")
            assert following.sequences(1) == [3]
            assert following.end(signal.SIGKILL) == (-signal.SIGKILL, b"")
        assert _acknowledged(in_store) == 2
        assert got(in_store, subscription_id) == [3]

    def test_a_poll_that_is_killed_before_it_printed_loses_nothing(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        """Standard output is a pipe that is full; the poll dies waiting for its reader."""
        subscription_id = subscribe()
        remember("a" * 5000)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 65536)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writer, b"x")
        os.set_blocking(writer, True)
        with subprocess.Popen(
            [*in_store.command, "subscribe", "poll", subscription_id],
            stdout=writer,
            cwd=in_store.folder,
            env=in_store.environment,
        ) as poll:
            os.close(writer)
            time.sleep(1)
            assert poll.poll() is None, "it does not wait for its reader"
            poll.kill()
        os.close(reader)
        assert got(in_store, subscription_id) == [2]

    def test_a_full_disk_for_output_loses_nothing(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        if not Path("/dev/full").exists():
            pytest.skip("there is no /dev/full")
        subscription_id = subscribe()
        remember("a")
        refused = in_store.shell(f"pamctl subscribe poll {subscription_id} > /dev/full")
        assert refused.status == 1
        assert got(in_store, subscription_id) == [2]

    def test_explicitly_it_prints_each_once_and_leaves_the_rest_to_its_reader(
        self, in_store: Program, subscribe: Subscribe, follow: Follow, remember: Remember
    ) -> None:
        subscription_id = subscribe("--ack", "explicit", "--batch-events", "2")
        for name in "abc":
            remember(name)
        following = follow("subscribe", "follow", subscription_id)
        assert following.sequences(3) == [2, 3, 4]
        assert following.line(0.4) is None
        in_store("subscribe", "ack", subscription_id, "3")
        assert following.line(0.4) is None
        assert following.end()[0] == 130
        assert follow("subscribe", "follow", subscription_id).sequences(1) == [4]

    def test_a_reader_that_goes_ends_it_though_nothing_happens(
        self, subscribe: Subscribe, follow: Follow
    ) -> None:
        for words in (("subscribe", "follow", subscribe("--after", "end")), ("log", "--follow")):
            following = follow(*words)
            assert following.process.stdout is not None
            following.line(0.8)
            following.process.stdout.close()
            assert following.wait() == (AFTER_SIGPIPE, b"")

    def test_head_ends_it_quietly(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        remember("a"), remember("b")
        cut = in_store.shell(f"pamctl subscribe follow {subscription_id} | head -n1; exit 0")
        assert len(cut.stdout.splitlines()) == 1
        assert cut.stderr == b""

    def test_closing_ends_it_with_how_far_it_got(
        self, in_store: Program, subscribe: Subscribe, follow: Follow, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        following = follow("subscribe", "follow", subscription_id)
        remember("a")
        assert following.sequences(1) == [2]
        in_store("subscribe", "close", subscription_id)
        remember("b")
        status, complaint = following.wait()
        assert status == 9
        assert json.loads(complaint)["details"]["last_delivered_sequence"] == 2
        assert following.line() is None

    def test_revocation_ends_it(
        self, in_store: Program, subscribe: Subscribe, follow: Follow, remember: Remember
    ) -> None:
        following = follow(
            "subscribe", "follow", subscribe("--actor", "actor:agent:a"), "--actor", "actor:agent:a"
        )
        remember("a")
        assert following.sequences(1) == [2]
        policy = {
            "policy_version": 1,
            "default_effect": "allow",
            "rules": [{"rule_id": "rule:no", "effect": "deny", "actors": ["actor:agent:*"]}],
        }
        in_store("scope", "policy", "workspace:default", "--policy", json.dumps(policy))
        status, complaint = following.wait()
        assert status == 7
        assert json.loads(complaint)["policy_rule_id"] == "rule:no"
        classes = [event["event_type"] for event in in_store("log").json["items"]]
        assert classes[-1] == "subscription_closed"

    def test_signs_of_life_are_empty_lines(self, subscribe: Subscribe, follow: Follow) -> None:
        following = follow("subscribe", "follow", subscribe("--keepalive", "150"))
        assert [following.line(), following.line()] == ["", ""]

    def test_a_batch_waits_to_fill(
        self, in_store: Program, subscribe: Subscribe, follow: Follow, remember: Remember
    ) -> None:
        subscription_id = subscribe("--batch-wait", "60000", "--batch-events", "2")
        following = follow("subscribe", "follow", subscription_id)
        remember("a")
        assert following.line(1) is None
        remember("b")
        assert following.sequences(2) == [2, 3]
        quick = follow("subscribe", "follow", subscribe("--batch-wait", "300", "--after", "end"))
        remember("c")
        assert quick.sequences(1) == [5]

    def test_waiting_costs_next_to_nothing(
        self, in_store: Program, subscribe: Subscribe, follow: Follow, remember: Remember
    ) -> None:
        following = follow("subscribe", "follow", subscribe())
        remember("a")
        assert following.sequences(1) == [2]
        assert _eventually(lambda: _acknowledged(in_store) == 2)
        before = _cpu_sec(following.process.pid)
        time.sleep(2)
        assert _cpu_sec(following.process.pid) - before < 0.1

    def test_at_a_terminal_it_is_a_line_an_event(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        remember("a", "--id", "mem:tea")
        status, shown = in_store.at_terminal("subscribe", "follow", subscription_id, "--limit", "1")
        assert status == 0
        assert shown.split()[:1] == ["2"]
        assert "object_created" in shown
        assert "mem:tea" in shown
        assert shown.count("\n") == 1


class TestLog:
    def test_it_goes_on_with_what_comes(
        self, in_store: Program, follow: Follow, remember: Remember
    ) -> None:
        remember("a"), remember("b")
        following = follow("log", "--follow", "--after", "1")
        assert following.sequences(1) == [2]
        remember("c")
        assert following.sequences(1) == [3]
        assert following.end() == (130, b"")

    def test_filters_hold(self, in_store: Program, follow: Follow, remember: Remember) -> None:
        tea = remember("a", "--id", "mem:tea")
        following = follow("log", "-f", "--object", "mem:tea", "--event-class", "object_deleted")
        assert following.line(0.5) is None
        remember("b")
        in_store("delete", "mem:tea", "--expect", tea["version_id"], "--policy-basis", "asked")
        assert following.sequences(1) == [3]

    def test_it_ends_after_as_many_as_were_asked_for(
        self, in_store: Program, remember: Remember
    ) -> None:
        for name in "abc":
            remember(name)
        followed = in_store("log", "--follow", "--limit", "2")
        assert followed.status == 0
        assert [json.loads(line)["sequence"] for line in followed.stdout.splitlines()] == [1, 2]

    def test_a_scope_may_be_yet_to_come(self, in_store: Program, follow: Follow) -> None:
        following = follow("log", "--follow", "--scope", "project:new")
        assert following.line(0.5) is None
        words = ("create", "--type", "claim", "--content", "1", "--scope", "project:new")
        assert in_store(*words).status == 0
        assert following.sequences(1) == [1]

    def test_what_cannot_be_followed_is_refused(self, in_store: Program) -> None:
        assert in_store("log", "--follow", "--cursor", "1").status == 2
        assert in_store("log", "--follow", "--delegation", "del:1").status == 2
        assert in_store("log", "--follow", "--snapshot", "snap:1").status == 2


def _create(number: int) -> bytes:
    arguments = {
        "scope_id": "workspace:default",
        "object_type": "claim",
        "canonical_content": number,
        "actor": {"actor_id": "actor:agent:a", "actor_kind": "agent"},
        "provenance": {"activity": "observed"},
    }
    request = {"request_id": number, "operation": "create", "arguments": arguments}
    return json.dumps(request).encode() + b"\n"


def _acknowledged(program: Program) -> int:
    (listed,) = program("subscribe", "list").json["items"]
    return int(listed["acknowledged_sequence"])


def _cursor(program: Program) -> int:
    """What the one subscription has got, looked up without a process."""
    kept = [*program.folder.glob(".pam/scopes/*/subscriptions/*.cursor.json")]
    return int(json.loads(kept[0].read_bytes())["acknowledged_sequence"]) if kept else 1


def _lock(program: Program) -> Path:
    (folder,) = program.folder.glob(".pam/scopes/*/subscriptions")
    return folder / "lock"


def _eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_SEC
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _cpu_sec(process_id: int) -> float:
    """Seconds of processor time that a process has taken."""
    stat = Path(f"/proc/{process_id}/stat")
    if not stat.exists():
        pytest.skip("there is no /proc")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
