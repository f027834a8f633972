"""Reads, checks and writes the files of benchmarks/results. README.md there defines the schema."""

import datetime
import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(__file__).resolve().parent / "results"
DOCUMENT_KEYS = {
    "benchmark": str,
    "machine": str,
    "petsc": (str, type(None)),
    "gpu": (str, type(None)),
    "date": (str, type(None)),
    "records": list,
}
RECORD_KEYS = {"commit": str, "command": str, "rows": list}
OPTIONAL_RECORD_KEYS = {"name": str, "notes": str, "recorded_with": str}
COMMIT = re.compile(r"[0-9a-f]{7,40}(-dirty)?$|unknown$")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}$")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows(document, name=None):
    """The rows of all records, or of those with this name, each with the commit of its record"""
    return [
        {"commit": record["commit"], **row}
        for record in document["records"]
        if name is None or record.get("name") == name
        for row in record["rows"]
    ]


def select(table, **wanted):
    """The rows that have these values"""
    return [row for row in table if all(row.get(key) == value for key, value in wanted.items())]


def only(table, **wanted):
    """The row that has these values"""
    found = select(table, **wanted)
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows have {wanted}, not one")
    return found[0]


def processor():
    """The model of this machine's CPU"""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found[1] if found else "unknown"


def checkout():
    """The commit of the working tree"""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def new(benchmark, table, command, commit="", petsc=None, gpu=None, **more):
    """A document of today with one record; more: notes and name of the record"""
    record = {"commit": commit or checkout(), "command": command, **more, "rows": table}
    return {
        "benchmark": benchmark,
        "machine": processor(),
        "petsc": petsc,
        "gpu": gpu,
        "date": datetime.date.today().isoformat(),
        "records": [record],
    }


def is_scalar(value):
    return value is None or isinstance(value, (str, int, float, bool))


def check_row(place, row):
    if not isinstance(row, dict) or not row:
        return [f"{place} is not an object with values"]
    return [
        f"{place}: {key} is neither a value nor a list of values"
        for key, value in row.items()
        if not is_scalar(value) and not (isinstance(value, list) and all(map(is_scalar, value)))
    ]


def check_keys(place, found, needed, optional):
    wrong = [f"{place} lacks {key}" for key in needed if key not in found]
    allowed = {**needed, **optional}
    wrong += [f"{place} has the unknown key {key}" for key in found if key not in allowed]
    return wrong + [
        f"{place}: {key} has the wrong type"
        for key, value in found.items()
        if key in allowed and not isinstance(value, allowed[key])
    ]


def check_record(place, record):
    if not isinstance(record, dict):
        return [f"{place} is not an object"]
    wrong = check_keys(place, record, RECORD_KEYS, OPTIONAL_RECORD_KEYS)
    if wrong:
        return wrong
    wrong += [
        f"{place}: {record[key]} is not a commit"
        for key in ("commit", "recorded_with")
        if key in record and not COMMIT.match(record[key])
    ]
    if not record["rows"]:
        wrong.append(f"{place} has no rows")
    for number, row in enumerate(record["rows"]):
        wrong += check_row(f"{place}, row {number}", row)
    return wrong


def check(document):
    """What is wrong with a document, in words. Outside a checkout a commit may be unknown"""
    if not isinstance(document, dict):
        return ["is not an object"]
    wrong = check_keys("document", document, DOCUMENT_KEYS, {})
    if wrong:
        return wrong
    if document["date"] and not DATE.match(document["date"]):
        wrong.append(f"{document['date']} is not a date as 2026-01-31")
    if not document["records"]:
        wrong.append("has no records")
    for number, record in enumerate(document["records"]):
        wrong += check_record(f"record {number}", record)
    return wrong


def text(document):
    """JSON with a row a line, as bench::WriteDocument() writes it"""
    head = {key: value for key, value in document.items() if key != "records"}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    records = []
    for record in document["records"]:
        facts = [
            f"   {json.dumps(key)}: {json.dumps(value)},"
            for key, value in record.items()
            if key != "rows"
        ]
        table = ",\n".join("    " + json.dumps(row) for row in record["rows"])
        records.append("\n".join(["  {", *facts, '   "rows": [', table, "   ]", "  }"]))
    return "\n".join(["{", *lines, ' "records": [', ",\n".join(records), " ]", "}", ""])


def write(path, document):
    wrong = check(document)
    if wrong:
        raise ValueError(f"{path}: " + "; ".join(wrong))
    Path(path).write_text(text(document), encoding="utf-8")
