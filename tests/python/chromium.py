# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for the tests of pages, driven through a pipe. It has a profile of its own and no network but
this machine."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


PATIENCE = 60  # seconds for one answer: a browser that hangs must not hang the tests


class Browser:
    def __init__(self, width: int = 1400, height: int = 900) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, ours = os.pipe()
        self.answers, theirs = os.pipe()
        self.commands = ours
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={self.profile.name}",
                 f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank"]

        def connect() -> None:  # the browser reads from descriptor 3 and writes to 4
            low, high = os.dup(commands), os.dup(theirs)
            os.dup2(low, 3)
            os.dup2(high, 4)

        # Sanitizers are for our own programs.
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        self.process = subprocess.Popen([PROGRAM, *flags], preexec_fn=connect, close_fds=False, env=env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(theirs)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events: list[dict] = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self) -> dict:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], PATIENCE)
            if not ready:
                self.process.kill()
                raise RuntimeError("the browser does not answer")
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, **params) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]
            self.events.append(answer)

    def load(self, path) -> None:
        self.visit(pathlib.Path(path).resolve().as_uri())

    def visit(self, address: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())

    def run(self, code: str):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "exception"))
        return result["result"].get("value")

    def key(self, key: str) -> None:
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": key} if len(key) == 1 else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def click(self, x: float, y: float, count: int = 1, shift: bool = False) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count,
                      modifiers=8 if shift else 0)

    def problems(self) -> list[str]:
        """What the page complained about: exceptions, refused scripts and styles, console errors."""
        self.run("1")
        found = []
        for e in self.events:
            if e.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(e["params"]["exceptionDetails"]))
            if e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error":
                found.append(e["params"]["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def picture(self, path) -> None:
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def dark(self, on: bool) -> None:
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def close(self) -> None:
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.profile.cleanup()
