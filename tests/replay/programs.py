"""Programs as data (program.hpp describes the text), and what JAX makes of them."""
import dataclasses
import math
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclasses.dataclass
class Block:
    parameters: list
    body: list
    results: list


@dataclasses.dataclass
class Instruction:
    results: list
    op: str
    operands: list
    attributes: dict = dataclasses.field(default_factory=dict)
    blocks: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Program:
    id: str
    inputs: dict  # name -> array
    body: list
    outputs: dict  # name -> kind: i, x, f or g


def shape_text(shape):
    return "x".join(map(str, shape)) if len(shape) else "-"


def shape_of(text):
    return () if text == "-" else tuple(map(int, text.split("x")))


def numbers(text):
    return tuple(map(int, text.split(","))) if text != "-" else ()


def lines_of(body, indent):
    for n in body:
        words = n.results + ["=", n.op] + n.operands + [f"{k}={v}" for k, v in n.attributes.items()]
        yield indent + " ".join(words)
        for block in n.blocks:
            yield indent + "  " + " ".join(["do"] + block.parameters)
            yield from lines_of(block.body, indent + "    ")
            yield indent + "  " + " ".join(["return"] + block.results)


def elements_text(array, kind):
    if kind == "i":
        return " ".join(str(int(v)) for v in array.ravel())
    return " ".join(f"{float(v):.{9 if kind == 'x' else 7}g}" for v in array.ravel())


def text_of(program, answers=None):
    lines = ["program " + program.id]
    for name, array in program.inputs.items():
        lines.append(f"in {name} {shape_text(array.shape)} {elements_text(array, 'i' if name[0] == 'i' else 'x')}")
    lines += lines_of(program.body, "")
    for name, kind in program.outputs.items():
        if answers is None:
            lines.append(f"out {name} {kind}")
        else:
            lines.append(f"out {name} {kind} {shape_text(answers[name].shape)} {elements_text(answers[name], kind)}")
    return "\n".join(lines + ["end"]) + "\n"


# What an instruction means in JAX.


def dtype_of(name):
    return jnp.float32 if name[0] == "f" else jnp.int32


def constant(n, x):
    value = float(n.attributes["c"])
    return np.float32(value) if x.dtype == jnp.float32 else np.int32(value)


def reduction(f):
    return lambda n, x: f(x, axis=numbers(n.attributes["dims"]), keepdims="keep" in n.attributes)


def along(f):
    return lambda n, x: f(x, axis=int(n.attributes["dim"]))


def guarded(f, of_zero, of_minus_one):
    """XLA's integer division: by zero and by -1 it has values of its own, but where it folds constants it ends the process instead."""

    def divided(x, y):
        x, y = jnp.broadcast_arrays(x, y)
        if x.dtype != jnp.int32:
            return f(x, y)
        plain = (y != 0) & (y != -1)
        return jnp.where(y == 0, of_zero(x), jnp.where(y == -1, of_minus_one(x), f(x, jnp.where(plain, y, 1))))

    return divided


truncated = guarded(lax.div, lambda x: -jnp.ones_like(x), lambda x: -x)
remainder = guarded(lax.rem, lambda x: x, jnp.zeros_like)


def attribute_shape(n):
    return shape_of(n.attributes["shape"])


def sliced(n, x):
    return x[tuple(slice(b, e) for b, e in zip(numbers(n.attributes["begin"]), numbers(n.attributes["end"])))]


def padded(n, x):
    return jnp.pad(x, list(zip(numbers(n.attributes["low"]), numbers(n.attributes["high"]))), constant_values=int(n.attributes["c"]))


def uniform(n, i):
    return jax.random.uniform(jax.random.fold_in(jax.random.key(int(n.attributes["seed"])), i), attribute_shape(n))


def integer(n, name):
    return int(n.attributes[name])


def absolute(x):
    """With the gradient 0 at 0, as docs/jax.md says; JAX's is 1."""
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.abs(x))


def flat_tanh(x):
    """Flat where floats lose the slope, which is 1 - tanh(x)**2: XLA's there is sometimes 0 and sometimes 1.2e-7."""
    return jnp.where(jnp.abs(x) > 7.5, jnp.sign(x), jnp.tanh(x))


def clipped(n, x):
    return jnp.clip(x, integer(n, "lo"), integer(n, "hi"))


