"""The checker itself: it finds what it is to find, and nothing in histories that are fine."""

from __future__ import annotations

from tests.gate.races.histories import Txn, anomalies


def txn(id: int, *ops: tuple, at: float = 0, ok: bool | None = True) -> Txn:
    return Txn(id=id, ops=ops, start=at, end=at + 0.5, ok=ok)


def test_one_after_another_is_fine():
    history = [
        txn(1, ("append", "x", 1), at=1),
        txn(2, ("read", "x", [1]), ("append", "x", 2), at=2),
        txn(3, ("read", "x", [1, 2]), at=3),
    ]

    assert anomalies(history) == {}


def test_a_lost_update_is_a_circle():
    history = [
        txn(1, ("read", "x", []), ("append", "x", 1)),
        txn(2, ("read", "x", []), ("append", "x", 2)),
        txn(3, ("read", "x", [2]), at=9),
    ]

    assert "G2" in anomalies(history)


def test_write_skew_is_a_circle():
    history = [
        txn(1, ("read", "x", []), ("append", "y", 1)),
        txn(2, ("read", "y", []), ("append", "x", 2)),
        txn(3, ("read", "x", [2]), ("read", "y", [1]), at=9),
    ]

    assert anomalies(history).keys() == {"G2", "against real time"}


def test_a_read_of_what_was_rolled_back_is_told():
    history = [txn(1, ("append", "x", 1), ok=False), txn(2, ("read", "x", [1]))]

    assert "G1a" in anomalies(history)


def test_a_read_that_misses_what_had_ended_before_is_against_real_time_only():
    history = [
        txn(1, ("append", "x", 1), at=1),
        txn(2, ("read", "x", []), at=5),
        txn(3, ("read", "x", [1]), at=9),
    ]

    assert anomalies(history) == {"against real time": 1}
    assert anomalies(history, realtime=False) == {}


def test_lists_that_branch_are_told():
    history = [
        txn(1, ("append", "x", 1)),
        txn(2, ("append", "x", 2)),
        txn(3, ("read", "x", [1, 2])),
        txn(4, ("read", "x", [2])),
    ]

    assert "no prefix" in anomalies(history)


def test_appends_in_opposite_orders_are_a_circle_of_writes():
    history = [
        txn(1, ("append", "x", 1), ("append", "y", 1)),
        txn(2, ("append", "x", 2), ("append", "y", 2)),
        txn(3, ("read", "x", [1, 2]), ("read", "y", [2, 1])),
    ]

    assert "G0" in anomalies(history)


def test_a_transaction_sees_its_own_appends():
    assert "internal" in anomalies([txn(1, ("append", "x", 1), ("read", "x", []))])
