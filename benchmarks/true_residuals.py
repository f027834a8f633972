#!/usr/bin/env python3
"""Record the tables of `true_residuals -table` in benchmarks/results.

Usage: benchmarks/true_residuals.py FILE.json --petsc VERSION [--gpu NAME] [--machine NAME]
           [--commit HASH] RANKS=OUTPUT [RANKS=OUTPUT ...]

OUTPUT is a file with what the program printed on so many RANKS. Its command is
`mpiexec -n RANKS true_residuals -table`, with `-test_backend cuda` on a GPU.
"""
import argparse
import re

import results

CELL = re.compile(r"(\S+) \((\d+)\)( not converged)?$")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_of(text, ranks):
    """A row for each method, tolerance and preconditioner"""
    options, columns = None, None
    for line in text.splitlines():
        if line.startswith("| method |"):
            columns = [column.split(", ") for column in cells(line)[1:]]
        elif line.startswith("|---"):
            continue
        elif line.startswith("|") and columns:
            method, *found = cells(line)
            for (rtol, pc), cell in zip(columns, found):
                residual, iterations, failed = CELL.match(cell).groups()
                yield {
                    "ranks": ranks,
                    "options": options,
                    "method": method,
                    "rtol": float(rtol),
                    "pc": pc,
                    "true_residual": float(residual),
                    "iterations": int(iterations),
                    "converged": not failed,
                }
        elif line == "All defaults":
            options = "defaults"
        elif re.fullmatch(r"(fp|bf|int)\d+", line):
            options = f"-pc_mcpi_offdiag_precision {line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--petsc", required=True)
    parser.add_argument("--gpu")
    parser.add_argument("--machine", default=results.processor())
    parser.add_argument("--commit", default=results.checkout())
    parser.add_argument("outputs", nargs="+", metavar="RANKS=OUTPUT")
    given = parser.parse_args()
    backend = " -test_backend cuda" if given.gpu else ""
    records = []
    for output in given.outputs:
        ranks, path = output.split("=", 1)
        with open(path, encoding="utf-8") as file:
            rows = list(rows_of(file.read(), int(ranks)))
        command = f"mpiexec -n {ranks} true_residuals{backend} -table"
        records.append(
            {"commit": given.commit, "command": command, "name": f"ranks_{ranks}", "rows": rows}
        )
    document = results.new("true_residuals", [], "", petsc=given.petsc, gpu=given.gpu)
    results.write(given.file, {**document, "machine": given.machine, "records": records})


if __name__ == "__main__":
    main()
