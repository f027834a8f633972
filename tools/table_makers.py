"""The tables of README.md and docs/*.md, made from the records in benchmarks/results.

MAKERS maps the name of a marker to a function that returns the lines of its table. Tables of flows
and of PETSc's programs stand in flow_tables.py.
"""

import re

import choice_tables
import flow_tables
from record_tables import Records, ms_per_sweep, percent, results, seconds, table, total
from record_tables import us_per_sweep

MESHES = {"tet": "tetrahedra", "mix": "tetrahedra and random edges"}
STORAGES = ["fp64", "fp32", "fp16", "int8", "int4"]


def readme():
    sweeps = Records("nvidia-h200-sweep-mix.json", "sweeps")
    peers = Records("nvidia-h200-peers.json")
    host = Records("amd-epyc-host-1.json", "sweeps")
    flow = Records("nvidia-h200-flow-solvers.json")
    library = peers.only(implementation="cuSPARSE bsrmv + cuBLAS trsmBatched, FP32")["ms_per_sweep"]
    body = []
    for storage in ("fp32", "int8", "int4"):
        ms = sweeps.only(precision=storage, gather="fp32")["ms_per_sweep"]
        what = f"sweep of 1,124,864 block rows, {storage} blocks"
        body.append(
            [what, "H200", f"{ms:.3f} ms", "cuSPARSE and cuBLAS", f"{library:.2f} ms"]
            + [f"{library / ms:.1f}x"]
        )
    for storage in ("fp32", "int8"):
        row = host.only(bs=5, precision=storage)
        what = f"sweep of 216,000 block rows, {storage} blocks"
        body.append(
            [what, "one CPU core", f"{row['ms_per_sweep']:.1f} ms", "PCSOR"]
            + [f"{row['sor_ms_per_sweep']:.1f} ms", f"{row['speedup_over_sor']:.1f}x"]
        )
    ours, theirs = best_of_flow(flow, 1000)
    what = f"wing without boundary-layer cells, CFL 1,000, {theirs['vertices']:,} vertices"
    solver = " with ".join(re.findall(r"(?:ksp|pc)_type (\w+)", theirs["options"]))
    body.append(
        [what, "H200", f"{total(ours):.0f} ms", f"{solver}, the fastest of PETSc"]
        + [f"{total(theirs):.0f} ms", f"{total(theirs) / total(ours):.0f}x"]
    )
    note = (
        "Forward sweeps, block size 5. The last row is one linear system, set-up and solution "
        "together."
    )
    header = ["What", "Device", "mcpi", "Compared with", "Its time", "Ratio"]
    return table(header, body, sweeps, peers, flow, host, note=note)


def best_of_flow(records, cfl):
    """The fastest converged solver with mcpi, and without"""
    rows = [row for row in results.select(records.table, cfl=cfl) if row["converged"]]
    ours = min((row for row in rows if "mcpi" in row["options"]), key=total)
    theirs = min((row for row in rows if "mcpi" not in row["options"]), key=total)
    return records.use(ours), records.use(theirs)


def host():
    one, two = (Records(f"amd-epyc-host-{ranks}.json", "sweeps") for ranks in (1, 2))
    cases = [(bs, storage) for bs in (1, 4, 8) for storage in ("fp32", "int8")]
    cases += [(5, storage) for storage in STORAGES]
    body = []
    for bs, storage in sorted(cases, key=lambda case: case[0]):
        row, pair = (records.only(bs=bs, precision=storage) for records in (one, two))
        body.append(
            [str(bs), storage, f"{row['ms_per_sweep']:.1f}", f"{row['sor_ms_per_sweep']:.1f}"]
            + [f"{row['speedup_over_sor']:.2f}x", percent(row["share_of_read_bandwidth"])]
            + [f"{pair['ms_per_sweep']:.1f}", f"{pair['speedup_over_sor']:.2f}x"]
        )
    header = ["Block size", "Storage", "1 rank: ms per sweep", "PCSOR, ms", "PCSOR / mcpi"]
    header += ["Share of read bandwidth", "2 ranks: ms per sweep", "PCSOR / mcpi"]
    note = f"{one.table[0]['rows']:,} block rows of a tetrahedral mesh, forward sweeps."
    return table(header, body, one, two, note=note)


