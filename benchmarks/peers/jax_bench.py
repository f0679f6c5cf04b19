#!/usr/bin/env python3
"""The workloads of benchmarks/*.cpp in JAX on the CPU, with two virtual devices. Prints `name seconds`, one line each.

    jax_bench.py [--budget SECONDS] [--devices N] [group ...]     no group: all; --list names them

A time is the smallest mean of a few calls in a row, compiled beforehand, with the results waited for.
"""
import argparse
import functools
import os
import time

started = time.perf_counter()
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("groups", nargs="*")
parser.add_argument("--budget", type=float, default=1.0, help="seconds for each workload")
parser.add_argument("--devices", type=int, default=2)
parser.add_argument("--list", action="store_true", help="name the groups")
options = parser.parse_args()
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={options.devices}"

import jax  # noqa: E402  (the flags above are read on import)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

N = options.devices
groups = {}


def group(function):
    """Makes `function` selectable by its name on the command line."""
    groups[function.__name__] = function
    return function


def measure(name, f, *args):
    """Reports f(*args)."""
    jax.block_until_ready(f(*args))  # compiles
    begin = time.perf_counter()
    jax.block_until_ready(f(*args))
    calls = max(1, int(0.005 / max(time.perf_counter() - begin, 1e-7)))
    best, end = float("inf"), time.perf_counter() + options.budget
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(calls):
            jax.block_until_ready(f(*args))
        best = min(best, (time.perf_counter() - begin) / calls)
    report(name, best)


def measure_steps(name, step, state, *batch):
    """Reports state, _ = step(state, *batch), where each call takes the state of the one before, as training does."""

    def advance():
        nonlocal state
        state, loss = step(state, *batch)
        return state, loss

    measure(name, advance)


def report(name, seconds):
    print(f"{name} {seconds:.6e}", flush=True)


pmap = functools.partial(jax.pmap, axis_name="i")
put = jax.pmap(lambda x: x)  # the leading axis over the devices


def per_device(kib):
    return put(jnp.ones((N, kib * 256)))


def replicate(tree):
    return jax.pmap(lambda _, tree: tree, in_axes=(0, None))(jnp.arange(N), tree)


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape, np.float32))


def one_hot_labels(n):
    return jax.nn.one_hot(np.arange(n) % 10, 10)


def split_rows(x):
    return put(x.reshape(N, -1, *x.shape[1:]))


@group
def first_result():
    jax.block_until_ready(pmap(lambda x: x - lax.pmean(x, "i"))(jnp.arange(8.0 * N).reshape(N, 8)))
    report("first_result_after_start", time.perf_counter() - started)


@group
def dispatch():
    x = put(jnp.zeros((N, 1)))
    measure("dispatch_pmap_empty", pmap(lambda x: x), x)
    measure("dispatch_pmap_add1", pmap(lambda x: x + 1), x)
    measure("dispatch_pmap_psum_scalar", pmap(lambda x: lax.psum(x, "i")), x)
    measure("dispatch_jit_add1", jax.jit(lambda x: x + 1), jnp.zeros(1))


@group
def eager():
    x = jnp.linspace(0.0, 1.0, 16)
    measure("eager_op_stored", lambda: x + x)


@group
def psum():
    f = pmap(lambda x: lax.psum(x, "i"))
    for kib in (4, 64, 1024, 16384, 65536):
        measure(f"psum_{kib}KiB", f, per_device(kib))
    measure("psum_tree_100x1KiB", f, [per_device(1) for _ in range(100)])


@group
def all_gather():
    f = pmap(lambda x: lax.all_gather(x, "i"))
    for kib in (4, 64, 1024, 16384, 65536):
        measure(f"all_gather_{kib}KiB", f, per_device(kib))


@group
def exchange():
    ring = [(i, (i + 1) % N) for i in range(N)]
    measure("ppermute_4096KiB", pmap(lambda x: lax.ppermute(x, "i", ring)), per_device(4096))
    measure("all_to_all_4096KiB", pmap(lambda x: lax.all_to_all(x.reshape(N, -1), "i", 0, 0)), per_device(4096))


@group
def halo():
    down, up = [(i, i + 1) for i in range(N - 1)], [(i + 1, i) for i in range(N - 1)]

    def heat(u):
        g = jnp.concatenate([lax.ppermute(u[-1:], "i", down), u, lax.ppermute(u[:1], "i", up)])
        return u[:, 1:-1] + 0.1 * (g[:-2, 1:-1] + g[2:, 1:-1] + u[:, :-2] + u[:, 2:] - 4 * u[:, 1:-1])

    measure("halo_heat_1024", pmap(heat), split_rows(jnp.ones((1024, 1024))))


