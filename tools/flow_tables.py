"""Tables of flows and of PETSc's programs; see table_makers.py."""

import re
from statistics import median

from record_tables import Records, table


def schedules():
    records = Records("amd-epyc-flow-schedules.json")
    meshes = ("wing", "triangles", "layers", "layers, coarse")
    wanted = {"jplf": "color"}
    wanted |= {f"wave {k}, natural": f"wave, {k} colors" for k in (16, 32)}
    wanted |= {"levels, natural": "level", "levels, natural, ilu0": "level, ilu0"}
    wanted |= {f"cluster {k}": f"cluster, {k} rows" for k in (32, 512)}
    wanted |= {"cluster 512, rcm": "the same, RCM order"}
    wanted |= {"cluster 32, ilu0": "cluster, 32 rows, ilu0"}
    wanted |= {"SOR": "`PCSOR`", "ILU(0)": "`PCILU`, no fill"}
    body = []
    for schedule, name in wanted.items():
        rows = [records.only(mesh=m, schedule=schedule, cfl=1000) for m in meshes]
        body.append([name] + [f"{row['mean']:.0f}" for row in rows])
    note = (
        "Mean linear iterations of three steps at CFL 1,000, FGMRES, one rank. mcpi: one symmetric"
    )
    note += " sweep of int8 blocks. The wing and triangles to 1e-4, the layers to 1e-2."
    return table(["Schedule", *meshes], body, records, note=note)


def flow_parts():
    records = Records("nvidia-h200-flow-parts.json")
    body = []
    for row in records.select(place="device"):
        cores = records.only(place="cores", part=row["part"])
        body.append(
            [row["part"], f"{row['ms']:.2f}", f"{cores['ms']:.1f}"]
            + [f"{cores['ms'] / row['ms']:.0f}x"]
        )
    threads = records.find(place="cores", part="Jacobian")["threads"]
    note = f"Milliseconds. ONERA M6, {records.table[0]['vertices']:,} vertices. The cores: "
    note += f"{threads} threads of the host."
    return table(["Part", "Device", "Cores", "Ratio"], body, records, note=note)


def example_schedules():
    records = Records("amd-epyc-example-schedules.json")
    places = list(dict.fromkeys((row["program"], row["ranks"]) for row in records.table))
    wanted = {name: name for name in ("color", "wave", "level", "cluster")}
    wanted["cluster, rcm"] = "cluster, RCM order"
    wanted |= {"SOR": "`PCSOR`", "BJACOBI": "`PCBJACOBI`, ILU(0)", "ASM": "`PCASM`, ILU(0)"}
    body, sizes = [], {}
    for schedule, name in wanted.items():
        cells = []
        for program, ranks in places:
            row = records.only(program=program, ranks=ranks, schedule=schedule)
            cells.append(str(row["iterations"]) if row["converged"] else "none")
            example = row["source"].removesuffix(".c").replace("/tutorials", "")
            sizes[program] = f"{program.capitalize()}: `{example}`, {row['rows']:,} block rows "
            sizes[program] += f"of size {row['bs']}"
        body.append([name, *cells])
    header = ["Schedule"]
    header += [f"{program}, {ranks} rank{'s' * (ranks > 1)}" for program, ranks in places]
    note = "Linear iterations, summed over the nonlinear ones, FGMRES, one symmetric sweep of fp32 "
    note += "blocks. " + ". ".join(sizes.values()) + "."
    return table(header, body, records, note=note)


def multigrid():
    records = Records("amd-epyc-multigrid.json")
    sizes = list(dict.fromkeys(row["ne"] for row in records.table))
    body = []
    for smoother, method in dict.fromkeys((r["smoother"], r["method"]) for r in records.table):
        cells = [f"{smoother}, {method.capitalize()}"]
        for size in sizes:
            row = records.only(ne=size, smoother=smoother, method=method)
            good = row["converged"]
            cells += [str(row["iterations"]), f"{row['cpu_seconds']:.2f}"] if good else ["none", ""]
        body.append(cells)
    header = ["Smoother"]
    for size in sizes:
        header += [f"`-ne {size}`: iterations", "CPU s"]
    note = "`ksp/ex56` with `PCGAMG`, CG to 1e-8, one rank. CPU seconds of the whole program, the "
    note += "least of the turns."
    return table(header, body, records, note=note)