simple = {
    "sin": jnp.sin, "cos": jnp.cos, "tanh": jnp.tanh, "exp": jnp.exp, "expm1": jnp.expm1, "log": jnp.log, "log1p": jnp.log1p,
    "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "atan": jnp.arctan, "erf": lax.erf, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu,
    "softplus": jax.nn.softplus, "gelu": jax.nn.gelu, "floor": jnp.floor, "round": jnp.round, "stop_gradient": lax.stop_gradient,
    "atan2": jnp.arctan2, "pow": jnp.power, "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "maximum": jnp.maximum,
    "minimum": jnp.minimum, "neg": jnp.negative, "abs": absolute, "square": jnp.square, "sign": jnp.sign, "matmul": jnp.matmul,
    "dot": jnp.dot, "outer": jnp.outer, "fmod": remainder, "div": truncated,
    "where_lt": lambda a, b, x, y: jnp.where(a < b, x, y),
    "lt": lambda x, y: (x < y).astype(jnp.int32), "ge": lambda x, y: (x >= y).astype(jnp.int32), "eq": lambda x, y: (x == y).astype(jnp.int32),
    "to_float": lambda x: x.astype(jnp.float32), "to_int": lambda x: x.astype(jnp.int32),
    "scatter_add": lambda x, i, u: x.at[i].add(u),
}
with_attributes = {
    "addc": lambda n, x: x + constant(n, x), "mulc": lambda n, x: x * constant(n, x), "clip": clipped,
    "sum": reduction(jnp.sum), "prod": reduction(jnp.prod), "max": reduction(jnp.max), "min": reduction(jnp.min), "mean": reduction(jnp.mean),
    "var": reduction(jnp.var), "logsumexp": reduction(jax.nn.logsumexp),
    "softmax": lambda n, x: jax.nn.softmax(x, axis=numbers(n.attributes["dims"])),
    "log_softmax": lambda n, x: jax.nn.log_softmax(x, axis=numbers(n.attributes["dims"])),
    "cumsum": along(jnp.cumsum), "sort": along(jnp.sort), "argmax": along(jnp.argmax), "argmin": along(jnp.argmin), "argsort": along(jnp.argsort),
    "expand": along(jnp.expand_dims),
    "take": lambda n, x, i: jnp.take(x, i, axis=integer(n, "dim")),
    "take_along": lambda n, x, i: jnp.take_along_axis(x, i, axis=integer(n, "dim")),
    "reshape": lambda n, x: jnp.reshape(x, attribute_shape(n)), "broadcast": lambda n, x: jnp.broadcast_to(x, attribute_shape(n)),
    "resize": lambda n, x: jnp.resize(x, attribute_shape(n)),
    "full": lambda n: jnp.full(attribute_shape(n), float(n.attributes["c"]), dtype_of(n.results[0])),
    "transpose": lambda n, x: jnp.transpose(x, numbers(n.attributes["dims"])),
    "moveaxis": lambda n, x: jnp.moveaxis(x, integer(n, "from"), integer(n, "to")),
    "flip": lambda n, x: jnp.flip(x, numbers(n.attributes["dims"])), "roll": lambda n, x: jnp.roll(x, integer(n, "by"), integer(n, "dim")),
    "tile": lambda n, x: jnp.tile(x, numbers(n.attributes["by"])), "index": lambda n, x: x[integer(n, "at")], "slice": sliced, "pad": padded,
    "concatenate": lambda n, *xs: jnp.concatenate(xs, integer(n, "dim")), "stack": lambda n, *xs: jnp.stack(xs, integer(n, "dim")),
    "tril": lambda n, x: jnp.tril(x, integer(n, "k")), "triu": lambda n, x: jnp.triu(x, integer(n, "k")), "diag": lambda n, x: jnp.diag(x, integer(n, "k")),
    "einsum": lambda n, x, y: jnp.einsum(n.attributes["by"], x, y), "one_hot": lambda n, i: jax.nn.one_hot(i, integer(n, "n")),
    "iota": lambda n: jnp.arange(integer(n, "n"), dtype=jnp.int32), "uniform": uniform,
}


def route(x, axis, pairs):
    """ppermute with zeros for who is no destination, also under vmap, where JAX wants all destinations named."""
    size = lax.axis_size(axis)
    targets = [d for _, d in pairs]
    rest = zip([i for i in range(size) if i not in [s for s, _ in pairs]], [i for i in range(size) if i not in targets])
    everything = lax.ppermute(x, axis, list(pairs) + list(rest))
    named = jnp.array([i in targets for i in range(size)])[lax.axis_index(axis)]
    return jax.tree.map(lambda v: jnp.where(named, v, jnp.zeros_like(v)), everything)