def chain_of_11(x):
    y = x * 2.0 + 1.0
    y = y * x - 3.0
    y = jnp.maximum(y, 0.5) * x
    y = y + x * y
    return jnp.abs(y - 1.0) * 0.25


@group
def chain():
    for name, n in (("1K", 1 << 10), ("64K", 64 << 10), ("1M", 1 << 20), ("16M", 16 << 20)):
        x = jnp.linspace(0.0, 1.0, n)
        measure(f"chain_{name}_one_device", jax.jit(chain_of_11), x)
        measure(f"chain_{name}_pmap", pmap(chain_of_11), split_rows(x))
    x = jnp.linspace(0.0, 1.0, 4 << 20)
    measure("chain_exp_4M_pmap", pmap(lambda x: jnp.tanh(x * 2.0 + 1.0) * jnp.exp(-x * x)), split_rows(x))
    x = jnp.linspace(0.0, 1.0, 16 << 20)
    measure("sum_of_squares_16M_pmap", pmap(lambda x: jnp.sum(x * x)), split_rows(x))


@group
def random():
    key, n = jax.random.key(0), 4 << 20
    measure("random_uniform_4M", jax.jit(lambda key: jax.random.uniform(key, (n,))), key)
    measure("random_normal_4M", jax.jit(lambda key: jax.random.normal(key, (n,))), key)


@group
def matmul():
    for n in (256, 1024, 2048, 4096):
        a, b = normal(0, n, n), normal(1, n, n)
        measure(f"matmul_{n}_pmap", pmap(jnp.matmul, in_axes=(0, None)), split_rows(a), b)
        measure(f"matmul_{n}_one_device", jax.jit(jnp.matmul), a, b)


def network(layers, x, activation):
    for w, b in layers[:-1]:
        x = activation(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


def cross_entropy(layers, x, y, activation):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(network(layers, x, activation)) * y, axis=1))


def layers_of(sizes, gain=1.0):
    return [(normal(i, m, n) * np.float32(np.sqrt(gain / m)), jnp.zeros(n)) for i, (m, n) in enumerate(zip(sizes, sizes[1:]))]


def mlp_loss(layers, x, y):
    return cross_entropy(layers, x, y, jnp.tanh)


def train(name, loss, update, state, parameters_of, x, y):
    """The same step on all devices, each with its part of the batch, and on one with the whole."""

    def step(state, x, y, average):
        value, gradient = average(jax.value_and_grad(loss)(parameters_of(state), x, y))
        return update(state, gradient), value

    measure_steps(f"{name}_pmap", pmap(lambda *args: step(*args, lambda tree: lax.pmean(tree, "i"))), replicate(state), split_rows(x), split_rows(y))
    measure_steps(f"{name}_one_device", jax.jit(lambda *args: step(*args, lambda tree: tree)), state, x, y)


@group
def training():
    def adam(state, gradient):
        layers, mean, variance, steps = state
        steps = steps + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        variance = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, variance, gradient)
        size = 3e-3 * jnp.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
        layers = jax.tree.map(lambda w, m, v: w - size * m / (jnp.sqrt(v) + 1e-8), layers, mean, variance)
        return layers, mean, variance, steps

    layers = layers_of((64, 128, 64, 10), gain=2.0)
    zeros = jax.tree.map(jnp.zeros_like, layers)
    train(
        "train_digits",
        lambda *args: cross_entropy(*args, jax.nn.relu),
        adam,
        (layers, zeros, zeros, jnp.float32(0)),
        lambda state: state[0],
        normal(1, 128, 64),
        one_hot_labels(128),
    )

    def descend(layers, gradient):
        return jax.tree.map(lambda w, g: w - 0.1 * g, layers, gradient)

    for name, sizes, batch in (("64_32_10_b128", (64, 32, 10), 128), ("784_512_256_10_b512", (784, 512, 256, 10), 512)):
        train(f"train_mlp_{name}", mlp_loss, descend, layers_of(sizes), lambda state: state, normal(7, batch, sizes[0]), one_hot_labels(batch))


@group
def vmap():
    measure("vmap_matvec_1024x64", jax.jit(jax.vmap(jnp.matmul)), normal(0, 1024, 64, 64), normal(1, 1024, 64))
    per_example = jax.vmap(jax.grad(lambda layers, x, y: mlp_loss(layers, x[None], y[None])), (None, 0, 0))
    measure("vmap_grad_per_example_256", jax.jit(per_example), layers_of((64, 32, 10)), normal(2, 256, 64), one_hot_labels(256))


if options.list:
    print(*groups, sep="\n")
else:
    for name in options.groups or groups:
        if name not in groups:
            parser.error(f"no group {name}; there are: {', '.join(groups)}")
        groups[name]()