def cpu_schedules():
    records = Records("intel-xeon-host-clusters.json", "sweeps")
    cases = dict.fromkeys((row["mesh"], row["rows"], row["schedule"]) for row in records.table)
    body = []
    for mesh, rows, schedule in cases:
        cells = []
        for storage in ("fp32", "int8"):
            turns = records.select(mesh=mesh, rows=rows, schedule=schedule, precision=storage)
            row = min(turns, key=lambda row: row["ms_per_sweep"])
            cells += [f"{row['ms_per_sweep']:.1f}", f"{row['speedup_over_sor']:.2f}"]
            cells.append(percent(row["share_of_read_bandwidth"]))
        body.append([mesh, f"{rows:,}", schedule, *cells])
    header = ["Mesh", "Rows", "Schedule"]
    for storage in ("fp32", "int8"):
        header += [f"{storage}: ms", "PCSOR / mcpi", "Share of read"]
    note = (
        "Symmetric sweeps, block size 5, one core. With 216,000 rows, the fastest of three runs in "
        "turns. PCSOR takes a forward sweep in the same run."
    )
    return table(header, body, records, note=note)


def sweep_h200():
    mix, tet = (Records(f"nvidia-h200-sweep-{mesh}.json", "sweeps") for mesh in ("mix", "tet"))
    peers = Records("nvidia-h200-peers.json")
    library, walden = (
        next(peers.use(row) for row in peers.table if name in row["implementation"])["ms_per_sweep"]
        for name in ("cuSPARSE", "Walden")
    )
    body = []
    for row in mix.select():
        wanted = {"precision": row["precision"], "gather": row["gather"]}
        other = tet.only(**wanted)
        ms = row["ms_per_sweep"]
        body.append(
            [row["precision"], row["gather"], f"{ms:.3f}", percent(row["share_of_read_bandwidth"])]
            + [f"{library / ms:.1f}x", f"{walden / ms:.1f}x", f"{other['ms_per_sweep']:.3f}"]
            + [percent(other["share_of_read_bandwidth"])]
        )
    header = ["Storage", "Gathers of `x`", "`mix`: ms per sweep", "Share of read bandwidth"]
    header += ["Against cuSPARSE and cuBLAS", "Against Walden et al. 2019"]
    header += ["`tet`: ms per sweep", "Share of read bandwidth"]
    note = (
        f"{mix.table[0]['rows']:,} block rows of size 5, forward sweeps. `tet`: {MESHES['tet']}. "
        f"`mix`: {MESHES['mix']}, {mix.table[0]['blocks']:,} off-diagonal blocks. The other "
        f"implementations ran on `mix`, the library in {library:.2f} ms."
    )
    return table(header, body, mix, tet, peers, note=note)


def block_sizes_h200():
    small = Records("nvidia-h200-sweep-block-sizes.json")
    five = Records("nvidia-h200-sweep-mix.json", "sweeps")
    large = Records("nvidia-h200-sweep-large-blocks.json")
    body = []
    for bs in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64):
        records = five if bs == 5 else small if bs <= 8 else large
        rows = {
            storage: records.only(bs=bs, precision=storage, gather="fp32")
            for storage in ("fp32", "fp16", "int8", "int4")
        }
        ms = {storage: ms_per_sweep(row) for storage, row in rows.items()}
        shares = {storage: percent(row["share_of_read_bandwidth"]) for storage, row in rows.items()}
        body.append(
            [str(bs), f"{rows['fp32']['rows']:,}", ms["fp32"], shares["fp32"], ms["fp16"]]
            + [shares["fp16"], ms["int8"], ms["int4"]]
        )
    header = ["Block size", "Block rows", "fp32: ms per sweep", "Share of read bandwidth"]
    header += ["fp16: ms", "Share of read bandwidth", "int8: ms", "int4: ms"]
    note = f"Mesh `mix` ({MESHES['mix']}), fp32 gathers, forward sweeps."
    return table(header, body, small, five, large, note=note)


