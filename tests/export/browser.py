"""A headless Chromium at the other end of two pipes, spoken to in its own protocol: no driver, no port."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 400.0
"""Seconds for one answer."""


class Browser:
    """One page; every method returns when the browser has answered."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._buffer, self._number = commands, answers, b"", 0
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """The result of one command of the DevTools protocol."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE)
            part = os.read(self._answers, 1 << 20) if ready else b""
            if not part:
                raise TimeoutError(f"chromium gave no answer in {PATIENCE:g} s")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(line))

    def open(self, page: Path, width: int, *, dark: bool = False, height: int = 844) -> None:
        """Load a page at a width in CSS pixels, on a touch screen below 600, in a light or dark scheme."""
        phone = width < 600
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=page.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while self.value("document.readyState + location.href") != f"complete{page.resolve().as_uri()}":
            if time.monotonic() > end:
                raise TimeoutError(f"{page} did not load in {PATIENCE:g} s")
            time.sleep(0.05)
        self.settle()

    def settle(self) -> None:
        """Wait until what was near the screen, or was opened, is unpacked."""
        self.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))", wait=True)

    def value(self, script: str, *, wait: bool = False) -> Any:
        """What a JavaScript expression is, as JSON; with ``wait`` what it promises."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=wait)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def accessible(self) -> list[tuple[str, str]]:
        """(role, name) of everything that a screen reader meets."""
        nodes = self.ask("Accessibility.getFullAXTree")["nodes"]
        shown = (node for node in nodes if not node.get("ignored"))
        return [(node["role"]["value"], str(node.get("name", {}).get("value", ""))) for node in shown]

    def screenshot(self, path: Path, *, top: int = 0, height: int = 1600) -> None:
        """A PNG of a part of the page."""
        width = self.value("innerWidth")
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        found = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def chromium(program: str, profile: Path) -> Iterator[Browser]:
    """A browser that ends with the block."""
    ours, theirs = os.pipe(), os.pipe()
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    # the browser reads commands from descriptor 3 and answers on 4
    script = f'exec 3<&{ours[0]} 4>&{theirs[1]}; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command, f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(ours[0], theirs[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(ours[0])
    os.close(theirs[1])
    try:
        yield Browser(ours[1], theirs[0])
    finally:
        os.close(ours[1])
        os.close(theirs[0])
        process.terminate()
        process.wait(20)
