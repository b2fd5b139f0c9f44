"""The cluster that ``--dask local`` starts answers nobody but those who started it."""

import socket
import ssl
import subprocess
import sys
import time
import urllib.request

import psutil
import pytest
from distributed import Client, Security

from dpscd.distributed.collections import LOCAL, connected

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def client():
    with connected(LOCAL) as client:
        yield client


def listening():
    """Return the addresses on which this process and its children listen."""
    own = psutil.Process()
    found = set()
    for process in (own, *own.children(recursive=True)):
        for link in process.net_connections("inet"):
            if link.status == psutil.CONN_LISTEN:
                found.add((link.laddr.ip, link.laddr.port))
    return found


def ports():
    return {str(port) for _, port in listening()}


def addresses(client):
    info = client.scheduler_info(n_workers=-1)
    nannies = [worker["nanny"] for worker in info["workers"].values()]
    return [info["address"], *info["workers"], *nannies]


def test_it_computes_in_processes(client):
    assert client.submit(sum, [1, 2, 3]).result() == 6
    assert len(addresses(client)) >= 3


LOGS = """
import logging
from dpscd.distributed.collections import LOCAL, connected

def log():
    logging.getLogger("distributed.worker").error("Failed to communicate with scheduler.")

if __name__ == "__main__":
    with connected(LOCAL) as client:
        client.run(log)
"""


def test_what_workers_log_is_not_shown(tmp_path):
    """A worker that is closing logs an error when its heartbeat finds nobody."""
    script = tmp_path / "logs.py"
    script.write_text(LOGS)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stderr + done.stdout == ""


def test_everything_that_listens_is_encrypted_and_of_this_machine(client):
    assert {ip for ip, _ in listening()} == {"127.0.0.1"}
    # Neither a dashboard nor any other web server.
    assert ports() == {
        address.removeprefix("tls://127.0.0.1:") for address in addresses(client)
    }
    assert not client.cluster.scheduler.http_application.applications


@pytest.fixture
def strangers():
    """Return ways to speak to a port without the certificate of the cluster."""

    def without_tls(port):
        Client(f"tcp://127.0.0.1:{port}", timeout=3)

    def with_a_certificate_of_their_own(port):
        Client(f"tls://127.0.0.1:{port}", security=Security.temporary(), timeout=3)

    def as_a_browser(port):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/info/main/workers.html", timeout=3)

    def with_tls_but_no_certificate(port):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", int(port)), timeout=3) as plain,
            context.wrap_socket(plain) as shaken,
        ):
            shaken.recv(1)

    return (
        without_tls, with_a_certificate_of_their_own, as_a_browser, with_tls_but_no_certificate,
    )  # fmt: skip


def test_nobody_without_the_certificate_gets_an_answer(client, strangers):
    for address in addresses(client):
        for speak in strangers:
            with pytest.raises(OSError):  # noqa: PT011 - of which kind is up to Dask and OpenSSL
                speak(address.rpartition(":")[2])


def test_a_worker_that_is_started_again_has_no_web_server_either(client):
    client.restart()
    assert client.submit(sum, [1, 2, 3]).result() == 6
    end = time.monotonic() + 30.0  # it is stopped right after the worker is known
    while ports() != {address.rpartition(":")[2] for address in addresses(client)}:
        assert time.monotonic() < end, "a web server is left"
        time.sleep(0.1)