def scaling_row(records, storage, gather, rows_of, label, weak):
    """A line of scaling_h200(): the time by the number of GPUs, beside one GPU"""
    wanted = {"precision": storage, "gather": gather, "overlap": True, "frequency": "color"}
    best = {}
    for gpus in (1, 2, 4, 8):
        wanted["halo"] = "none" if gpus == 1 else "peer"
        found = results.select(records.table, ranks=gpus, rows=rows_of[gpus], **wanted)
        if found:
            best[gpus] = records.use(found[0])
    per_row = {gpus: row["ms_per_sweep"] / row["rows"] * gpus for gpus, row in best.items()}
    cells = []
    for gpus in (1, 2, 4, 8):
        if gpus not in best:
            cells.append("not measured")
            continue
        ms = best[gpus]["ms_per_sweep"]
        ratio = percent(per_row[1] / per_row[gpus]) if weak else ""
        ratio = ratio or f"{best[1]['ms_per_sweep'] / ms:.2f}x"
        cells.append(f"{ms:.3f}" + (f" ({ratio})" if gpus > 1 else ""))
    return [label, storage, gather, *cells]


def scaling_h200():
    boxes = Records("nvidia-h200-scaling.json")
    curve = Records("nvidia-h200-scaling-gathers.json")
    curve.table = results.select(curve.table, commit="8c02467")
    million, four = 1124864, 4492125
    grown = {1: million, 2: 2248091, 4: four, 8: 8998912}
    body = []
    for rows_of, label, weak in (
        (dict.fromkeys(grown, million), f"{million:,} in all", False),
        (dict.fromkeys(grown, four), f"{four:,} in all", False),
        (grown, f"{million:,} on each GPU", True),
    ):
        for storage in ("fp32", "int4"):
            body.append(scaling_row(boxes, storage, "bfp16", rows_of, label, weak))
        if rows_of[1] == million:
            body.append(scaling_row(curve, "fp32", "fp32", rows_of, label, weak))
    header = ["Block rows", "Storage", "Gathers of `x`", "1 GPU: ms per sweep", "2 GPUs"]
    header += ["4 GPUs", "8 GPUs"]
    note = (
        "Mesh `tet`, block size 5, 7 colors, exchange after every color by `-pc_mcpi_halo peer`. In "
        "brackets: speed over one GPU, or the share of its speed for the same block rows on each."
    )
    return table(header, body, boxes, curve, note=note)


def setup_h200():
    records = Records("nvidia-h200-setup.json", "setup")
    body = []
    for row in records.select():
        if row["precision"] not in ("fp32", "int4"):
            continue
        copies = row.get("refresh_over_pinned_copy")
        body.append(
            ["BAIJ on the host" if row["matrix"] == "baij" else "AIJCUSPARSE", row["precision"]]
            + [seconds(row["ms_setup_first"]), seconds(row["ms_coloring"])]
            + [seconds(row["ms_symbolic"] - row["ms_coloring"]), f"{row['ms_refresh']:.2f} ms"]
            + [f"{row['refresh_in_sweeps']:.1f}", f"{copies:.2f}" if copies else "on the device"]
        )
    header = ["Matrix", "Storage", "First set-up", "Coloring", "Ordering and plan", "New values"]
    header += ["New values, in sweeps", "In copies from pinned memory"]
    first = records.table[0]
    note = f"Mesh `mix`, {first['rows']:,} block rows of size 5, {first['blocks']:,} blocks."
    return table(header, body, records, note=note)


def setup_schedules():
    records = Records("nvidia-h200-setup.json", "schedules")
    body = []
    for row in records.select():
        order = row["ms_symbolic"] - row["ms_coloring"]
        body.append(
            [row["schedule"], str(row["threads"]), seconds(row["ms_setup_first"])]
            + [seconds(row["ms_coloring"]), seconds(order), seconds(row["ms_numeric_first"])]
            + [f"{row['ms_refresh']:.2f} ms"]
        )
    header = ["Schedule", "Threads", "First set-up", "Coloring", "The rest of the symbolic one"]
    header += ["Numeric", "New values"]
    row = records.table[0]
    note = f"Mesh `mix`, {row['rows']:,} block rows of size 5, AIJCUSPARSE, {row['precision']} "
    note += "blocks, symmetric sweeps."
    return table(header, body, records, note=note)


