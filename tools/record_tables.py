"""What tables of the documentation share: records of benchmarks/results, and Markdown.

A table ends with a paragraph that names the commits, the machine, PETSc and the record files.
"""

import re
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
import results  # noqa: E402


class Records:
    """A file of benchmarks/results that remembers the commits of the rows that a table took"""

    def __init__(self, file, name=None):
        self.file = file
        self.document = results.read(results.FOLDER / file)
        self.table = results.rows(self.document, name)
        self.commits = []

    def use(self, row):
        if row["commit"] not in self.commits:
            self.commits.append(row["commit"])
        return row

    def only(self, **wanted):
        return self.use(results.only(self.table, **wanted))

    def find(self, **wanted):
        """The row that has these values, or None"""
        return self.only(**wanted) if results.select(self.table, **wanted) else None

    def select(self, **wanted):
        return [self.use(row) for row in results.select(self.table, **wanted)]

    def machine(self):
        gpu, machine = self.document["gpu"], self.document["machine"]
        return machine if not gpu or machine.startswith("host with") else gpu

    def petsc(self):
        found = re.match(r"PETSc [\d.]+", self.document["petsc"] or "")
        return [found[0]] if found else []


def source(*used, note=""):
    """The paragraph below a table; files of the same machine and PETSc share a sentence"""
    sentences = {}
    for records in used:
        facts = [records.machine(), *records.petsc()]
        sentences.setdefault(", ".join(facts), []).append(records)
    texts = [note] if note else []
    for facts, group in sentences.items():
        commits = list(dict.fromkeys(commit for records in group for commit in records.commits))
        files = ", ".join(dict.fromkeys(f"`{records.file}`" for records in group))
        word = "commits" if len(commits) > 1 else "commit"
        texts.append(f"{facts[0].upper()}{facts[1:]}, {word} {', '.join(commits)}, {files}.")
    return textwrap.wrap(" ".join(texts), 100, break_long_words=False, break_on_hyphens=False)


def table(header, body, *used, note=""):
    """Lines of Markdown; text to the left, numbers to the right"""
    number = re.compile(r"[\d.,]+( %|x| s| ms| us)?$|$")
    right = [all(number.match(row[k]) for row in body) for k in range(len(header))]
    rule = "|" + "|".join("---:" if one else "---" for one in right) + "|"
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *body)]
    return [lines[0], rule, *lines[1:], "", *source(*used, note=note)]


def ms_per_sweep(row):
    return f"{row['ms_per_sweep']:.3f}"


def us_per_sweep(row):
    return f"{1e3 * row['ms_per_sweep']:.1f}"


def seconds(milliseconds):
    return f"{1e-3 * milliseconds:.2f} s"


def percent(share):
    return f"{100 * share:.0f} %"


def total(row):
    return row["ms_setup"] + row["ms_solve"]
