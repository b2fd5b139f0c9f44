"""Every fit of the tape gives what it gave: bits on the machine of the tape, else nearly."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest

import tape
from dpscd.model.plain import KINDS


def names_of(where):
    return [name for name, fit in tape.FITS.items() if fit.where == where]


def shown(old, new, where):
    """Return what differs between two tapes' fits, in the way their machines allow."""
    bits = tape.same_machine(old["machine"], new["machine"], where)
    return [
        line
        for name, fit in new["fits"].items()
        for line in tape.differences(old["fits"][name], fit, bits=bits, at=(name,))
    ]


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("name", names_of(tape.HERE))
def test_a_fit_here_is_that_of_the_tape(name):
    new = {"machine": tape.machine(), "fits": {name: tape.taken(name)}}
    assert not shown(tape.stored(), new, tape.HERE)


@pytest.mark.full
@pytest.mark.parametrize("name", names_of(tape.JAX))
def test_a_fit_of_the_second_engine_is_that_of_the_tape(name):
    pytest.importorskip("jax")
    new = {"machine": tape.machine(), "fits": {name: tape.taken(name)}}
    assert not shown(tape.stored(), new, tape.JAX)


@pytest.mark.full
@pytest.mark.compiled
def test_fits_on_workers_are_those_of_the_tape():
    names = names_of(tape.DASK)
    command = [sys.executable, tape.__file__, "show", *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    new = {"machine": tape.machine(), "fits": json.loads(done.stdout)["fits"]}
    assert not shown(tape.stored(), new, tape.DASK)


def test_the_tape_holds_every_fit_and_no_other():
    assert list(tape.stored()["fits"]) == list(tape.FITS)


def test_every_kind_of_release_is_on_the_tape():
    fits = tape.stored()["fits"].values()
    ours = {kind.what for kind in KINDS}
    assert ours <= {event[0] for fit in fits for event in fit["events"]}


def changed(name, field, change, **machine):
    """Return the stored machine's fits twice, one of them changed in a field or its machine."""
    old = tape.stored()
    fit = copy.deepcopy(old["fits"][name])
    fit[field] = change(fit[field])
    return old, {"machine": old["machine"] | machine, "fits": {name: fit}}


def up(by):
    return lambda numbers: [numbers[0] + by * max(map(abs, numbers)), *numbers[1:]]


def test_the_comparison_sees_a_last_bit():
    last_bit = lambda numbers: [np.nextafter(numbers[0], 9.0), *numbers[1:]]  # noqa: E731
    old, new = changed("ridge", "line", last_bit)
    assert len(shown(old, new, tape.HERE)) == 1


def test_the_comparison_sees_a_digest_only_where_bits_are_compared():
    other = lambda long: {**long, "sha256": "0"}  # noqa: E731
    old, new = changed("sparse", "line", other)
    assert len(shown(old, new, tape.HERE)) == 1
    new["machine"] = {**new["machine"], "processor": "another"}
    assert not shown(old, new, tape.HERE)


@pytest.mark.parametrize(("part", "seen"), [(0.5, 0), (2.0, 1)])
@pytest.mark.parametrize(
    ("name", "field", "within"),
    [
        ("ridge", "line", tape.TRAINED_WITHIN),
        ("ridge", "epsilon", tape.WITHIN),
        ("released bounds", "bounds of pay", tape.WITHIN),
        ("score", "score", tape.WITHIN),
    ],
)
def test_on_another_machine_numbers_may_differ_by_so_much(name, field, within, part, seen):
    old, new = changed(name, field, up(part * within), numpy="another")
    assert len(shown(old, new, tape.HERE)) == seen


def test_the_comparison_sees_a_number_that_is_none_any_more():
    for machine in ({}, {"numpy": "another"}):
        none = lambda numbers: [float("nan"), *numbers[1:]]  # noqa: E731
        assert len(shown(*changed("ridge", "line", none, **machine), tape.HERE)) == 1


def test_on_another_machine_events_may_not_differ():
    old, new = changed("ridge", "events", lambda events: events[1:], numpy="another")
    assert len(shown(old, new, tape.HERE)) == 1
    steps = lambda events: [[*events[0][:2], events[0][2] + 1, *events[0][3:]]]  # noqa: E731
    more = lambda events: steps(events) + events[1:]  # noqa: E731
    old, new = changed("hinge", "events", more, numpy="another")
    assert len(shown(old, new, tape.HERE)) == 1


def test_a_field_that_is_gone_is_seen():
    old, new = changed("ridge", "epsilon", lambda epsilon: epsilon)
    del new["fits"]["ridge"]["epsilon"]
    assert len(shown(old, new, tape.HERE)) == 1
    assert len(shown(new, {**old, "fits": {"ridge": old["fits"]["ridge"]}}, tape.HERE)) == 1


def test_versions_of_jax_count_for_its_fits_only():
    here = tape.stored()["machine"]
    other = {**here, "jax": "another"}
    assert tape.same_machine(here, other)
    assert not tape.same_machine(here, other, tape.JAX)