def true_residuals():
    cpu, gpu = (
        Records(f"{name}-true-residuals.json", "ranks_1") for name in ("intel-xeon", "nvidia-h100")
    )
    methods = ["GMRES, left", "GMRES, right", "BCGS", "BCGSL", "TFQMR", "FGMRES", "CG", "MINRES"]
    methods += ["Chebyshev", "LSQR", "GMRES, PCMG", "GMRES, PCASM, Richardson"]
    body = []
    for method in methods:
        wanted = {"method": method, "rtol": 1e-12, "options": "defaults"}
        rows = [cpu.only(pc="mcpi", **wanted), cpu.only(pc="sor", **wanted)]
        rows.append(gpu.only(pc="mcpi", **wanted))
        body.append([method] + [f"{r['true_residual']:.1e} ({r['iterations']})" for r in rows])
    header = ["Method", "mcpi, CPU", "sor, CPU", "mcpi, H100"]
    note = (
        "Relative true residual with the tolerance 1e-12, in brackets the iterations. One rank, "
        "default options of mcpi."
    )
    return table(header, body, cpu, gpu, note=note)


def vectors(file, storages, where, digits, **more):
    records = Records(file, "sweeps")
    body = []
    for vector in ("fp32", "fp64"):
        rows = [records.only(vectors=vector, precision=s, bs=5, **more) for s in storages]
        body.append([vector] + [f"{row['ms_per_sweep']:.{digits}f}" for row in rows])
    header = ["Vectors", *(f"{storage} blocks: ms per sweep" for storage in storages)]
    note = f"Forward sweeps of {rows[0]['rows']:,} block rows of size 5{where}."
    return table(header, body, records, note=note)


def vectors_h200():
    storages = ["fp32", "fp16", "int8", "int4"]
    file = "nvidia-h200-sweep-vectors.json"
    return vectors(file, storages, ", mesh `mix`", 3, mesh="mix", gather="fp32")


def vectors_cpu():
    storages = ["fp32", "fp16", "bf16", "int8", "int4"]
    return vectors("intel-xeon-vectors.json", storages, ", mesh `tet`, one core", 1)


def gpu_schedules():
    records = Records("nvidia-h100-sweep-schedules.json")
    storages = [("fp32", "bfp16"), ("int8", "bfp16"), ("int4", "bfp16")]
    wanted = {
        "forward": "color, forward sweep",
        "symmetric before": "color, symmetric, before",
        "symmetric": "color, symmetric",
        "wave 16": "wave, 16 colors",
        "wave 32": "wave, 32 colors",
        "steps": "cluster, 8 rows, a launch a stage",
        "bundles": "cluster, 8 rows, bundles",
    }
    body = []
    for name, label in wanted.items():
        rows = results.rows(records.document, name)
        times = [
            records.use(results.only(rows, precision=p, gather=g))["ms_per_sweep"]
            for p, g in storages
        ]
        body.append([label] + [f"{ms:.2f}" for ms in times])
    note = "Milliseconds of one sweep. mix, 1,124,864 rows, block size 5, rounded gathers."
    return table(["Schedule", *(p for p, _ in storages)], body, records, note=note)


def schedules_h200():
    records = Records("nvidia-h200-sweep-schedules.json")
    storages = ["fp32", "fp16", "int8", "int4"]
    labels = {
        ("color", "forward"): "color, forward",
        ("color", "symmetric"): "color, symmetric",
        ("wave", "symmetric"): "wave, symmetric",
        ("cluster", "symmetric"): "cluster, 8 rows, symmetric",
    }
    body = []
    for mesh in ("mix", "tet"):
        for (schedule, sweep), label in labels.items():
            rows = [
                records.only(mesh=mesh, schedule=schedule, sweep=sweep, precision=p)
                for p in storages
            ]
            times = [ms_per_sweep(row) for row in rows]
            body.append([mesh, label, str(rows[0]["colors"]), *times])
    note = "Milliseconds of one sweep. 1,124,864 rows, block size 5, rounded gathers."
    return table(["Mesh", "Schedule", "Colors", *storages], body, records, note=note)


