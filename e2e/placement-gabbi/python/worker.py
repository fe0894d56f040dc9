"""Runs files of Placement's gabbi suite against running servers.

    worker.py describe    prints the content of the suite, as one JSON object
    worker.py run         reads orders `{"file": ..., "port": ...}`, one a line; answers each with one line for every
                          test and a last one, `{"end": ...}`, with the error of a fixture that could not be created
"""

import importlib.util
import json
import os
import sys
import traceback
import unittest
from pathlib import Path

import shortcuts
import yaml
from cloud import Cloud
from fixtures import FIXTURES, build
from gabbi import handlers, suitemaker
from wire import Wire

HOST = "127.0.0.1"
LONGEST_TEXT = 20000
EXPECTATIONS = ("status", "response_")


def suite_folder():
    package = importlib.util.find_spec("placement").submodule_search_locations[0]
    return Path(package, "tests", "functional", "gabbits")


def names(tests):
    """Names that are unique in their file: the second of a name has a number."""
    seen = {}
    for test in tests:
        seen[test["name"]] = seen.get(test["name"], 0) + 1
        yield test["name"] if seen[test["name"]] == 1 else f"{test['name']} ({seen[test['name']]})"


def load(path):
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def describe():
    from placement import policies

    files = []
    for path in sorted(suite_folder().glob("*.yaml")):
        content = load(path)
        [fixture] = content["fixtures"]
        if fixture not in FIXTURES:
            raise SystemExit(f"{path}: there is no fixture {fixture}; add it to fixtures.py")
        files.append({"name": path.stem, "fixture": fixture, "tests": list(names(content["tests"]))})
    return {"files": files, "rules": [rule.name for rule in policies.list_rules()]}


class Teller(unittest.TestResult):
    """Reports the result of each test as soon as it is known."""

    def __init__(self, wire, test_names):
        super().__init__()
        self._wire, self._names = wire, iter(test_names)

    def startTest(self, test):
        super().startTest(test)
        self._wire.last = None

    def addSuccess(self, test):
        self._tell("passed", "")

    def addExpectedFailure(self, test, err):
        self._tell("passed", "")

    def addUnexpectedSuccess(self, test):
        self._tell("failed", "it is marked as one that fails, and does not")

    def addSkip(self, test, reason):
        self._tell("skipped", reason)

    def addFailure(self, test, err):
        self._tell("failed", f"{err[1]}\n{self._exchange()}{expectation(test)}")

    def addError(self, test, err):
        text = "".join(traceback.format_exception(*err))
        self._tell("failed", f"{text}\n{self._exchange()}{expectation(test)}")

    def _tell(self, outcome, detail):
        tell({"test": next(self._names), "outcome": outcome, "detail": detail[:LONGEST_TEXT]})

    def _exchange(self):
        if self._wire.last is None:
            return "nothing was sent\n"
        method, target, headers, body, response, content = self._wire.last
        lines = [f"> {method} {target}", *(f"> {name}: {value}" for name, value in headers.items())]
        lines += [f"> {body.decode(errors='replace')}"] if body else []
        if response is None:
            lines.append("< nothing")
        else:
            lines += [f"< {name}: {value}" for name, value in response.items()]
            lines.append(f"< {content.decode(errors='replace')}")
        return "\n".join(lines) + "\n"


def expectation(test):
    wanted = {key: value for key, value in test.test_data.items() if value and key.startswith(EXPECTATIONS)}
    return f"wanted: {json.dumps(wanted, ensure_ascii=False)}"


def tell(message):
    print(json.dumps(message), flush=True)


def tests_of(name, content, port):
    kinds = [kind() for kind in handlers.RESPONSE_HANDLERS]
    loader = unittest.defaultTestLoader
    folder = str(suite_folder())
    return suitemaker.test_suite_from_dict(loader, name, content, folder, HOST, port, None, None, handlers=kinds)


def run(name, port):
    content = load(suite_folder() / f"{name}.yaml")
    wire = Wire(HOST, port)
    before = dict(os.environ)
    try:
        os.environ.update(build(content["fixtures"][0], Cloud(wire)))
        teller = Teller(wire, names(content["tests"]))
        for test in tests_of(name, content, port):
            type(test).http = wire
            test.run(teller)
        return None
    except Exception:
        return traceback.format_exc()
    finally:
        wire.close()
        os.environ.clear()
        os.environ.update(before)


def main():
    if sys.argv[1:] == ["describe"]:
        tell(describe())
    elif sys.argv[1:] == ["run"]:
        shortcuts.take()
        for line in sys.stdin:
            order = json.loads(line)
            tell({"end": run(order["file"], order["port"])})
    else:
        raise SystemExit("usage: worker.py describe|run")


if __name__ == "__main__":
    main()