def grouped(n, v, axis, groups):
    """A collective over groups, written with all_gather: JAX has none under vmap."""
    size = lax.axis_size(axis)
    most = max(map(len, groups))
    group = {i: g for g in groups for i in g}
    me = lax.axis_index(axis)
    rows = lax.all_gather(v, axis)[jnp.array([(group[i] + group[i][:1] * most)[:most] for i in range(size)])[me]]
    here = jnp.array([[k < len(group[i]) for k in range(most)] for i in range(size)])[me].reshape((most,) + (1,) * v.ndim)
    place = jnp.array([group[i].index(i) for i in range(size)])[me]
    op, tiled = n.op, "tiled" in n.attributes

    def part(y, dim):  # the row, or block, of `dim` that is mine
        if not tiled:
            return lax.dynamic_index_in_dim(y, place, dim, keepdims=False)
        width = y.shape[dim] // most
        return lax.dynamic_slice_in_dim(y, place * width, width, dim)

    def joined(dim):  # the rows at `dim`
        y = jnp.moveaxis(rows, 0, dim)
        return y.reshape(y.shape[:dim] + (y.shape[dim] * y.shape[dim + 1],) + y.shape[dim + 2:]) if tiled else y

    if op == "psum":
        return jnp.sum(jnp.where(here, rows, 0), axis=0, dtype=v.dtype)
    if op == "pmean":
        return jnp.mean(rows, axis=0)
    if op in ("pmax", "pmin"):
        return jnp.max(rows, axis=0) if op == "pmax" else jnp.min(rows, axis=0)
    if op == "all_gather":
        dim = integer(n, "dim")
        return joined(dim if dim >= 0 else dim + v.ndim + (not tiled))
    if op == "psum_scatter":
        return part(jnp.sum(rows, axis=0, dtype=v.dtype), integer(n, "dim"))
    split, concat = (integer(n, "dim"),) * 2 if op == "pswapaxes" else (integer(n, "split"), integer(n, "concat"))
    rows = part(rows, split + 1)
    return joined(concat)


def collective(n, x, vmapped):
    names = n.attributes["axis"].split(",")
    axis = names[0] if len(names) == 1 else tuple(names)
    groups = [list(map(int, g.split(","))) for g in n.attributes["groups"].split("/")] if "groups" in n.attributes else None
    tiled = "tiled" in n.attributes
    op = n.op
    if groups and axis in vmapped:
        return tuple(grouped(n, v, axis, groups) for v in x)
    if op == "axis_index":
        return (lax.axis_index(axis),)
    if op == "axis_size":
        return (jnp.int32(math.prod(lax.axis_size(a) for a in names)),)
    if op in ("psum", "pmean", "pmax", "pmin"):
        return getattr(lax, op)(x, axis, axis_index_groups=groups)
    if op in ("pargmax", "pargmin"):
        best = jnp.argmax if op == "pargmax" else jnp.argmin
        return jax.tree.map(lambda v: best(lax.all_gather(v, axis), axis=0).astype(jnp.int32), x)
    if op == "all_gather":
        return lax.all_gather(x, axis, axis_index_groups=groups, axis=integer(n, "dim"), tiled=tiled)
    if op == "psum_scatter":
        return lax.psum_scatter(x, axis, scatter_dimension=integer(n, "dim"), axis_index_groups=groups, tiled=tiled)
    if op in ("all_to_all", "pswapaxes"):  # JAX 0.10.2 gives a value that no vmap maps the shape of a mapped one
        x = jax.tree.map(lambda v: v + (0 * lax.axis_index(names[0])).astype(v.dtype), x)
    if op == "all_to_all":
        return lax.all_to_all(x, axis, integer(n, "split"), integer(n, "concat"), axis_index_groups=groups, tiled=tiled)
    if op == "pswapaxes":
        return lax.pswapaxes(x, axis, integer(n, "dim"), axis_index_groups=groups)
    if op == "pshuffle":
        return lax.pshuffle(x, axis, list(numbers(n.attributes["sources"])))
    if op == "pbroadcast":
        return jax.tree.map(lambda v: lax.all_gather(v, axis)[integer(n, "from")], x)
    if op == "ppermute":
        return route(x, axis, [tuple(map(int, p.split(">"))) for p in n.attributes["pairs"].split(",")])
    if op == "pshift":
        size, by = lax.axis_size(axis), integer(n, "by")
        return route(x, axis, [(i, (i + by) % size) for i in range(size) if "wrap" in n.attributes or 0 <= i + by < size])
    raise ValueError("unknown collective " + op)


JUMPS = {"lt", "ge", "where_lt", "floor", "round", "to_int", "argmax", "argmin", "argsort", "sign", "pargmax", "pargmin"}


def jumps(body):
    return any(n.op in JUMPS or any(jumps(b.body) for b in n.blocks) for n in body)


