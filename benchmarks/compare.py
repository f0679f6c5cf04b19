#!/usr/bin/env python3
"""Compares the benchmarks with their peers, JAX and Open MPI, and writes RESULTS.md beside this file.

    benchmarks/compare.py [--build build/release] [--rounds 3] [--budget 0.5] [--groups dispatch,psum] [--no-write]

Ours and the peers take turns, group by group and several rounds, so that a slow minute of the machine meets all of them. Every number
is the smallest of all rounds. A peer that is not installed is left out: `pip install jax`, `apt-get install openmpi-bin libopenmpi-dev`.
"""
import argparse
import collections
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent

Group = collections.namedtuple("Group", "program filter jax mpi", defaults=(False,))
GROUPS = {
    "dispatch": Group("dispatch", "dispatch_.*", "dispatch"),
    "eager": Group("dispatch", "eager_.*", "eager"),
    "psum": Group("collectives", "psum_.*", "psum", True),
    "all_gather": Group("collectives", "all_gather_.*", "all_gather", True),
    "exchange": Group("collectives", "ppermute_.*|all_to_all_.*", "exchange"),
    "halo": Group("collectives", "halo_.*", "halo"),
    "chain": Group("elementwise", "chain_.*|sum_of_squares_.*", "chain"),
    "random": Group("elementwise", "random_.*", "random"),
    "matmul": Group("matmul", "matmul_.*", "matmul"),
    "training": Group("training", "train_.*", "training"),
    "vmap": Group("training", "vmap_.*", "vmap"),
}


class Peers:
    """Runs a group in one of the systems: a dictionary from the workload's name to seconds (page faults are plain counts)."""

    def __init__(self, build, budget):
        self.build, self.budget = build, budget
        self.systems = {"spmd": self.spmd}
        self.versions = {}
        self.find_jax()
        self.find_mpi()

    def find_jax(self):
        found = subprocess.run([sys.executable, "-c", "import jax; print(jax.__version__)"], capture_output=True, text=True)
        if found.returncode:
            return print(f"JAX is left out: {sys.executable} cannot import it")
        self.versions["JAX"] = found.stdout.strip()
        self.systems["JAX"] = self.jax

    def find_mpi(self):
        if not shutil.which("mpicxx") or not shutil.which("mpirun"):
            return print("Open MPI is left out: there is no mpicxx or no mpirun")
        self.mpi_program = self.build / "benchmarks" / "openmpi_allreduce"
        source = here / "peers" / "openmpi_allreduce.cpp"
        if not self.mpi_program.exists() or self.mpi_program.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(["mpicxx", "-std=c++20", "-O3", "-march=native", source, "-o", self.mpi_program], check=True)
        version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
        self.versions["Open MPI"] = version.split()[-1]
        self.systems["Open MPI"] = self.mpi

    def spmd(self, group):
        program = self.build / "benchmarks" / group.program
        if not program.exists():
            sys.exit(f"there is no {program}: cmake --preset release && cmake --build --preset release")
        # A benchmark's name is followed by what Google Benchmark says of how it runs: /real_time, /iterations:1.
        arguments = [f"--benchmark_filter=^({group.filter})(/.*)?$", f"--benchmark_min_time={self.budget}", "--benchmark_format=json"]
        result = json.loads(output([program, *arguments]))
        times = {}
        for run in result["benchmarks"]:
            name = run["name"].split("/")[0]
            times[name] = run.get("page_faults", run.get("best"))
        if group.program == "dispatch":
            times["first_result_after_start"] = float(result["context"]["first_result_after_start"])
        return times

    def jax(self, group):
        groups = [group.jax] + (["first_result"] if group.jax == "dispatch" else [])
        if "first_result" in groups:
            groups.reverse()  # it counts from the start of the process
        return parse(output([sys.executable, here / "peers" / "jax_bench.py", "--budget", str(self.budget), *groups]))

    def mpi(self, group):
        if not group.mpi:
            return {}
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        times = parse(output(["mpirun", *as_root, "--oversubscribe", "-n", "2", self.mpi_program]))
        return {name: seconds for name, seconds in times.items() if re.fullmatch(group.filter, name)}


