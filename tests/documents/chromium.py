"""A headless Chromium, driven over a pipe by the DevTools protocol: no driver, no network."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

# Chromium reads commands from 3 and writes answers to 4.
_START = (
    "import os, sys; _, read, write, *command = sys.argv; os.dup2(int(read), 3); "
    "os.dup2(int(write), 4); os.execv(command[0], command)"
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """Return the path of a Chromium, or None; DPSCD_CHROMIUM names another one."""
    given = os.environ.get("DPSCD_CHROMIUM")
    return given or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab."""

    def __init__(self, read, write):
        self._read, self._write = read, write
        self._count, self._session = 0, None
        self.requests, self.problems = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Send a command and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url, *, width=1280, height=900, scheme="light", media="screen"):
        """Load a page at a width, in light or dark, for a screen or for paper."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.requests.clear()
        self.problems.clear()
        self._loaded = False
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._next()

    def run(self, script):
        """Run JavaScript and return its value; promises are awaited."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def press(self, key, code=9):
        """Press and release a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=code,
            )  # fmt: skip

    def screenshot(self, path):
        """Write the whole page, not only what fits the window."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(found["data"]))

    def pdf(self, path):
        """Write the page as it prints."""
        found = self.call("Page.printToPDF", preferCSSPageSize=True)
        Path(path).write_bytes(base64.b64decode(found["data"]))

    def _next(self):
        message = json.loads(self._read.readline())
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.problems.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"]["text"])
        return message


class _Messages:
    """Messages that end in a zero byte."""

    def __init__(self, handle):
        self._handle, self._rest = handle, b""

    def readline(self):
        while b"\0" not in self._rest:
            part = os.read(self._handle, 2**20)
            if not part:
                raise RuntimeError("Chromium ended.")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return message


@contextmanager
def browser(path):
    """Yield a page of a fresh Chromium, which ends with the block."""
    from_test, to_chromium = os.pipe()
    from_chromium, to_test = os.pipe()

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        )  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(from_test), str(to_test), path, *options],
            pass_fds=(from_test, to_test),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_test)
        os.close(to_test)
        try:
            page = Page(_Messages(from_chromium), to_chromium)
            yield page
            with suppress(RuntimeError):
                page._session = None
                page.call("Browser.close")
            process.wait(timeout=20)
        finally:
            process.kill()
            process.wait()
            os.close(to_chromium)
            os.close(from_chromium)