def clusters(gpu):
    records = Records(f"nvidia-{gpu}-sweep-clusters.json")
    storages = ["fp32", "fp16", "int8", "int4"]
    schedules = {
        "color": {"schedule": "color"},
        "wave": {"schedule": "wave"},
        "cluster, 4 rows": {"cluster_rows": 4},
        "cluster, 8 rows": {"cluster_rows": 8},
    }
    body = []
    for mesh in ("mix", "tet"):
        colors = []
        for label, wanted in schedules.items():
            wanted = {"mesh": mesh, "sweep": "symmetric", **wanted}
            rows = [records.only(precision=p, **wanted) for p in storages]
            times = [float(row["ms_per_sweep"]) for row in rows]
            colors = colors or times
            cells = [f"{ms:.3f} ({ms / least:.2f})" for ms, least in zip(times, colors)]
            body.append([mesh, label, str(rows[0]["colors"]), *cells])
    note = "Milliseconds of a symmetric sweep (ratio to colors). 1,124,864 rows, block size 5, "
    note += "rounded gathers."
    return table(["Mesh", "Schedule", "Colors", *storages], body, records, note=note)


def levels_h200():
    records = Records("nvidia-h200-sweep-ordered.json")
    kinds = [("fp32", "fp32"), ("fp32", "bfp16"), ("int8", "fp32"), ("int8", "bfp16")]
    body = []
    for n in (13824, 125000, 1124864):
        rows = [records.only(rows=n, precision=p, gather=g) for p, g in kinds]
        body.append(
            [f"{n:,}", f"{rows[0]['colors']:,}"] + [f"{row['us_per_color']:.2f}" for row in rows]
        )
    header = ["Rows", "Levels"]
    header += [p if g == "fp32" else f"{p}, {g} gathers" for p, g in kinds]
    note = "Microseconds for a level. mix, block size 5, symmetric sweeps."
    return table(header, body, records, note=note)


def incomplete_lu():
    records = Records("nvidia-h200-incomplete-lu.json")
    body = []
    for row in records.select(precision="fp64"):
        body.append(
            [f"{round(row['points'] ** (1 / 3))}^3", str(row["levels"])]
            + [f"{row[key]:.2f}" for key in ("ms_factor", "ms_factor_cusparse")]
            + [f"{row[key]:.3f}" for key in ("ms_solve", "ms_solve_cusparse")]
            + [f"{row['solve_ratio']:.1f}x"]
        )
    header = ["Points", "Levels", "Set-up, new values", "`bsrilu02`", "`PCApply()`"]
    header += ["`bsrsv2`, both", "Ratio"]
    note = "Milliseconds, fp64 blocks. The set-up also inverts and stores the blocks."
    return table(header, body, records, note=note)


MAKERS = {
    "readme": readme,
    "host": host,
    "cpu-schedules": cpu_schedules,
    "sweep-h200": sweep_h200,
    "block-sizes-h200": block_sizes_h200,
    "scaling-h200": scaling_h200,
    "setup-h200": setup_h200,
    "true-residuals": true_residuals,
    "vectors-h200": vectors_h200,
    "vectors-cpu": vectors_cpu,
    "schedules": flow_tables.schedules,
    "gpu-schedules": gpu_schedules,
    "schedules-h200": schedules_h200,
    "setup-schedules": setup_schedules,
    "clusters-h200": lambda: clusters("h200"),
    "clusters-h100": lambda: clusters("h100"),
    "levels-h200": levels_h200,
    "incomplete-lu": incomplete_lu,
    "flow-parts": flow_tables.flow_parts,
    "flow-seconds": flow_tables.flow_seconds_cpu,
    "flow-seconds-h200": flow_tables.flow_seconds_gpu,
    "flow-gpus": flow_tables.flow_gpus,
    "flow-turns": flow_tables.flow_turns,
    "flow-small-clusters": flow_tables.small_clusters,
    "flow-gram-schmidt": flow_tables.gram_schmidt,
    "flow-clusters": flow_tables.flow_clusters,
    "block-product": flow_tables.block_product,
    "viscous-plate": flow_tables.viscous_plate,
    "viscous-airfoil": flow_tables.viscous_airfoil,
    "example-schedules": flow_tables.example_schedules,
    "multigrid": flow_tables.multigrid,
    "choice-h200": lambda: choice_tables.choice("nvidia-h200"),
    "choice-cpu": lambda: choice_tables.choice("amd-epyc"),
    "choice-cg": lambda: choice_tables.symmetric("amd-epyc"),
}
# Markers that tools/tables leaves as they are. To fill one, move it to MAKERS.
UNTOUCHED = {"options", "folders"}  # of tools/manual and tools/check-layers
