"""Whole runs of one case of examples/flow by many solvers: flow_runs.py solvers.

Reading a mesh may take ten times as long as a run. So several programs read it together. Each is
paused when it has its mesh, and then goes on alone: runs never overlap.
"""

import os
import re
import signal
import subprocess
import threading
import time
from itertools import product
from math import inf
from shlex import quote

import results as records
from flow_program import DEVICE, ENVIRONMENT, PARTS, THEIRS, WING
from flow_program import error_of, flow_command, history_of, make_mesh, petsc_version
from flow_program import record_of, steps_of

MCPI = "-ksp_type fgmres -pc_type mcpi"
STATIONARY = "-ksp_type preonly -pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_vector_precision fp32"
STORAGES = ("fp64", "fp32", "fp16", "int8", "int4")
MESH_READ = re.compile(r"\d+ dimensions, \d+ vertices")
FIRST_LINE = re.compile(r"\s*step\s+CFL")
LONGEST_SETUP = 600  # seconds between the mesh and the first line of a run
LAST_LINES = 10  # seconds for the last lines of a program, whose child may keep the pipe open
TOLERANCE = 0.3  # seconds between our clock and the program's, which has one digit


def storage_ways(device):
    """FGMRES with mcpi in each storage; on a device with rounded gathers, which FGMRES allows"""
    ways = {}
    for storage in STORAGES:
        sweeps = "-pc_mcpi_sweep forward -pc_mcpi_its 25" if device else "-pc_mcpi_its 4"
        options = f"{MCPI} {sweeps} -pc_mcpi_offdiag_precision {storage}"
        if device and storage != "fp64":
            options += " -pc_mcpi_gather_precision bfp16"
        ways[f"mcpi, {storage}"] = options
    if device:
        ways["mcpi, int8, block product"] = ways["mcpi, int8"] + " -pc_mcpi_block_product"
    return ways


def schedule_ways(device):
    """FGMRES with int8 blocks by each schedule, symmetric sweeps"""
    ways = {}
    for schedule, its in (("wave", 12), ("cluster", 12), ("level", 6)):
        options = f"{MCPI} -pc_mcpi_offdiag_precision int8 -pc_mcpi_schedule {schedule}"
        options += f" -pc_mcpi_its {its if device else 4}"
        if device:
            options += " -pc_mcpi_gather_precision bfp16"
        ways[f"mcpi, int8, {schedule}"] = options
    return ways


def stationary_ways():
    """Sweeps without a Krylov method, as many in every step"""
    ways = {}
    for its in (15, 40):
        for storage, restart in (("fp32", 0), ("int8", 5)):
            options = f"{STATIONARY} -pc_mcpi_its {its} -pc_mcpi_offdiag_precision {storage}"
            name = f"stationary, {its} sweeps, {storage}"
            if restart:
                options += f" -pc_mcpi_restart {restart}"
                name += f", restart {restart}"
            ways[name] = options
    return ways


def their_ways(device):
    """PETSc's preconditioners; on a device ILU(0) is cuSPARSE's"""
    ways = dict(THEIRS)
    if device:
        for name in ("bjacobi, ilu(0)", "asm, ilu(0)"):
            ways[name] += " -sub_pc_factor_mat_solver_type cusparse"
    return ways


def ways_to_solve(device):
    """Options by name"""
    return storage_ways(device) | schedule_ways(device) | stationary_ways() | their_ways(device)


class Run:
    """A program on one rank, which stops when it has read its mesh, unless it is to run at once"""

    def __init__(self, command, pause):
        self.pause, self.lines, self.read = pause, [], threading.Event()
        self.paused = self.continued = None
        options = {"stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
        options |= {"errors": "replace", "env": {**os.environ, **ENVIRONMENT}}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, start_new_session=True, **options
        )
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line))
            if MESH_READ.match(line):
                if self.pause:
                    self.paused = time.monotonic()
                    self.process.send_signal(signal.SIGSTOP)
                self.read.set()
        self.read.set()

    def wait_for_mesh(self):
        while not self.read.wait(1) and self.process.poll() is None:
            pass

    def go_on(self, limit):
        """Runs to the end, or for limit seconds from its first line. True: it ended in time"""
        in_time = True
        self.continued = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        end = self.continued + LONGEST_SETUP
        while self.process.poll() is None:
            begin = self.begin()
            if in_time and begin:
                end = begin + limit
            if time.monotonic() > end and in_time and begin:
                self.process.send_signal(signal.SIGINT)  # the program stops after this step
                in_time, end = False, end + max(60, limit)
            elif time.monotonic() > end:
                in_time = False
                self.process.kill()
            time.sleep(0.02)
        self.reader.join(LAST_LINES)
        return in_time

    def begin(self):
        """When the run began by our clock, or None"""
        return next((when for when, line in self.lines if FIRST_LINE.match(line)), None)

    def output(self):
        return "".join(line for _, line in self.lines)

    def seconds(self):
        """After each step, by our clock"""
        begin = self.begin()
        return [round(when - begin, 3) for when, line in self.lines if steps_of(line)]

    def was_paused_inside(self):
        """Whether the pause is part of the run's time: it would have to be repeated"""
        begin = self.begin()
        if self.paused is None or begin is None:
            return False
        theirs = history_of(steps_of(self.output()))["history_seconds"]
        apart = (abs(a - b) for a, b in zip(self.seconds(), theirs))
        return begin < self.continued or any(difference > TOLERANCE for difference in apart)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.reader.join(LAST_LINES)
        self.process.wait()


