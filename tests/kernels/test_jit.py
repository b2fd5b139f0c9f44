"""Compiling is not interrupted: LLVM calls back, where Ctrl-C would be lost or crash."""

import gc
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numba
import pytest
from numba.extending import overload

from dpscd.kernels import _jit
from dpscd.kernels._jit import compiling_said, interrupts_wait


@pytest.fixture(autouse=True)
def interruptible():
    """Let interrupts come, as a terminal does; a shell's background process has none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_and_then_comes():
    handler = signal.getsignal(signal.SIGINT)
    reached = []

    def interrupted():
        with interrupts_wait():
            interrupt()
            reached.append(1)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached
    assert signal.getsignal(signal.SIGINT) is handler


def test_without_an_interrupt_nothing_happens():
    handler = signal.getsignal(signal.SIGINT)
    with interrupts_wait(), interrupts_wait():
        assert signal.getsignal(signal.SIGINT) is not handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_errors_pass_and_other_threads_are_left_alone():
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), interrupts_wait():
        1 / 0  # noqa: B018
    seen = []

    def look():
        with interrupts_wait():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [handler]


def half(x):
    return 0.5 * x


@overload(half)
def _half(x):  # noqa: ARG001 - overloads have the arguments of what they stand for
    interrupt()
    return lambda x: 0.5 * x


@pytest.mark.compiled
@pytest.mark.parametrize("decorator", [_jit.jit, _jit.jit_uncounted])
def test_a_function_is_compiled_whole_or_not_at_all(decorator, tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "cache_folder", lambda: tmp_path)

    @decorator
    def quarter(x):
        return half(half(x))

    with pytest.raises(KeyboardInterrupt):
        quarter(8.0)
    assert quarter.signatures
    assert quarter(8.0) == 2.0


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_waits_and_is_collected_again_if_it_was(collecting):
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        with suppress(ValueError), _jit._garbage_waits:
            assert not gc.isenabled()
            raise ValueError
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_the_last_of_several_threads_lets_garbage_be_collected_again():
    before = gc.isenabled()
    gc.enable()
    try:
        with _jit._garbage_waits:
            with ThreadPoolExecutor(1) as pool:  # it comes and goes while this one stays
                assert not pool.submit(_waiting).result()
            assert not gc.isenabled()
        assert gc.isenabled()
    finally:
        (gc.enable if before else gc.disable)()


def _waiting():
    with _jit._garbage_waits:
        return gc.isenabled()


@pytest.mark.compiled
def test_compiling_is_said_once_and_not_when_nothing_is_compiled():
    said = []

    def say():
        said.append(True)

    first, second = numba.njit(lambda x: x + 1), numba.njit(lambda x: x + 2)
    with compiling_said(say):
        pass
    assert not said
    with compiling_said(say):
        assert first(1) + second(1) == 5
    assert len(said) == 1
    with compiling_said(say):
        first(1)
    numba.njit(lambda x: x + 3)(1)
    assert len(said) == 1
