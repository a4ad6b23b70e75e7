"""A client of `pamctl stdio`, written from the protocol's description alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.conftest import clean_environment, measured_once, pamctl_program


class Coprocess:
    """A running coprocess: over the store in `folder`, or over one of its own."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.process = subprocess.Popen(
            [pamctl_program(), "stdio", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=measured_once(clean_environment(folder), ("stdio", *flags)),
        )
        self.hello = self._line()
        self._requests = 0

    def __enter__(self) -> Coprocess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> int:
        """Ends its input; it says no more, and this is its status."""
        stdout, _ = self.process.communicate(timeout=60)
        assert stdout == b""
        return self.process.returncode

    def write(self, line: bytes) -> Any:
        """Sends a line as it is and answers the next line that comes back."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return self._line()

    def send(self, operation: str, arguments: dict[str, Any]) -> Any:
        """A request, and its answer without the request id."""
        self._requests += 1
        request_id = f"request-{self._requests}"
        request = {"request_id": request_id, "operation": operation, "arguments": arguments}
        answer = self.write(json.dumps(request).encode())
        assert answer.pop("request_id") == request_id
        assert set(answer) in ({"result"}, {"error"})
        return answer

    def ask(self, name: str, /, **arguments: Any) -> Any:
        """The result of an operation, or its error: an object with a `code`."""
        (outcome,) = self.send(name, arguments).values()
        return outcome

    def _line(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), self.process.stderr.read() if self.process.stderr else b""
        return json.loads(line)
