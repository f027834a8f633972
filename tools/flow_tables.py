"""Tables of flows and of PETSc's programs; see table_makers.py."""

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
            sizes[program] = (
                f"{program.capitalize()}: `{example}`, {row['rows']:,} block rows of size {row['bs']}"
            )
        body.append([name, *cells])
    header = ["Schedule"]
    header += [f"{program}, {ranks} rank{'s' * (ranks > 1)}" for program, ranks in places]
    note = "Linear iterations, summed over the nonlinear ones, FGMRES, one symmetric sweep of fp32 "
    note += "blocks. " + ". ".join(sizes.values()) + "."
    return table(header, body, records, note=note)