def output(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def parse(lines):
    return {name: float(seconds) for name, seconds in (line.split() for line in lines.splitlines() if line)}


def goals(times):
    """(what, value, unit, relation, bound) of every goal whose numbers are there."""
    ours, jax = times["spmd"], times.get("JAX", {})

    def quotient(a, b):
        return a / b if a and b else None

    wanted = [
        ("dispatch of an empty pmap: JAX / spmd", quotient(jax.get("dispatch_pmap_empty"), ours.get("dispatch_pmap_empty")), "x", ">=", 5),
        ("dispatch of a pmap of x + 1: JAX / spmd", quotient(jax.get("dispatch_pmap_add1"), ours.get("dispatch_pmap_add1")), "x", ">=", 5),
        ("psum of a scalar: JAX / spmd", quotient(jax.get("dispatch_pmap_psum_scalar"), ours.get("dispatch_pmap_psum_scalar")), "x", ">=", 8),
        ("psum of 64 MiB: JAX / spmd", quotient(jax.get("psum_65536KiB"), ours.get("psum_65536KiB")), "x", ">=", 4),
        ("matmul 2048, two devices: spmd / two threads of Eigen", quotient(ours.get("matmul_2048_pmap"), ours.get("matmul_2048_eigen_two_threads")), "x", "<=", 1.05),
        ("matmul 2048: one device / two devices", quotient(ours.get("matmul_2048_one_device"), ours.get("matmul_2048_pmap")), "x", ">=", 1.9),
        ("a small eager operation", ours.get("eager_op", 0) * 1e9 or None, "ns", "<=", 80),
        ("a small operation forward and backward", ours.get("eager_op_forward_backward", 0) * 1e9 or None, "ns", "<=", 300),
        ("page faults in 1,000 steps of train_digits", ours.get("train_digits_1000_steps_page_faults"), "", "<", 10),
    ]
    return [goal for goal in wanted if goal[1] is not None]


def goal_table(times):
    yield "| goal | bound | measured | |"
    yield "|---|---:|---:|---|"
    for what, value, unit, relation, bound in goals(times):
        met = {">=": value >= bound, "<=": value <= bound, "<": value < bound}[relation]
        yield f"| {what} | {relation} {bound:g} {unit} | {value:.3g} {unit} | {'met' if met else '**missed**'} |"


def pretty(seconds):
    if seconds is None:
        return ""
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def time_table(times):
    peers = [system for system in times if system != "spmd"]
    yield "| workload | spmd |" + "".join(f" {peer} | {peer} / spmd |" for peer in peers)
    yield "|---|---:|" + "---:|---:|" * len(peers)
    names = {name: None for system in times.values() for name in system}  # a dict keeps the order
    for name in names:
        if name.endswith("page_faults"):
            continue
        mine = times["spmd"].get(name)
        cells = [name, pretty(mine)]
        for peer in peers:
            theirs = times[peer].get(name)
            cells += [pretty(theirs), f"{theirs / mine:.2f}" if theirs and mine else ""]
        yield "| " + " | ".join(cells) + " |"


def processor():
    try:
        return re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text()).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def compiler(build):
    """As CMake found it: its name and version."""
    for file in build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):
        text = file.read_text()
        return " ".join(re.search(rf'CMAKE_CXX_COMPILER_{key} "([^"]*)"', text).group(1) for key in ("ID", "VERSION"))
    return "an unknown compiler"


def document(command, times, versions, build, options):
    peers = ", ".join(f"{name} {version}" for name, version in versions.items()) or "no peers"
    yield "# Results"
    yield ""
    yield "Written by:"
    yield ""
    yield f"    {command}"
    yield ""
    yield f"{processor()}, {os.cpu_count()} cores; {compiler(build)}; {peers}. Two devices (host threads, XLA's virtual CPU devices, MPI processes)."
    yield (
        f"Each time is the smallest of {options.rounds} rounds in which the systems took turns. JAX is compiled beforehand; its one-device rows use all"
        " cores. `first_result_after_start` includes, for JAX, the import and the compilation."
    )
    yield "`eager_op*` are per operation; sizes of collectives are per device."
    yield ""
    yield "## Goals"
    yield ""
    yield from goal_table(times)
    yield ""
    yield "## All workloads"
    yield ""
    yield from time_table(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=here.parent / "build" / "release", help="where the benchmarks were built")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.5, help="seconds for each workload in each round")
    parser.add_argument("--groups", default=",".join(GROUPS), help="some of: %(default)s")
    parser.add_argument("--no-write", action="store_true", help="leave RESULTS.md alone")
    options = parser.parse_args()
    chosen = options.groups.split(",")
    unknown = [name for name in chosen if name not in GROUPS]
    if unknown:
        parser.error(f"no group {unknown[0]}; there are: {', '.join(GROUPS)}")

    peers = Peers(options.build, options.budget)
    times = {system: {} for system in peers.systems}
    for name in chosen:
        for round_number in range(options.rounds):
            for system, run in peers.systems.items():
                print(f"{name}, round {round_number + 1} of {options.rounds}: {system}", file=sys.stderr, flush=True)
                for workload, seconds in run(GROUPS[name]).items():
                    times[system][workload] = min(seconds, times[system].get(workload, float("inf")))

    print("\n".join(goal_table(times)), "\n".join(time_table(times)), sep="\n\n")
    if not options.no_write:
        command = " ".join(["benchmarks/compare.py", *sys.argv[1:]])
        text = "\n".join(document(command, times, peers.versions, options.build, options)) + "\n"
        (here / "RESULTS.md").write_text(text)
        print("\nwrote benchmarks/RESULTS.md")


if __name__ == "__main__":
    main()