def flow_seconds(file):
    """Whole runs by the way to solve: steps, iterations, and what took how long"""
    records = Records(file)
    parts = ("setup", "solves", "residuals", "jacobians", "rest")
    body = []
    for row in records.select():
        if "seconds" not in row:
            body.append([row["method"], row["end"]] + [""] * 9)
            continue
        times = [row.get(f"seconds_{part}") for part in parts]
        body.append(
            [row["method"], row["end"], f"{row['residual']:.0e}", str(row["steps"])]
            + [f"{row['linear_iterations']:,}"]
            + ["" if time is None else f"{time:.2f}" for time in times]
            + [f"{row['seconds']:.1f}"]
        )
    header = ["Way to solve", "End", "Residual", "Steps", "Linear iterations", "Set-up"]
    header += ["Linear solves", "Residuals", "Jacobians", "The rest", "Run"]
    place = "the device" if records.table[0]["device"] else "one core"
    sizes = [f", {row['vertices']:,} vertices" for row in records.table if "vertices" in row]
    note = f"Seconds on {place}. ONERA M6{''.join(sizes[:1])}."
    return table(header, body, records, note=note)


def flow_seconds_cpu():
    return flow_seconds("amd-epyc-flow-solver-seconds.json")


def flow_seconds_gpu():
    return flow_seconds("nvidia-h200-flow-solver-seconds.json")


def flow_gpus():
    """Whole runs on one and several GPUs"""
    records = Records("nvidia-h200-flow-gpus.json")
    body = []
    for row in records.select():
        parts = ("setup", "solves", "residuals", "jacobians")
        body.append(
            [f"{row['vertices']:,}", str(row["gpus"]), str(row["steps"])]
            + [f"{row['linear_iterations']:,}"]
            + [f"{row[f'seconds_{part}']:.2f}" for part in parts]
            + [f"{row['seconds']:.1f}", str(row["seconds_with_mesh"])]
        )
    header = ["Vertices", "GPUs", "Steps", "Linear iterations", "Set-up", "Linear solves"]
    header += ["Residuals", "Jacobians", "Run", "With the mesh"]
    return table(header, body, records, note="Seconds.")


def sweeps_in(options):
    """The number of sweeps of an application"""
    return int(re.search(r"pc_mcpi_its (\d+)", options)[1])


def schedule_of(options):
    """The schedule of sweeps in words; empty for colors"""
    if found := re.search(r"cluster_rows (\d+)", options):
        return f"clusters of {found[1]} rows"
    return "waves" if "schedule wave" in options else ""


def sweeps_of(options):
    """The sweeps of an application in words"""
    schedule = schedule_of(options)
    text = f"{sweeps_in(options)} {'by ' + schedule if schedule else 'forward'}"
    for name, words in (("omega", "omega {}"), ("coloring_wave_colors", "{} colors")):
        if found := re.search(rf"{name} (\S+)", options):
            text += ", " + words.format(found[1])
    return text + (", dilu" if "method dilu" in options else "")


def milliseconds(row):
    """Set-up and solution, the median of turns"""
    return median(a + b for a, b in zip(row["turns_ms_setup"], row["turns_ms_solve"]))


def turns_table(records, rows, place_of, names, digits):
    """Linear systems by the sweeps of an application. place_of: the column of a row. names: the
    columns in their order, with headings. digits: after the point
    """
    body = {}
    for row in rows:
        cells = body.setdefault(sweeps_of(row["options"]), {})
        cells[place_of(row)] = f"{milliseconds(row):.{digits}f} ({row['iterations']})"
    lines = [[name, *(cells.get(place, "") for place in names)] for name, cells in body.items()]
    products = all("block_product" in row["options"] for row in rows)
    note = "Milliseconds of set-up and solution to 1e-2 (FGMRES iterations), int8 blocks, rounded "
    note += f"gathers, {'block product, ' * products}{rows[0]['vertices']:,} vertices."
    return table(["Sweeps of an application", *names.values()], lines, records, note=note)


def flow_turns():
    """One linear system: set-up and solution, medians of turns, with and without block products"""
    records = Records("nvidia-h200-flow-schedules.json")
    names = {
        (cfl, product): f"CFL {cfl:,}{', block product' * product}"
        for cfl in (1000, 10000)
        for product in (False, True)
    }
    rows = list(records.select(commit="94d39d5"))
    return turns_table(
        records, rows, lambda row: (row["cfl"], "block_product" in row["options"]), names, 1
    )


def small_clusters():
    """One linear system by small clusters, by two commits"""
    records = Records("nvidia-h200-flow-schedules.json")
    commits = ("203d207", "b8aee32")
    names = {
        (cfl, commit): f"CFL {cfl:,}, {commit}" for cfl in (1000, 10000) for commit in commits
    }
    rows = [row for commit in commits for row in records.select(commit=commit)]
    return turns_table(records, rows, lambda row: (row["cfl"], row["commit"]), names, 2)


