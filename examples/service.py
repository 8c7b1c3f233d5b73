"""A small web service that releases: certified specs, one ledger, and confidential counts that it alone holds.

    python -m examples.service folder [port]

folder: specs (`*.json`), `counts.csv` with a column "count", and a ledger `ledger` that has the data set "people". `POST
/release` with {"spec": NAME} answers with the release and where it is recorded; with "counts" a trusted sender hands over
counts of its own. `GET /balance` says what is spent. Requests of a wrong form are refused before anything is reserved and cost
nothing; what is wrong within counts is found when they are read, and costs what a release does.

Without a folder it measures itself: requests from eight threads, a fifth of them malformed, the service killed in their midst
and started again; and counts what must not be.
"""

from __future__ import annotations

import csv
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from designer import (
    InvalidLedger,
    LedgerUnavailable,
    OverTotal,
    Problem,
    Refusal,
    Workload,
    design,
    load,
    metrics,
    verify_release,
)
from designer.accounts import Ledger, Total, checked
from designer.accounts.chain import output_hash
from examples.reproduction import Result, show

DIFFERENCES: dict[str, str] = {}
LONGEST = 100_000  # bytes of a request
ATTEMPTS = 3  # where other processes hold the ledger for a minute, and nothing was spent


class Service:
    """What one process holds: specs, which are certified anew when they are loaded, counts, and the ledger."""

    def __init__(self, folder: Path) -> None:
        self.specs = {path.stem: load(path) for path in sorted(folder.glob("*.json"))}
        with (folder / "counts.csv").open() as file:
            self.counts = [int(row["count"]) for row in csv.DictReader(file)]
        self.people = Ledger(folder / "ledger", who="service").dataset("people")

    def release(self, asked: Any) -> dict[str, Any]:
        """The release of a spec, recorded; `Refusal` for anything else."""
        name = asked.get("spec") if isinstance(asked, dict) else None
        if not isinstance(name, str) or name not in self.specs or asked.keys() - {"spec", "counts"}:
            raise Refusal(f'spec: ask with {{"spec": NAME}} and, where you hold them, "counts"; names are {[*self.specs]}.')
        for _ in range(ATTEMPTS - 1):
            try:
                return self._release(name, asked)
            except LedgerUnavailable as error:
                if not error.transient or error.spent is not False:
                    raise
        return self._release(name, asked)

    def _release(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        return self.people.release(self.specs[name], asked.get("counts", self.counts)).to_dict()

    def balance(self) -> dict[str, Any]:
        """What is spent, of what total; the same from a few entries, however many there are."""
        standing = self.people.standing()
        return {"total": standing.total.to_dict(), "spent": {"epsilon": str(standing.spent.epsilon)}}


class Handler(BaseHTTPRequestHandler):
    """Of one service, which the class holds."""

    service: Service

    def do_GET(self) -> None:
        """The balance."""
        if self.path == "/balance":
            self._answer(200, self.service.balance())
        else:
            self._answer(404, {"error": "there is /balance, and POST /release"})

    def do_POST(self) -> None:
        """A release. What is wrong is said by field and remedy; an error that nobody foresaw says nothing at all."""
        try:
            length = int(self.headers.get("Content-Length", ""))
            if self.path != "/release" or not 0 < length <= LONGEST:
                self._answer(404 if self.path != "/release" else 413, {"error": f"POST /release, up to {LONGEST} bytes"})
                return
            self._answer(200, self.service.release(json.loads(self.rfile.read(length))))
        except OverTotal as error:
            self._answer(403, {"error": str(error)})
        except InvalidLedger as error:
            self._answer(500, {"error": str(error)})
        except LedgerUnavailable as error:
            self._answer(503, {"error": str(error), "transient": error.transient, "spent": error.spent})
        except Refusal as error:
            self._answer(400, {"error": str(error), "field": error.field, "remedy": error.remedy})
        except (ValueError, RecursionError):
            self._answer(400, {"error": "the request is no JSON"})

    def _answer(self, code: int, document: dict[str, Any]) -> None:
        content = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the logger "dp-designer" says what was done."""


def serve(folder: Path, port: int) -> None:
    """Until it is stopped. Prints the port first, 0 becomes a free one."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", filename=folder / "service.log")
    made = type("Handler", (Handler,), {"service": Service(folder)})
    with ThreadingHTTPServer(("127.0.0.1", port), made) as server:
        print(server.server_address[1], flush=True)
        print(f"Listening on http://127.0.0.1:{server.server_address[1]} until it is interrupted (Ctrl+C).", file=sys.stderr)
        server.serve_forever()