class Run:
    """Interprets a program; notes the type of each register on the way. With a jitter of 1 or -1, operations that jump see their
    operands moved a little, each element another way, or the opposite one, and tanh is flat where it is large: what depends on that hangs
    on rounding."""

    def __init__(self, jitter=0):
        self.types = {}
        self.jitter = jitter
        self.noise = np.random.default_rng(1) if jitter else None
        self.vmapped = set()  # names; a program uses none twice

    def block(self, block, outer, arguments):
        registers = dict(outer)
        self.bind(registers, block.parameters, arguments)
        self.instructions(block.body, registers)
        return tuple(registers[r] for r in block.results)

    def bind(self, registers, names, values):
        if len(names) != len(values):
            raise ValueError("a block has another number of values than its instruction")
        for name, value in zip(names, values):
            value = jnp.asarray(value)
            if value.dtype != dtype_of(name):
                raise ValueError(f"{name} is {value.dtype}")
            registers[name] = value
            self.types[name] = tuple(value.shape)

    def instructions(self, body, registers):
        for n in body:
            operands = tuple(registers[r] for r in n.operands)
            if self.noise and n.op in JUMPS:
                operands = tuple(self.moved(n, x) for x in operands)
            if n.blocks:
                results = self.structured(n, registers, operands)
            elif "axis" in n.attributes:
                results = collective(n, operands, self.vmapped)
            elif self.jitter and n.op == "tanh":
                results = (flat_tanh(*operands),)
            elif n.op in simple:
                results = (simple[n.op](*operands),)
            else:
                results = (with_attributes[n.op](n, *operands),)
            self.bind(registers, n.results, results)

    def moved(self, n, x):
        if x.dtype != jnp.float32:
            return x
        by = self.jitter * 3e-6 * self.noise.standard_normal(x.shape).astype(np.float32) * (1 + jnp.abs(x))
        return x + (by * (1 - 2 * lax.axis_index(n.attributes["axis"])) if "axis" in n.attributes else by)

    def mapped(self, n, call, operands):
        size = integer(n, "size")
        inputs, in_axes, out_axes, splits = [], [], [], []
        for spec, x in zip(n.attributes["in"].split(","), operands):
            if spec[0] == "s":
                k = int(spec[1:])
                x = x.reshape(x.shape[:k] + (size, x.shape[k] // size) + x.shape[k + 1:])
            inputs.append(x)
            in_axes.append(None if spec == "r" else int(spec.lstrip("s")))
        for spec in n.attributes["out"].split(","):
            splits.append(spec[0] == "s")
            out_axes.append(None if spec == "r" else int(spec.lstrip("s")))
        mapper = jax.vmap if n.op == "vmap" else jax.pmap
        if n.op == "vmap":
            self.vmapped.add(n.attributes["name"])
        results = mapper(call, axis_name=n.attributes["name"], in_axes=tuple(in_axes), out_axes=tuple(out_axes), axis_size=size)(*inputs)
        merged = []
        for y, k, split in zip(results, out_axes, splits):
            merged.append(y.reshape(y.shape[:k] + (y.shape[k] * y.shape[k + 1],) + y.shape[k + 2:]) if split else y)
        return tuple(merged)

    def structured(self, n, registers, operands):
        def call(*x):
            return self.block(n.blocks[0], registers, x)

        if n.op in ("vmap", "pmap"):
            return self.mapped(n, call, operands)
        if n.op == "cond":
            return lax.cond(operands[0] > 0, call, lambda *x: self.block(n.blocks[1], registers, x), *operands[1:])
        if n.op == "checkpoint":
            return jax.checkpoint(call)(*operands)
        if n.op == "while":
            return lax.while_loop(lambda c: c[0] < operands[0], lambda c: (c[0] + 1, call(*c[1])), (jnp.int32(0), operands[1:]))[1]
        if n.op == "fori":
            return lax.fori_loop(integer(n, "lo"), integer(n, "hi"), lambda i, c: call(jnp.int32(i), *c), operands)
        if n.op == "scan":
            count = integer(n, "carry")

            def body(c, x):
                out = call(*c, *x)
                return out[:count], out[count:]

            carry, ys = lax.scan(body, operands[:count], operands[count:])
            return tuple(carry) + tuple(ys)
        if n.op == "grad":
            def loss(*x):
                out = call(*x)
                return out[0], out[1:]

            (value, aux), gradients = jax.value_and_grad(loss, argnums=tuple(range(len(operands))), has_aux=True)(*operands)
            return tuple(gradients) + ((value,) if integer(n, "value") else ()) + tuple(aux)
        if n.op == "vjp":
            count = integer(n, "count")
            out, pullback = jax.vjp(call, *operands[:count])
            return tuple(out) + tuple(pullback(tuple(operands[count:])))
        raise ValueError("unknown operation " + n.op)


class Answer:
    """The compiled program: call with arrays, get name -> array."""

    def __init__(self, program, jitter=0):
        self.run = Run(jitter)
        self.names = list(program.outputs)

        def everything(inputs):
            registers = {}
            self.run.bind(registers, list(inputs), list(inputs.values()))
            self.run.instructions(program.body, registers)
            return tuple(registers[r] for r in self.names)

        self.compiled = jax.jit(everything)

    def __call__(self, inputs):
        return dict(zip(self.names, [np.asarray(v) for v in self.compiled(dict(inputs))]))
