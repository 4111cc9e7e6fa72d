"""What callers may rely on, in short: `contract.json` beside the tests of the server (R8.5).

`/v1` only grows. What a call takes it takes for ever, what it needs does not grow, what it answers
stays there and stays what it is. python -m tests.support.contract writes down what has been added.
"""

import json
import sys
from pathlib import Path
from typing import Any

from rota.server.openapi import document
from rota.server.routes import table

FILE = Path(__file__).resolve().parents[1] / "server" / "contract.json"

Contract = dict[str, dict[str, list[str]]]
"""Of every operation and every shape: its facts by kind, each a list of texts."""


def contract(doc: dict[str, Any]) -> Contract:
    """Return the facts of a document."""
    found: Contract = {}
    for path, methods in doc["paths"].items():
        for method, operation in methods.items():
            found[operation["operationId"]] = _operation(f"{method.upper()} {path}", operation)
    for name, schema in doc["components"]["schemas"].items():
        found[f"#{name}"] = _shape(schema)
    return found


def broken(old: Contract, new: Contract) -> list[str]:
    """Return what a caller of the old one would miss in the new one, in words."""
    taken, given = _reached(old, ("takes", "is")), _reached(old, ("gives", "has", "is"))
    # A shape that no call leads to is that of a query, whose parameters are told one by one.
    wrong = [f"{name} is gone" for name in (taken | given) - new.keys()]
    for name in old.keys() & new.keys():
        was, now = old[name], new[name]
        if name in taken:
            for kind in ("call", "roles", "takes", "is"):
                gone = set(was.get(kind, ())) - set(now.get(kind, ()))
                wrong += [f"{name}: {kind} {one} no more" for one in gone]
            more = set(now.get("needs", ())) - set(was.get("needs", ()))
            wrong += [f"{name}: needs {one} now" for one in more]
        if name in given:
            for kind in ("gives", "has"):
                lost = _lost(was.get(kind, []), now.get(kind, []))
                wrong += [f"{name}: {kind} {one} no more" for one in lost]
    return sorted(wrong)


def _lost(before: list[str], after: list[str]) -> list[str]:
    """Return the facts of answers that are gone; what they may be can only become less."""
    now = dict(one.split(": ", 1) for one in after)
    lost = []
    for one in before:
        name, types = one.split(": ", 1)
        kinds = set(now.get(name, "?").split(" | "))
        if not kinds <= set(types.split(" | ")):
            lost.append(one)
    return lost


def _operation(call: str, operation: dict[str, Any]) -> dict[str, list[str]]:
    takes, needs, gives = [], [], []
    for parameter in operation.get("parameters", ()):
        where = f"{parameter['in']} {parameter['name']}"
        takes += [f"{where}: {one}" for one in _types(parameter["schema"])]
        needs += [where] if parameter.get("required") else []
    body = operation.get("requestBody", {})
    for media, content in body.get("content", {}).items():
        takes += [f"{media}: {one}" for one in _types(content["schema"])]
    needs += ["body"] if body.get("required") else []
    for status, answer in operation["responses"].items():
        if status < "400":
            contents = answer.get("content", {"nothing": {}})
            gives += [
                f"{status} {media}: {' | '.join(_types(content.get('schema', {}), open_=True))}"
                for media, content in contents.items()
            ]
        else:
            gives += [f"{status} {code}: problem" for code in answer.get("x-rota-codes", ())]
    roles = operation["x-rota-roles"]
    said = {"call": [call], "roles": ["anyone"] if roles is None else roles}
    return said | {"takes": sorted(takes), "needs": sorted(needs), "gives": sorted(gives)}


def _shape(schema: dict[str, Any]) -> dict[str, list[str]]:
    fields = schema.get("properties")
    if fields is None:
        return {"is": _types(schema)}
    return {
        "takes": sorted(f"{name}: {one}" for name, of in fields.items() for one in _types(of)),
        "has": sorted(
            f"{name}: {' | '.join(_types(of, open_=True))}"
            for name, of in fields.items()
            if name in schema.get("required", ())
        ),
        "needs": sorted(schema.get("required", ())),
    }


def _types(schema: dict[str, Any], *, open_: bool = False) -> list[str]:
    """Return what a value may be; the words of an answer are `open_`, those of a call are not."""
    if "$ref" in schema:
        return ["#" + schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return sorted({one for part in schema["anyOf"] for one in _types(part, open_=open_)})
    if "enum" in schema or "const" in schema:
        words = schema.get("enum", [schema.get("const")])
        return sorted({type(w).__name__ if open_ else json.dumps(w) for w in words})
    if schema.get("type") == "array":
        return [f"[{' | '.join(_types(schema.get('items', {}), open_=open_))}]"]
    named = schema.get("type", "any")
    return sorted(named) if isinstance(named, list) else [{"string": "str"}.get(named, named)]


def _reached(facts: Contract, kinds: tuple[str, ...]) -> set[str]:
    """Return all operations, and the shapes to which facts of these kinds lead from them."""
    left = [name for name in facts if not name.startswith("#")]
    found = set(left)
    while left:
        known = facts[left.pop()]
        for fact in (fact for kind in kinds for fact in known.get(kind, ())):
            for word in fact.replace("[", " ").replace("]", " ").split():
                if word in facts and word not in found:
                    found.add(word)
                    left.append(word)
    return found


def kept() -> Contract:
    """Return what was promised."""
    promised: Contract = json.loads(FILE.read_text(encoding="utf-8"))
    return promised


if __name__ == "__main__":
    now = contract(document(table()))
    if FILE.exists() and (wrong := broken(kept(), now)) and "--break" not in sys.argv:
        sys.exit("\n".join([*wrong, "callers would break; --break if that is meant"]))
    lines = [f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in sorted(now.items())]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