def row_of(run, options, in_time):
    """A row for benchmarks/results; of a run that failed its last words"""
    output = run.output()
    steps = steps_of(output)
    failed = in_time and not PARTS.search(output)
    row = record_of(output, steps, options) if steps else {"options": options}
    if not in_time:
        row["end"] = "time limit"
    if failed:
        row |= {"end": "failed", "error": error_of(output)}
    if steps:
        row |= history_of(steps) | {"history_seconds": run.seconds()}
    return row


def show(row):
    what = f"{row['end']}"
    if "seconds" in row:
        what += f", {row['steps']} steps, {row['linear_iterations']} iterations"
        what += f", {row['seconds']} s, residual {row['residual']:.1e}"
    print(f"{row['method']:40} {what} {row.get('error', '')}", flush=True)


def run_together(commands, limit):
    """Programs that read their meshes together and run one by one: their runs, in order"""
    runs = [Run(command, pause=len(commands) > 1) for command in commands]
    try:
        for run in runs:
            run.wait_for_mesh()
        for run in runs:
            in_time = run.go_on(limit)
            if run.was_paused_inside():
                print("The pause fell into the run, which is repeated.", flush=True)
                yield from run_together([run.process.args], limit)
            else:
                yield run, in_time
    finally:
        for run in runs:
            run.end()


def merit(row):
    """Less is better: runs that converged first, then seconds"""
    return row["end"] != "converged", row.get("seconds", inf)


def run_solvers(arguments, folder):
    """Runs of the wing by every way to solve. The file is written after each. Of several turns it
    has the fastest run of each way, one that converged if there is one"""
    ways = ways_to_solve(arguments.device)
    names = [name for name in ways if re.search(arguments.only, name)]
    size = f"-3 -setnumber size {arguments.size}"
    mesh = arguments.mesh or make_mesh("m6", size, folder)
    types = DEVICE if arguments.device else "-dm_mat_type baij"
    more = f"{WING} -flow_rtol {arguments.rtol} {arguments.more}".strip()
    case = {"case": "ONERA M6", "mesh": mesh.name if arguments.mesh else f"m6.geo {size}"}
    case |= {"device": arguments.device, "ranks": 1}
    gpu = gpu_name() if arguments.device else None
    about = (command_of(arguments), arguments.commit, petsc_version(arguments.build), gpu)
    rows = {}
    for turn, first in product(range(arguments.turns), range(0, len(names), arguments.together)):
        batch = names[first : first + arguments.together]
        options = [f"{more} {ways[name]}" for name in batch]
        commands = [flow_command(arguments.build, mesh, each, types) for each in options]
        runs = run_together(commands, arguments.limit)
        for (run, in_time), name, each in zip(runs, batch, options):
            row = case | {"method": name} | row_of(run, each, in_time)
            show(row)
            if turn == 0 or merit(row) < merit(rows[name]):
                rows[name] = row
            document = records.new("flow solvers", list(rows.values()), *about)
            records.write(arguments.json, document)


def command_of(arguments):
    """What anyone can run, with --build, --json and, of a mesh that was given, its file"""
    command = f"flow_runs.py solvers --rtol {arguments.rtol} --limit {arguments.limit:g}"
    command += f" --together {arguments.together} --turns {arguments.turns}"
    mesh = arguments.mesh
    command += f" --mesh {quote(mesh.name)}" if mesh else f" --size {arguments.size}"
    command += " --device" * arguments.device
    command += f" --only {quote(arguments.only)}" if arguments.only else ""
    return command + (f" --more {quote(arguments.more)}" if arguments.more else "")


def gpu_name():
    """The model of the first GPU, or nothing"""
    try:
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        return found.stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""