MALFORMED: tuple[Any, ...] = (
    {"spec": "cells", "counts": [1, 2]},
    {"spec": "cells", "counts": None},
    {"spec": "cells", "counts": "many"},
    {"spec": "cells", "counts": [[1, 2, 3]]},
    {"spec": "cells", "counts": {"e0": 1, "e1": 2, "e9": 3}},
    {"spec": "no such"},
    {"spec": "cells", "rows": 3},
    [],
    "cells",
)
EPSILON = 0.25
NEVER = (
    "reserved over the total",
    "handed out without a record",
    "malformed requests that were not refused",
    "abandoned",
    "spent by the balance, less what is reserved",
)


@contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service in a process of its own, and its address."""
    command = [sys.executable, "-m", "examples.service", str(folder), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as process:
        assert process.stdout is not None
        try:
            yield process, f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def asked(address: str, request: Any) -> tuple[int, Any]:
    """Code and document of an answer; 0 where the service is gone."""
    try:
        with urlopen(Request(f"{address}/release", json.dumps(request).encode()), timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        return error.code, json.loads(error.read())
    except (URLError, HTTPException, OSError, ValueError):
        return 0, None


def reproduce(full: bool = False) -> Result:
    """1,000 requests, or 60; what they get, and what the ledger says of them afterwards."""
    requests, dice = 1000 if full else 60, random.Random(3)
    wanted = [dice.choice(MALFORMED) if dice.random() < 0.2 else {"spec": "cells"} for _ in range(requests)]
    room = sum(request == {"spec": "cells"} for request in wanted) - 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mechanism = design(Problem(Workload.identity(3), metrics.add_remove(3, EPSILON)), "laplace").mechanism
        mechanism.save(folder / "cells.json")
        (folder / "counts.csv").write_text("count\n5\n1\n0\n")
        ledger = Ledger.create(folder / "ledger", who="Ada")
        ledger.state("people", Total(epsilon=EPSILON * room))
        half = requests // 2
        with running(folder) as (process, address), ThreadPoolExecutor(8) as pool:
            first = [pool.submit(asked, address, request) for request in wanted[:half]]
            while sum(one.done() for one in first) < half * 2 // 3:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            answers = [one.result() for one in first]
        with running(folder) as (_, address), ThreadPoolExecutor(8) as pool:
            later = [*wanted[half:], *[{"spec": "cells"}] * (half + 10)]  # more than there is room for
            answers += pool.map(lambda request: asked(address, request), later)
            with urlopen(f"{address}/balance") as answer:
                balance = json.loads(answer.read())
        found = checked(Ledger(folder / "ledger")).balances[0]
        spent = Fraction(EPSILON) * len(found.reserves)
        codes = Counter(code for code, _ in answers)
        ends = [reserve.end for reserve in found.reserves if reserve.state == "released"]
        recorded = Counter(end.content["output"] for end in ends if end is not None)
        shown = [document for code, document in answers if code == 200]
        for document in shown[:5]:
            verify_release(mechanism, document)
        computed = {
            "releases handed out": codes[200],
            "reserved": len(found.reserves),
            "reserved over the total": max(0, len(found.reserves) - room),
            "handed out without a record": (Counter(map(output_hash, shown)) - recorded).total(),
            "malformed requests that were not refused": sum(
                code not in (0, 400, 403)  # 403: all is spent, which is said first
                for (code, _), request in zip(answers, [*wanted, *later[len(wanted) - half :]], strict=True)
                if request != {"spec": "cells"}
            ),
            "abandoned": sum(reserve.state == "abandoned" for reserve in found.reserves),
            "spent by the balance, less what is reserved": float(Fraction(balance["spent"]["epsilon"]) - spent),
            "refused because all is spent": codes[403],
        }
    published = dict.fromkeys(NEVER, (0.0, 0.0))
    published |= {"reserved": (room, room), "refused because all is spent": (1.0, float(requests))}
    published["releases handed out"] = (room - 8.0, float(room))  # eight threads were cut off by the kill
    return {name: float(value) for name, value in computed.items()}, published


if __name__ == "__main__":
    if len(sys.argv) > 1 and not Path(sys.argv[1]).is_dir():
        sys.exit(f"{sys.argv[1]} is no folder; give one for the ledger, and a port: python -m examples.service FOLDER 8000")
    elif len(sys.argv) > 1:
        serve(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8000)
    else:
        show("A service that is killed and started again", reproduce, DIFFERENCES)
