"""Where time and randomness come from."""

from __future__ import annotations

import os
import threading

from pamctl.service.sources import Sources, SystemEntropy, system_entropy


def test_no_two_draws_share_a_byte_of_the_page() -> None:
    entropy = SystemEntropy()
    drawn = [entropy(16) for _ in range(2000)]
    assert len(set(drawn)) == len(drawn)
    assert {len(one) for one in drawn} == {16}
    assert len(entropy(10_000)) == 10_000


def test_a_forked_process_draws_its_own() -> None:
    entropy = system_entropy
    entropy(16)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, entropy(16))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 16) != entropy(16)
    os.close(reading)
    os.close(writing)


def test_another_thread_draws_its_own() -> None:
    entropy = SystemEntropy()
    drawn: list[bytes] = []

    def draw() -> None:
        drawn.extend(entropy(16) for _ in range(5000))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 20_000


def test_a_second_that_is_remembered_is_the_right_one() -> None:
    moments = iter([0, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789, 1_000])
    sources = Sources(clock=lambda: next(moments))
    assert [sources.now() for _ in range(5)] == [
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.999999Z",
        "1970-01-01T00:00:01.000000Z",
        "2023-11-14T22:13:20.123456Z",
        "1970-01-01T00:00:00.000001Z",
    ]
