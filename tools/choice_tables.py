"""Tables of what the preconditioner chooses by itself, beside the best of a search"""

from record_tables import Records, table

BARE = "-pc_type mcpi"
FLEXIBLE = "-ksp_type fgmres "
CG = "-ksp_type cg "
# Left preconditioned GMRES may report convergence at a useless solution
USELESS = 0.1


def milliseconds(row):
    """Set-up for new values and solution; after a very long first one no others were made"""
    if not row["converged"] or row["true_residual"] > USELESS:
        return None
    return row["ms_new_values"] + row["ms_solution"] if row["ms_solution"] else row["ms_first"]


def shown(time):
    if time is None:
        return "none"
    return f"{time:.0f}" if time >= 10 else f"{time:.1f}"


def best_of(rows, prefix):
    """The least time of mcpi under a method, whatever its options"""
    times = [milliseconds(row) for row in rows if row["options"].startswith(prefix + BARE)]
    return min((time for time in times if time is not None), default=None)


def systems(records, symmetric):
    """Each system with its rows, and its times by their options"""
    for system in dict.fromkeys(row["system"] for row in records.table):
        rows = records.select(system=system, symmetric=symmetric)
        if rows:
            yield system, rows, {row["options"]: milliseconds(row) for row in rows}


def beside_best(rows, times, prefix):
    """The cells of the bare option under a method, of the best, and of their ratio"""
    bare, best = times[prefix + BARE], best_of(rows, prefix)
    return [shown(bare), shown(best), f"{bare / best:.2f}" if bare and best else "none"]


def symmetric(machine):
    """Symmetric systems under CG, each with PETSc's preconditioners and the best of a search"""
    records = Records(f"{machine}-choice.json")
    body = []
    for system, rows, times in systems(records, True):
        cells = [system, shown(times[CG + "-pc_type bjacobi -sub_pc_type icc"])]
        cells.append(shown(times[CG + "-pc_type sor"]))
        body.append(cells + beside_best(rows, times, CG))
    header = ["System", "icc", "sor", "mcpi", "Best", "Ratio"]
    return table(header, body, records, note="CG, as in the table above.")


def choice(machine):
    """Systems, each with PETSc's preconditioners, the bare option and the best of a search"""
    records = Records(f"{machine}-choice.json")
    body = []
    for system, rows, times in systems(records, False):
        default = times.get("", times.get("-pc_type bjacobi"))
        cells = [system, f"{rows[0]['rows']:,} of {rows[0]['bs']}"]
        cells += [shown(default), shown(times["-pc_type sor"])]
        cells += beside_best(rows, times, "") + beside_best(rows, times, FLEXIBLE)
        body.append(cells)
    header = ["System", "Block rows", "ILU(0)", "sor", "mcpi", "Best", "Ratio"]
    header += ["FGMRES: mcpi", "Best", "Ratio"]
    clock = "CPU milliseconds" if records.table[0]["clock"] == "cpu" else "Milliseconds"
    note = f"{clock} of a set-up for new values and a solution to 1e-6, one rank. GMRES where no "
    note += "other method is named. Best: of mcpi's settings in the record. none: no convergence, "
    note += f"or a true residual above {USELESS}."
    return table(header, body, records, note=note)
