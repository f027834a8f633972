"""Settings chosen by the preconditioner beside PETSc's and beside a search, on many systems.

Usage: choice_runs.py BUILD SYSTEMS OUT.json [--ranks N] [--gpu] [--repeat N] [NAME ...]
SYSTEMS is the folder of choice_systems.py. NAMES: of systems, instead of all. With --gpu the
matrices are AIJCUSPARSE. On one CPU rank CPU seconds are measured, since other programs may run.
Runs BUILD/benchmarks/benchmark_choice for each system: once with all settings, then with PETSc's,
the bare options and the fastest of each method alone, whose medians are recorded. Of nine set-ups
with new values two are followed by trials of sweeps, which medians leave out.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import results as records  # noqa: E402
from choice_systems import SYMMETRIC  # noqa: E402
from choice_tables import BARE, CG, FLEXIBLE, milliseconds  # noqa: E402
from flow_program import run_command  # noqa: E402

ALONE = [BARE, FLEXIBLE + BARE]
PEERS = ["", "-pc_type sor", *ALONE, *[f"{alone} -pc_mcpi_tune" for alone in ALONE]]
PEERS_OF_SYMMETRIC = [CG + "-pc_type bjacobi -sub_pc_type icc", CG + "-pc_type sor", CG + BARE]


def searched(method, schedules, sweeps, storages):
    return [
        f"{method}{BARE} -pc_mcpi_schedule {schedule} -pc_mcpi_its {its} "
        f"-pc_mcpi_offdiag_precision {storage}"
        for schedule in schedules
        for its in sweeps
        for storage in storages
    ]


def settings_for(gpu, ranks):
    """Lists of options for all systems, and those that symmetric systems have beside them"""
    on_cpu = ["cluster"] if ranks > 1 else ["level", "cluster"]
    few = ["color", "wave", "cluster"] if gpu else on_cpu
    sweeps = [4, 8, 12, 16, 24] if gpu else [1, 2, 4, 8, 16]
    factors = f"{BARE} -pc_mcpi_schedule {few[-1 if ranks > 1 else 0]} -pc_mcpi_method ilu0"
    every = PEERS + [
        *searched("", few[:2], sweeps, ["int8"] if gpu else ["fp32"]),
        *searched(FLEXIBLE, few, sweeps, ["int8" if gpu else "fp32"]),
        *searched(FLEXIBLE, few[:1], (4, 8, 16), [] if gpu else ["int8"]),
        *[f"{factors} -pc_mcpi_its {its}" for its in (1, 2)],
    ]
    if gpu:
        every.append(f"{FLEXIBLE}{BARE} -pc_mcpi_block_product -pc_mcpi_gram_schmidt")
    return every, PEERS_OF_SYMMETRIC + searched(CG, few, (1, 2, 4), ["fp32"])


def run_system(arguments, path, settings, repeat):
    """The document of one run of benchmark_choice"""
    with tempfile.TemporaryDirectory() as folder:
        lists, out = Path(folder) / "settings.txt", Path(folder) / "out.json"
        lists.write_text("\n".join(settings) + "\n", encoding="utf-8")
        where = "-mat_type aijcusparse -use_gpu_aware_mpi 0" if arguments.gpu else ""
        clock = "-cpu" if arguments.ranks == 1 and not arguments.gpu else ""
        command = [
            *(["mpiexec", "-n", str(arguments.ranks)] if arguments.ranks > 1 else []),
            str(arguments.build / "benchmarks/benchmark_choice"),
            *f"-systems {path} -settings {lists} -json {out} {where} {clock}".split(),
            *f"-repeat {repeat} -seconds {arguments.seconds}".split(),
        ]
        print(run_command(command), flush=True)
        return json.loads(out.read_text(encoding="utf-8"))


def finalists(rows, settings):
    """PETSc's settings, the bare options, and the three fastest of each method"""
    chosen = set(PEERS + PEERS_OF_SYMMETRIC)
    for method in ("", FLEXIBLE, CG):
        timed = [row for row in rows if row["options"].startswith(method + BARE)]
        timed = [row for row in timed if milliseconds(row) is not None]
        chosen |= {row["options"] for row in sorted(timed, key=milliseconds)[:3]}
    return [options for options in settings if options in chosen and "tune" not in options]


def measure(arguments, path, settings):
    """The document of a system"""
    document = run_system(arguments, path, settings, 1)
    rows = document["records"][0]["rows"]
    last = finalists(rows, settings)
    turns = [run_system(arguments, path, last, arguments.repeat) for _ in range(arguments.turns)]
    for row in rows:
        again = [
            other
            for turn in turns
            for other in turn["records"][0]["rows"]
            if other["options"] == row["options"]
        ]
        for key in ("ms_first", "ms_new_values", "ms_solution"):
            if again:
                row[key] = median(other[key] for other in again)
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=lambda path: Path(path).resolve())
    parser.add_argument("systems", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--commit", default="")
    arguments = parser.parse_intermixed_args()
    every, of_symmetric = settings_for(arguments.gpu, arguments.ranks)
    document = None
    for path in sorted(arguments.systems.glob("*.bin")):
        if arguments.names and path.stem not in arguments.names:
            continue
        more = of_symmetric if path.stem in SYMMETRIC else []
        found = measure(arguments, path.resolve(), every + more)
        for row in found["records"][0]["rows"]:
            row["symmetric"] = row["options"] in more
        if document:
            document["records"][0]["rows"] += found["records"][0]["rows"]
        else:
            document = found
            document["records"][0]["commit"] = arguments.commit or records.checkout()
            document["records"][0]["command"] = " ".join(["choice_runs.py", *sys.argv[1:]])
        records.write(arguments.out, document)


if __name__ == "__main__":
    main()