def gram_schmidt():
    """One linear system by both ways of orthogonalization"""
    records = Records("nvidia-h200-flow-schedules.json")
    names = {
        (cfl, way): f"CFL {cfl:,}, {way}"
        for cfl in (1000, 10000)
        for way in ("modified", "several")
    }
    rows = list(records.select(commit="9adf0cb"))

    def place_of(row):
        modified = "orthogonalization mgs" in row["options"]
        return row["cfl"], "modified" if modified else "several"

    return turns_table(records, rows, place_of, names, 2)


def flow_clusters():
    """Linear systems by the size of clusters"""
    records = Records("nvidia-h200-flow-clusters.json")
    columns = [("wing", 1000, its) for its in (4, 8, 16)]
    columns += [("wing", 10000, its) for its in (4, 8, 16)]
    columns += [("layers", 1000, its) for its in (4, 8)]
    body, vertices = {}, {}
    for row in records.select():
        name = schedule_of(row["options"]) + ", fp32" * row["options"].endswith("fp32")
        its = sweeps_in(row["options"])
        cell = f"{milliseconds(row):.1f} ({row['iterations']})"
        body.setdefault(name, {})[row["mesh"], int(row["cfl"]), its] = cell
        vertices[row["mesh"]] = f"{row['vertices']:,}"
    header = ["Sweeps by"] + [f"{mesh}, CFL {cfl:,}, {its}" for mesh, cfl, its in columns]
    lines = [[name, *(cells.get(key, "") for key in columns)] for name, cells in body.items()]
    note = "Milliseconds of set-up and solution to 1e-2 (FGMRES iterations), rounded gathers, int8 "
    note += "blocks if not said otherwise. 4, 8, 16: symmetric sweeps of an application. Vertices: "
    note += ", ".join(f"{mesh} {number}" for mesh, number in vertices.items()) + "."
    return table(header, lines, records, note=note)


def block_product():
    """An iteration of FGMRES by both products"""
    records = Records("nvidia-h200-block-product.json")
    body = [
        [row["mesh"], "block product" if row["block_product"] else "cuSPARSE"]
        + [f"{row[f'ms_{part}']:.2f}" for part in ("matmult", "pcapply", "rest", "iteration")]
        for row in records.select()
    ]
    header = ["Mesh", "Product by", "Product", "PCApply()", "The rest", "Iteration"]
    row = records.table[0]
    note = f"Milliseconds of an FGMRES iteration, {row['rows']:,} rows, block size {row['bs']}, "
    note += f"{row['precision']} blocks, {row['its']} sweeps."
    return table(header, body, records, note=note)


def numbers_of(row):
    """The numbers that were given to Gmsh"""
    return row["mesh"].split(" -2 ")[1].replace("-setnumber ", "")


def viscous_plate():
    records = Records("amd-epyc-flow-viscous.json")
    rows = [records.use(row) for row in records.table if "friction" in row]
    body = []
    for row in rows:
        pairs = zip(row["friction"], row["deviation_percent"])
        body.append(
            [numbers_of(row), f"{row['vertices']:,}", str(row["steps"]), f"{row['seconds']:.0f} s"]
            + [f"{friction:.3f} ({deviation:+.1f} %)" for friction, deviation in pairs]
        )
    header = ["Mesh", "Vertices", "Steps", "Run"] + [f"x = {x:g}" for x in rows[0]["x"]]
    note = (
        "Plate at Reynolds number 10,000 by length 1, Mach 0.3. Coefficient of friction times the "
    )
    note += "root of the local Reynolds number, in brackets its difference from 0.664 (Blasius)."
    return table(header, body, records, note=note)


def viscous_airfoil():
    records = Records("amd-epyc-flow-viscous.json")
    body = []
    for row in records.table:
        if "drag_friction" not in row:
            continue
        records.use(row)
        forces = [row[key] for key in ("lift", "drag", "drag_pressure", "drag_friction")]
        sign_at = row["friction_changes_sign_at"]
        body.append(
            [numbers_of(row), f"{row['vertices']:,}", str(row["steps"]), f"{row['seconds']:.0f} s"]
            + [f"{round(force, 4) + 0.0:.4f}" for force in forces]
            + ["nowhere" if sign_at is None else f"{sign_at:.2f}"]
        )
    header = ["Mesh", "Vertices", "Steps", "Run", "Lift", "Drag", "By pressure", "By friction"]
    header += ["Friction changes its sign at x"]
    note = "NACA 0012 at Mach 0.5, 0 degrees, Reynolds number 5,000, `-flow_limiter` 50."
    return table(header, body, records, note=note)
