"""Draws random programs that are well-typed and numerically benign."""
import dataclasses

import numpy as np

from programs import Block, Instruction, Program, shape_text

SIZES = [1, 2, 2, 3, 3, 4, 4, 8]
LARGEST = 48  # elements of one register, as a shard sees it


@dataclasses.dataclass(frozen=True)
class Register:
    name: str
    shape: tuple
    bound: float  # of the absolute value
    vary: frozenset = frozenset()  # the axes that it may depend on
    exact: bool = False  # only moved, never computed
    rough: bool = False  # behind a gradient

    @property
    def kind(self):
        return self.name[0]

    @property
    def size(self):
        return int(np.prod(self.shape))


@dataclasses.dataclass(frozen=True)
class Axis:
    name: str
    size: int
    op: str  # vmap or pmap


@dataclasses.dataclass(frozen=True)
class Context:
    axes: tuple = ()
    banned: frozenset = frozenset()  # axes that a predicate around varies over
    in_grad: bool = False
    pmap_ok: bool = True
    depth: int = 0


class Refused(Exception):
    """This operation does not fit here."""


class Builder:
    """A block under construction."""

    def __init__(self, drawer, context, outer, parameters=()):
        self.drawer, self.random, self.context, self.outer = drawer, drawer.random, context, list(outer)
        self.own, self.body, self.used = list(parameters), [], set()
        self.parameters = [p.name for p in parameters]

    # Registers

    def emit(self, op, operands, kind, shape, bound, exact=False, rough=False, vary=None, **attributes):
        if int(np.prod(shape)) > LARGEST or (kind == "f" and bound > 300) or bound > 1e5:
            raise Refused
        if vary is None:
            vary = frozenset().union(*(x.vary for x in operands))
        result = Register(self.drawer.fresh(kind), tuple(shape), bound, vary, exact and all(x.exact for x in operands), rough or any(x.rough for x in operands))
        names = {k.rstrip("_"): str(v) for k, v in attributes.items() if v is not None}
        self.body.append(Instruction([result.name], op, [x.name for x in operands], names))
        self.used.update(x.name for x in operands)
        self.own.append(result)
        return result

    def pick(self, kind="f", test=lambda r: True):
        """A register, of late ones rather than early, of one's own rather than captured, of the unused rather than the used."""
        own = [r for r in self.own if r.kind == kind and test(r)]
        outer = [r for r in self.outer if r.kind == kind and test(r)]
        if not own and not outer:
            return None
        if own and (not outer or self.random.random() < 0.85):
            weights = [(2.0 if r.name not in self.used else 0.7) * (1 + i) for i, r in enumerate(own)]
            return self.random.choices(own, weights)[0]
        return self.random.choice(outer)

    def need(self, kind="f", test=lambda r: True):
        r = self.pick(kind, test)
        if r is None:
            raise Refused
        return r

    def make(self, kind, shape):
        """A register of this shape: one that is there, a new input, or another one resized."""
        shape = tuple(shape)
        if self.random.random() < 0.8:
            r = self.pick(kind, lambda r: r.shape == shape)
            if r is not None:
                return r
        if self.context.depth == 0:
            r = self.drawer.input(kind, shape)
            self.own.append(r)
            return r
        r = self.pick(kind)
        if r is None:
            return self.emit("full", [], kind, shape, 1, exact=True, shape_=shape_text(shape), c=1 if kind == "i" else 0.75)
        if r.shape == shape:
            return r
        return self.emit("resize", [r], kind, shape, r.bound, exact=True, shape_=shape_text(shape))

    def small(self, x, bound=3):
        return x if x.bound <= bound else self.emit("tanh", [x], "f", x.shape, 1)

    def positive(self, x):
        y = self.emit("square", [self.small(x)], "f", x.shape, 9)
        return self.emit("addc", [y], "f", x.shape, 10, c=self.random.choice([0.5, 1]))

    def draw_shape(self, most=2, dims=(1, 2, 2, 3, 3, 4)):
        return tuple(self.random.choice(dims) for _ in range(self.random.randint(0, most)))

    def dims_of(self, x, least=1):
        if not x.shape:
            raise Refused
        count = self.random.randint(least, len(x.shape))
        dims = sorted(self.random.sample(range(len(x.shape)), count))
        return [d - len(x.shape) if self.random.random() < 0.25 else d for d in dims]

    def dim_of(self, x):
        return self.dims_of(x)[0]

    # Operations: each method op_* adds instructions, or raises Refused.

    def op_unary(self):
        op = self.random.choice(["sin", "cos", "tanh", "atan", "erf", "sigmoid", "softplus", "gelu", "relu", "abs", "neg", "square", "exp", "expm1", "sign",
                                 "stop_gradient", "log", "log1p", "sqrt", "rsqrt", "floor", "round", "addc", "mulc", "clip"])
        x = self.need()
        bounded = {"sin": 1, "cos": 1, "tanh": 1, "atan": 1.6, "erf": 1, "sigmoid": 1, "sign": 1}
        if op in bounded:
            return self.emit(op, [x], "f", x.shape, bounded[op])
        if op in ("log", "log1p", "sqrt", "rsqrt"):
            return self.emit(op, [self.positive(x)], "f", x.shape, 4)
        if op in ("exp", "expm1"):
            return self.emit(op, [self.small(x, 2)], "f", x.shape, 8)
        if op == "square":
            return self.emit(op, [x], "f", x.shape, x.bound ** 2)
        if op == "addc":
            return self.emit(op, [x], "f", x.shape, x.bound + 1, c=self.random.choice([-1, 0.5, 0.25, 1]))
        if op == "mulc":
            return self.emit(op, [x], "f", x.shape, 2 * x.bound, c=self.random.choice([-1, 0.5, 2, 1.25]))
        if op == "clip":
            return self.emit(op, [x], "f", x.shape, 1, lo=-1, hi=1)
        return self.emit(op, [x], "f", x.shape, x.bound + 1, exact=op in ("neg", "abs", "stop_gradient"))

    def pair(self, kind):
        x = self.need(kind)
        y = self.pick(kind, lambda r: compatible(r.shape, x.shape))
        if y is None or (y is x and self.random.random() < 0.7):
            y = self.make(kind, x.shape[self.random.randint(0, len(x.shape)):] if self.random.random() < 0.5 else x.shape)
        if self.random.random() < 0.5:
            x, y = y, x
        return x, y, np.broadcast_shapes(x.shape, y.shape)

    def op_binary(self):
        op = self.random.choice(["add", "add", "sub", "mul", "mul", "maximum", "minimum", "div", "pow", "atan2"])
        x, y, shape = self.pair("f")
        if op == "div":
            return self.emit(op, [x, self.positive(y)], "f", shape, 2 * x.bound)
        if op == "pow":
            return self.emit(op, [self.positive(x), self.small(y, 2)], "f", shape, 100)
        if op == "atan2":
            return self.emit(op, [x, self.positive(y)], "f", shape, 1.6)
        return self.emit(op, [x, y], "f", shape, {"mul": x.bound * y.bound, "maximum": max(x.bound, y.bound), "minimum": max(x.bound, y.bound)}.get(op, x.bound + y.bound))

    def op_integer(self):
        op = self.random.choice(["add", "sub", "mul", "maximum", "minimum", "div", "fmod", "neg", "abs", "square", "sign", "addc", "clip", "to_float", "to_float", "to_int"])
        if op == "to_int":
            x = self.need()
            return self.emit(op, [x], "i", x.shape, x.bound)
        if op in ("neg", "abs", "square", "sign", "addc", "clip", "to_float"):
            x = self.need("i")
            extra = {"addc": {"c": self.random.choice([-1, 1, 2])}, "clip": {"lo": -1, "hi": 2}}.get(op, {})
            if op == "to_float" and x.bound > 100:
                raise Refused
            return self.emit(op, [x], "f" if op == "to_float" else "i", x.shape, {"square": x.bound ** 2}.get(op, x.bound + 2), exact=True, **extra)
        x, y, shape = self.pair("i")
        return self.emit(op, [x, y], "i", shape, {"mul": x.bound * y.bound}.get(op, x.bound + y.bound + 1))

    def op_compare(self):
        kind = self.random.choice("ffi")
        x, y, shape = self.pair(kind)
        if self.random.random() < 0.5:
            return self.emit(self.random.choice(["lt", "ge"] + (["eq"] if kind == "i" else [])), [x, y], "i", shape, 1)
        kind = self.random.choice("ffi")
        a, b = self.make(kind, shape), self.make(kind, shape)
        return self.emit("where_lt", [x, y, a, b], kind, shape, max(a.bound, b.bound))

    def op_reduce(self):
        op = self.random.choice(["sum", "sum", "mean", "max", "min", "prod", "var", "logsumexp", "softmax", "log_softmax", "cumsum"])
        kind = "f" if op in ("mean", "var", "logsumexp", "softmax", "log_softmax") else self.random.choice("ffi")
        x = self.need(kind, lambda r: r.shape)
        if op == "cumsum":
            return self.emit(op, [x], kind, x.shape, x.bound * x.size, dim=self.dim_of(x))
        dims = self.dims_of(x)
        text = ",".join(map(str, dims))
        if op in ("softmax", "log_softmax"):
            return self.emit(op, [x], "f", x.shape, 1 if op == "softmax" else 2 * x.bound + 4, dims=text)
        if op == "prod" and (x.size > 8 or x.bound > 3):
            raise Refused
        reduced = [d % len(x.shape) for d in dims]
        keep = self.random.random() < 0.3
        shape = [1 if d in reduced else s for d, s in enumerate(x.shape) if keep or d not in reduced]
        count = int(np.prod([x.shape[d] for d in reduced]))
        bound = {"sum": x.bound * count, "prod": max(1, x.bound) ** count, "var": x.bound ** 2, "logsumexp": x.bound + 4}.get(op, x.bound)
        return self.emit(op, [x], kind, shape, bound, exact=op in ("max", "min"), dims=text, keep=1 if keep else None)

    def op_arg(self):
        x = self.need("f", lambda r: r.shape)
        op = self.random.choice(["argmax", "argmin", "argsort", "sort"])
        dim = self.dim_of(x)
        if op == "sort":
            return self.emit(op, [x], "f", x.shape, x.bound, exact=True, dim=dim)
        shape = x.shape if op == "argsort" else tuple(s for d, s in enumerate(x.shape) if d != dim % len(x.shape))
        return self.emit(op, [x], "i", shape, 8, dim=dim)

    def op_move(self):
        kind = self.random.choice("fffi")
        op = self.random.choice(["reshape", "transpose", "moveaxis", "broadcast", "expand", "flip", "roll", "tile", "index", "slice", "pad", "concatenate", "stack", "tril", "diag"])
        x = self.need(kind, lambda r: r.shape if op not in ("reshape", "broadcast", "expand", "stack") else True)
        rank = len(x.shape)

        def done(shape, bound=x.bound, operands=None, **attributes):
            return self.emit(op, operands or [x], kind, shape, bound, exact=True, **attributes)

        if op == "reshape":
            flat = self.random.choice([s for s in factorings(x.size) if s != x.shape] or [x.shape])
            return done(flat, shape_=shape_text(flat))
        if op == "transpose":
            order = self.random.sample(range(rank), rank)
            return done([x.shape[d] for d in order], dims=",".join(map(str, order)))
        if op == "moveaxis":
            a, b = self.random.randrange(rank), self.random.randrange(rank)
            shape = list(x.shape)
            shape.insert(b, shape.pop(a))
            return done(shape, from_=a, to=b)
        if op == "broadcast":
            shape = tuple(self.random.choice([2, 3]) if s == 1 else s for s in x.shape)
            shape = self.draw_shape(1) + shape
            return done(shape, shape_=shape_text(shape))
        if op == "expand":
            d = self.random.randint(0, rank)
            return done(x.shape[:d] + (1,) + x.shape[d:], dim=d)
        if op == "flip":
            return done(x.shape, dims=",".join(map(str, self.dims_of(x))))
        if op == "roll":
            return done(x.shape, by=self.random.randint(-2, 3), dim=self.dim_of(x))
        if op == "tile":
            by = [self.random.choice([1, 2]) for _ in x.shape]
            return done([s * b for s, b in zip(x.shape, by)], by=",".join(map(str, by)))
        if op == "index":
            return done(x.shape[1:], at=self.random.randrange(-x.shape[0], x.shape[0]))
        if op == "slice":
            begin = [self.random.randrange(s) for s in x.shape]
            end = [self.random.randint(b + 1, s) for b, s in zip(begin, x.shape)]
            return done([e - b for b, e in zip(begin, end)], begin=",".join(map(str, begin)), end=",".join(map(str, end)))
        if op == "pad":
            low, high = [self.random.choice([0, 0, 1]) for _ in x.shape], [self.random.choice([0, 1, 2]) for _ in x.shape]
            return done([s + a + b for s, a, b in zip(x.shape, low, high)], max(1, x.bound), low=",".join(map(str, low)), high=",".join(map(str, high)), c=self.random.choice([0, 1]))
        if op == "concatenate":
            d = self.random.randrange(rank)
            y = self.pick(kind, lambda r: len(r.shape) == rank and all(a == b for k, (a, b) in enumerate(zip(r.shape, x.shape)) if k != d)) or x
            return done(x.shape[:d] + (x.shape[d] + y.shape[d],) + x.shape[d + 1:], max(x.bound, y.bound), [x, y], dim=d)
        if op == "stack":
            y = self.make(kind, x.shape)
            d = self.random.randint(0, rank)
            return done(x.shape[:d] + (2,) + x.shape[d:], max(x.bound, y.bound), [x, y], dim=d)
        if op == "tril":
            if rank < 2:
                raise Refused
            op = self.random.choice(["tril", "triu"])
            return self.emit(op, [x], kind, x.shape, x.bound, exact=True, k=self.random.choice([-1, 0, 1]))
        if rank > 2 or x.size > 6:
            raise Refused
        if rank == 1:
            return done((x.shape[0],) * 2, k=0)
        return done((min(x.shape),), k=0)

    def indices(self, shape, size):
        i = self.make("i", shape)
        return self.emit("clip", [i], "i", i.shape, size, lo=0, hi=size - 1)

    def op_gather(self):
        op = self.random.choice(["take", "take_along", "scatter_add", "one_hot", "uniform"])
        if op == "uniform":
            i = self.pick("i", lambda r: r.shape == ())
            if i is None:
                raise Refused
            i = self.emit("abs", [i], "i", (), i.bound)
            shape = self.draw_shape()
            return self.emit(op, [i], "f", shape, 1, seed=self.random.randrange(100), shape_=shape_text(shape))
        if op == "one_hot":
            i = self.need("i", lambda r: len(r.shape) < 3)
            return self.emit(op, [i], "f", i.shape + (3,), 1, n=3)
        kind = self.random.choice("ffi")
        x = self.need(kind, lambda r: r.shape)
        if op == "take":
            dim = self.random.randrange(len(x.shape))
            i = self.indices(self.draw_shape(), x.shape[dim])
            return self.emit(op, [x, i], kind, x.shape[:dim] + i.shape + x.shape[dim + 1:], x.bound, exact=True, dim=dim)
        if op == "take_along":
            dim = self.random.randrange(len(x.shape))
            i = self.indices(x.shape[:dim] + (self.random.choice([1, 2, 3]),) + x.shape[dim + 1:], x.shape[dim])
            return self.emit(op, [x, i], kind, i.shape, x.bound, exact=True, dim=dim)
        i = self.indices((self.random.choice([1, 2, 3]),), x.shape[0])
        u = self.make(kind, i.shape + x.shape[1:])
        return self.emit(op, [x, i, u], kind, x.shape, x.bound + 3 * u.bound)

    def op_product(self):
        op = self.random.choice(["matmul", "matmul", "dot", "outer", "einsum"])
        if op in ("dot", "outer"):
            x = self.need("f", lambda r: len(r.shape) == 1)
            y = self.make("f", x.shape)
            shape = () if op == "dot" else x.shape + y.shape
            return self.emit(op, [x, y], "f", shape, x.bound * y.bound * x.size)
        x = self.need("f", lambda r: len(r.shape) == 2)
        if op == "matmul":
            if self.random.random() < 0.3:
                y = self.make("f", x.shape[1:])
                return self.emit(op, [x, y], "f", x.shape[:1], x.bound * y.bound * x.shape[1])
            y = self.make("f", (x.shape[1], self.random.choice([1, 2, 3])))
            return self.emit(op, [x, y], "f", (x.shape[0], y.shape[1]), x.bound * y.bound * x.shape[1])
        by = self.random.choice(["ij,kj->ik", "ij,ij->i", "ij,jk->ki", "ij,ij->"])
        left, right = by.split("->")[0].split(",")
        sizes = dict(zip(left, x.shape))
        y = self.make("f", [sizes.setdefault(c, self.random.choice([1, 2, 3])) for c in right])
        return self.emit(op, [x, y], "f", [sizes[c] for c in by.split("->")[1]], x.bound * y.bound * x.size, by=by)

    # Collectives

    def op_collective(self):
        op = self.random.choice(["psum", "psum", "pmean", "pmean", "pmax", "pmin", "all_gather", "all_gather", "psum_scatter", "all_to_all", "pswapaxes", "ppermute",
                                 "pshift", "pshuffle", "pbroadcast", "axis_index", "axis_index", "axis_size", "pargmax"])
        asks = op in ("axis_index", "axis_size")  # also under a predicate that varies over the axis
        axes = [a for a in self.context.axes if asks or a.name not in self.context.banned]
        if not axes:
            raise Refused
        axis = self.random.choice(axes[-1:] * 2 + axes)
        n = axis.size
        if len(axes) > 1 and (asks or op in ("psum", "pmean", "pmax", "pmin")) and self.random.random() < (0.6 if asks else 0.3):
            several = self.random.sample(axes, self.random.randint(2, len(axes)))
        else:
            several = [axis]
        names = ",".join(a.name for a in several)
        if asks:
            total = int(np.prod([a.size for a in several]))
            return self.emit(op, [], "i", (), total, axis=names, vary=frozenset(a.name for a in several) if op == "axis_index" else frozenset())
        groups = None
        if len(several) == 1 and n > 1 and self.random.random() < 0.35 and op in ("psum", "pmean", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "pswapaxes"):
            order = self.random.sample(range(n), n)
            if op in ("psum", "pmax", "pmin") and self.random.random() < 0.4:  # of different sizes
                cuts = sorted(self.random.sample(range(1, n), self.random.randint(0, n - 1)))
                parts = [order[a:b] for a, b in zip([0] + cuts, cuts + [n])]
            else:
                n = self.random.choice([k for k in (1, 2, 3, 4) if n % k == 0])
                parts = [order[b:b + n] for b in range(0, len(order), n)]
            groups = "/".join(",".join(map(str, part)) for part in parts)
        count = int(np.prod([a.size for a in several])) if groups is None else n
        lost = frozenset(a.name for a in several) if groups is None else frozenset()

        def operand(x):
            if op in ("pmax", "pmin") and self.context.in_grad and x.kind == "f":
                return self.emit("stop_gradient", [x], "f", x.shape, x.bound)
            return x

        if op in ("psum", "pmean", "pmax", "pmin", "pargmax"):
            if op == "pargmax":
                op = self.random.choice(["pargmax", "pargmin"])
            kind = "f" if op in ("pmean", "pargmax", "pargmin") else self.random.choice("fffi")
            x = operand(self.need(kind))
            gone = x.vary - lost
            if op in ("pargmax", "pargmin"):
                return self.emit(op, [x], "i", x.shape, count, axis=names, vary=gone)
            result = self.emit(op, [x], kind, x.shape, x.bound * (count if op == "psum" else 1), axis=names, groups=groups, vary=gone | (frozenset() if groups is None else frozenset([axis.name])))
            return self.both(result, operand, op) if self.random.random() < 0.25 else result
        kind = self.random.choice("fffi")
        here = frozenset([axis.name])
        tiled = 1 if self.random.random() < 0.4 else None
        if op == "all_gather":
            x = self.need(kind, lambda r: r.shape or not tiled)
            d = self.random.randrange(len(x.shape) + (0 if tiled else 1))
            shape = x.shape[:d] + (x.shape[d] * n,) + x.shape[d + 1:] if tiled else x.shape[:d] + (n,) + x.shape[d:]
            dim = d - len(shape) if self.random.random() < 0.2 else d
            return self.emit(op, [x], kind, shape, x.bound, exact=True, axis=names, dim=dim, tiled=tiled, groups=groups, vary=x.vary - lost | (here if groups else frozenset()))
        if op == "pbroadcast":
            x = self.need(kind)
            return self.emit(op, [x], kind, x.shape, x.bound, exact=True, axis=names, from_=self.random.randrange(n), vary=x.vary - lost)
        if op in ("psum_scatter", "all_to_all", "pswapaxes"):
            if op == "pswapaxes":
                tiled = None
            x = self.pick(kind, lambda r: any(s % n == 0 if tiled else s == n for s in r.shape))
            if x is None or n == 1:
                shape = list(self.draw_shape(1, (1, 2, 3)))
                shape.insert(self.random.randint(0, len(shape)), n * (self.random.choice([1, 2]) if tiled else 1))
                x = self.make(kind, shape)
            d = self.random.choice([d for d, s in enumerate(x.shape) if (s % n == 0 if tiled else s == n)])
            rest = x.shape[:d] + x.shape[d + 1:]
            cut = x.shape[:d] + (x.shape[d] // n,) + x.shape[d + 1:] if tiled else rest
            if op == "psum_scatter":
                return self.emit(op, [x], kind, cut, x.bound * n, axis=names, dim=d, tiled=tiled, groups=groups, vary=x.vary | here)
            if op == "pswapaxes":
                return self.emit(op, [x], kind, x.shape, x.bound, exact=True, axis=names, dim=d, groups=groups, vary=x.vary | here)
            c = self.random.randrange(len(x.shape))
            shape = cut[:c] + (cut[c] * n,) + cut[c + 1:] if tiled else rest[:c] + (n,) + rest[c:]
            return self.emit(op, [x], kind, shape, x.bound, exact=True, axis=names, split=d, concat=c, tiled=tiled, groups=groups, vary=x.vary | here)
        x = self.need(kind)
        if op == "pshuffle":
            extra = {"sources": ",".join(map(str, self.random.sample(range(n), n)))}
        elif op == "pshift":
            extra = {"by": self.random.randint(-2, 2), "wrap": self.random.choice([1, None])}
        else:
            count = self.random.randint(1, n)
            extra = {"pairs": ",".join(f"{s}>{d}" for s, d in zip(self.random.sample(range(n), count), self.random.sample(range(n), count)))}
        return self.emit(op, [x], kind, x.shape, x.bound, exact=True, axis=names, vary=x.vary | here, **extra)

    def both(self, result, operand, op):
        """A second operand for the reduction just emitted: a tree in one meeting."""
        y = self.pick("f", lambda r: r is not result)
        if y is None or (op in ("pmax", "pmin") and self.context.in_grad):
            return result
        n = self.body[-1]
        extra = dataclasses.replace(y, name=self.drawer.fresh("f"), vary=result.vary | y.vary, bound=y.bound * 8, exact=False)
        n.operands.append(y.name)
        n.results.append(extra.name)
        self.used.add(y.name)
        self.own.append(extra)
        return result

    # Operations with blocks

    def inner(self, context, parameters, least, most):
        block = Builder(self.drawer, context, self.outer + self.own, parameters)
        block.fill(self.random.randint(least, most))
        return block

    def finish(self, block, results):
        block.used.update(r.name for r in results)
        return Block(block.parameters, block.body, [r.name for r in results])

    def last(self, block, count, test=lambda r: True):
        """Results of a block: what nobody used, late ones first."""
        own = [r for r in block.own if test(r)]
        if not own:
            raise Refused
        order = sorted(range(len(own)), key=lambda k: (own[k].name in block.used, -k))
        return [own[k] for k in order[:count]]

    def parameter(self, x, shape=None, vary=None, bound=None):
        return Register(self.drawer.fresh(x.kind), x.shape if shape is None else tuple(shape), bound or x.bound, x.vary if vary is None else vary, x.exact, x.rough)

    def structure(self, op, operands, results, blocks, **attributes):
        self.body.append(Instruction([r.name for r in results], op, [x.name for x in operands], {k: str(v) for k, v in attributes.items()}, blocks))
        self.used.update(x.name for x in operands)
        self.own += results
        self.used.update(name for b in blocks for name in names_in(b))
        return results

    def deeper(self, **changes):
        return dataclasses.replace(self.context, depth=self.context.depth + 1, **changes)

    def op_map(self):
        pmap = self.context.pmap_ok and self.random.random() < 0.45
        op = "pmap" if pmap else "vmap"
        n = self.random.choice(SIZES)
        if pmap:
            n = self.drawer.pmap_size = self.drawer.pmap_size or n
        axis = Axis(self.drawer.axis_name(), n, op)
        operands, parameters, specs = [], [], []
        for k in range(self.random.choice([1, 2, 2, 3])):
            kind = self.random.choice("ffffi")
            if k and self.random.random() < 0.3:
                x = self.pick(kind)
                if x is None:
                    continue
                operands.append(x)
                parameters.append(self.parameter(x))
                specs.append("r")
                continue
            shape = list(self.draw_shape())
            d = self.random.randint(0, len(shape))
            if shape and self.random.random() < 0.2:
                d = self.random.randrange(len(shape))
                full = shape[:d] + [shape[d] * n] + shape[d + 1:]
                specs.append(f"s{d}")
            else:
                full = shape[:d] + [n] + shape[d:]
                specs.append(str(d))
            if np.prod(full) > 2 * LARGEST:
                raise Refused
            x = self.make(kind, full)
            operands.append(x)
            parameters.append(self.parameter(x, shape, x.vary | {axis.name}))
        block = self.inner(self.deeper(axes=self.context.axes + (axis,), pmap_ok=self.context.pmap_ok and not pmap), parameters, 3, 6)
        returned = self.last(block, self.random.choice([1, 1, 2, 3]))
        results, out = [], []
        for r in returned:
            rank = len(r.shape)
            vary = r.vary - {axis.name}
            if axis.name not in r.vary and self.random.random() < 0.6:
                shape, spec = r.shape, "r"
            elif rank and self.random.random() < 0.2:
                d = self.random.randrange(rank)
                shape, spec = r.shape[:d] + (r.shape[d] * n,) + r.shape[d + 1:], f"s{d}"
            else:
                d = self.random.randint(0, rank) if rank else 0
                shape, spec = r.shape[:d] + (n,) + r.shape[d:], str(d)
            if np.prod(shape) > 3 * LARGEST:
                raise Refused
            results.append(Register(self.drawer.fresh(r.kind), shape, r.bound, vary, r.exact, r.rough))
            out.append(spec)
        return self.structure(op, operands, results, [self.finish(block, returned)], name=axis.name, size=n, **{"in": ",".join(specs), "out": ",".join(out)})

    def loss(self, block):
        parts = [block.small(r, 20) for r in self.last(block, self.random.choice([1, 2]), lambda r: r.kind == "f")]
        sums = [p if p.shape == () else block.emit(self.random.choice(["mean", "sum"]), [p], "f", (), p.bound * p.size, dims=",".join(map(str, range(len(p.shape))))) for p in parts]
        return sums[0] if len(sums) == 1 else block.emit("add", sums, "f", (), sums[0].bound + sums[1].bound)

    def op_grad(self):
        operands = [self.need() for _ in range(self.random.choice([1, 1, 2]))]
        block = self.inner(self.deeper(in_grad=True), [self.parameter(x) for x in operands], 3, 6)
        loss = self.loss(block)
        vary = union(operands + block.own + self.captured(block))
        aux = self.last(block, 1) if self.random.random() < 0.4 else []
        value = self.random.random() < 0.4
        results = [Register(self.drawer.fresh("f"), x.shape, 30, vary, False, True) for x in operands]
        if value:
            results.append(Register(self.drawer.fresh("f"), (), loss.bound, vary, False, loss.rough))
        results += [dataclasses.replace(r, name=self.drawer.fresh(r.kind), vary=vary) for r in aux]
        return self.structure("grad", operands, results, [self.finish(block, [loss] + aux)], value=int(value))

    def captured(self, block):
        named = {r.name: r for r in self.outer + self.own}
        return [named[name] for n in block.body for name in names_in_instruction(n) if name in named]

    def op_vjp(self):
        operands = [self.need() for _ in range(self.random.choice([1, 2]))]
        block = self.inner(self.deeper(in_grad=True), [self.parameter(x) for x in operands], 2, 5)
        returned = self.last(block, self.random.choice([1, 2]), lambda r: r.kind == "f" and r.name not in block.parameters)
        cotangents = [self.make("f", r.shape) for r in returned]
        vary = union(operands + block.own + self.captured(block) + cotangents)
        results = [dataclasses.replace(r, name=self.drawer.fresh("f"), vary=vary, exact=False) for r in returned]
        results += [Register(self.drawer.fresh("f"), x.shape, 30, vary, False, True) for x in operands]
        return self.structure("vjp", operands + cotangents, results, [self.finish(block, returned)], count=len(operands))

    def coerced(self, block, like):
        """A result for a carry like this, of the block's last values."""
        x = next(iter(self.last(block, 1, lambda r: r.kind == like.kind and r.shape == like.shape and r.name not in block.parameters)), None) if self.has(block, like) else None
        if x is None:
            x = block.need(like.kind)
            if x.shape != like.shape:
                x = block.emit("resize", [x], like.kind, like.shape, x.bound, shape_=shape_text(like.shape))
        if like.kind == "f":
            return block.emit("tanh", [x], "f", x.shape, 1)
        return block.emit("clip", [x], "i", x.shape, 3, lo=-3, hi=3)

    def has(self, block, like):
        return any(r.kind == like.kind and r.shape == like.shape and r.name not in block.parameters for r in block.own)

    def op_loop(self):
        op = self.random.choice(["while", "fori", "scan"])
        carry = [self.need(self.random.choice("ffi"), lambda r: r.bound <= 30) for _ in range(self.random.choice([1, 1, 2]))]
        operands, extra, attributes, banned = list(carry), [], {}, frozenset()
        if op == "while":
            if self.context.in_grad:
                raise Refused
            limit = self.emit("clip", [self.need("i", lambda r: r.shape == ())], "i", (), 3, lo=0, hi=3)
            operands.insert(0, limit)
            banned = limit.vary
        elif op == "fori":
            low = self.random.randint(0, 1)
            attributes = {"lo": low, "hi": low + self.random.randint(1, 3)}
            extra = [Register(self.drawer.fresh("i"), (), 4)]
        else:
            steps = self.random.randint(1, 3)
            for _ in range(self.random.randint(1, 2)):
                x = self.make(self.random.choice("ffi"), (steps,) + self.draw_shape(1))
                operands.append(x)
                extra.append(self.parameter(x, x.shape[1:]))
            attributes = {"carry": len(carry)}
        vary = union(operands)
        states = [self.parameter(x, bound=max(3, x.bound), vary=frozenset(a.name for a in self.context.axes)) for x in carry]
        parameters = extra + states if op == "fori" else states + extra
        block = self.inner(self.deeper(pmap_ok=False, banned=self.context.banned | banned), parameters, 2, 4)
        returned = [self.coerced(block, x) for x in carry]
        if op == "scan":
            returned += self.last(block, 1)
        vary = vary | frozenset(a.name for a in self.context.axes)
        results = [dataclasses.replace(x, name=self.drawer.fresh(x.kind), vary=vary, exact=False, rough=any(r.rough for r in block.own), bound=max(3, x.bound)) for x in carry]
        if op == "scan":
            y = returned[-1]
            results.append(Register(self.drawer.fresh(y.kind), (steps,) + y.shape, y.bound, vary, False, any(r.rough for r in block.own)))
        return self.structure(op, operands, results, [self.finish(block, returned)], **attributes)

    def op_cond(self):
        p = self.need("i", lambda r: r.shape == ())
        operands = [self.need(self.random.choice("ffi")) for _ in range(self.random.choice([1, 2]))]
        blocks, returned, like = [], [], None
        for _ in range(2):
            block = self.inner(self.deeper(pmap_ok=False, banned=self.context.banned | p.vary), [self.parameter(x) for x in operands], 1, 4)
            if like is None:
                returned = self.last(block, 1)
                like = returned[0]
            else:
                returned = [self.coerced(block, like)]
            blocks.append((block, returned))
        vary = union([p] + operands + [r for b, _ in blocks for r in b.own + self.captured(b)])
        result = Register(self.drawer.fresh(like.kind), like.shape, max(r[0].bound for _, r in blocks), vary, False, any(r[0].rough for _, r in blocks))
        return self.structure("cond", [p] + operands, [result], [self.finish(b, r) for b, r in blocks])

    def op_checkpoint(self):
        operands = [self.need(self.random.choice("ffi")) for _ in range(self.random.choice([1, 2]))]
        block = self.inner(self.deeper(), [self.parameter(x) for x in operands], 2, 4)
        returned = self.last(block, self.random.choice([1, 2]))
        results = [dataclasses.replace(r, name=self.drawer.fresh(r.kind), exact=False) for r in returned]
        return self.structure("checkpoint", operands, results, [self.finish(block, returned)])

    # Choice

    def fill(self, count):
        flat = [(self.op_unary, 5), (self.op_binary, 5), (self.op_integer, 2), (self.op_compare, 1.5), (self.op_reduce, 2.5), (self.op_arg, 0.8), (self.op_move, 4), (self.op_gather, 2), (self.op_product, 2)]
        blocks = [(self.op_map, 5), (self.op_grad, 3), (self.op_vjp, 1), (self.op_loop, 1.8), (self.op_cond, 1.2), (self.op_checkpoint, 0.6)]
        deep = [0.65, 0.3, 0.2, 0.06, 0][min(4, self.context.depth)]
        tries = 0
        while count > 0 and tries < 60:
            tries += 1
            saved = (list(self.own), list(self.body), set(self.used))
            draw = self.random.random()
            if draw < deep:
                table = blocks
            elif self.context.axes and draw < deep + 0.35:
                table = [(self.op_collective, 1)]
            else:
                table = flat
            try:
                self.random.choices([f for f, _ in table], [w for _, w in table])[0]()
                count -= 1
            except Refused:
                self.own, self.body, self.used = saved
                self.own += [r for r in self.drawer.new_inputs() if self.context.depth == 0 and r not in self.own]


def compatible(a, b):
    try:
        np.broadcast_shapes(a, b)
        return True
    except ValueError:
        return False


def union(registers):
    return frozenset().union(*(r.vary for r in registers))


def factorings(n):
    shapes = {(n,)}
    for a in range(1, n + 1):
        if n % a == 0:
            shapes.add((a, n // a))
            for b in range(1, n // a + 1):
                if n // a % b == 0 and a > 1 and b > 1:
                    shapes.add((a, b, n // a // b))
    return sorted(shapes)


def names_in_instruction(n):
    yield from n.operands
    for block in n.blocks:
        yield from names_in(block)


def names_in(block):
    for n in block.body:
        yield from names_in_instruction(n)
    yield from block.results


class Drawer:
    def __init__(self, random):
        self.random, self.count, self.inputs, self.pmap_size, self.axes = random, 0, {}, None, 0
        self.registers = []

    def fresh(self, kind):
        self.count += 1
        return f"{kind}{self.count - 1}"

    def axis_name(self):
        self.axes += 1
        return "abcdefghijklmnopqrstuvwxyz"[(self.axes - 1) % 26]

    def input(self, kind, shape):
        if int(np.prod(shape)) > 2 * LARGEST:
            raise Refused
        name = self.fresh(kind)
        n = int(np.prod(shape))
        values = [self.random.randint(-128, 128) / 64 for _ in range(n)] if kind == "f" else [self.random.randint(-2, 4) for _ in range(n)]
        self.inputs[name] = np.array(values, np.float32 if kind == "f" else np.int32).reshape(shape)
        register = Register(name, tuple(shape), 2 if kind == "f" else 4, exact=True)
        self.registers.append(register)
        return register

    def new_inputs(self):
        return self.registers

    def program(self, id):
        main = Builder(self, Context(), [])
        for kind in "ffi":
            main.own.append(self.input(kind, main.draw_shape()))
        main.fill(self.random.randint(2, 5))
        made = [r for r in main.own if r.name not in self.inputs]
        structured = {name for n in main.body if n.blocks for name in n.results}
        order = sorted(made, key=lambda r: (r.name in main.used, r.name not in structured))
        outputs = {}
        room = 130
        for r in order[:4]:
            if r.size <= room and (r.name not in main.used or not outputs):
                room -= r.size
                outputs[r.name] = "i" if r.kind == "i" else "x" if r.exact else "g" if r.rough else "f"
        if not outputs:
            raise Refused
        program = Program(id, self.inputs, main.body, outputs)
        prune(program)
        return program


def prune(program):
    """Removes what no output needs: instructions, results of maps and branches, parameters, inputs."""
    while True:
        needed = set(program.outputs)
        collect_needed(program.body, needed)
        if not sweep(program.body, needed):
            break
    program.inputs = {name: a for name, a in program.inputs.items() if name in needed}


def collect_needed(body, needed):
    for n in body:
        needed.update(n.operands)
        for block in n.blocks:
            needed.update(block.results)
            collect_needed(block.body, needed)


def sweep(body, needed):
    changed = False
    for n in list(body):
        if not any(r in needed for r in n.results):
            body.remove(n)
            changed = True
            continue
        if n.op in ("vmap", "pmap", "checkpoint", "cond"):
            keep = [k for k, r in enumerate(n.results) if r in needed]
            if len(keep) < len(n.results):
                changed = True
                n.results = [n.results[k] for k in keep]
                if "out" in n.attributes:
                    parts = n.attributes["out"].split(",")
                    n.attributes["out"] = ",".join(parts[k] for k in keep)
                for block in n.blocks:
                    block.results = [block.results[k] for k in keep]
        if n.op in ("vmap", "pmap", "checkpoint"):
            block = n.blocks[0]
            inside = set(block.results)
            collect_needed(block.body, inside)
            parts = n.attributes["in"].split(",") if "in" in n.attributes else None
            keep = [k for k, p in enumerate(block.parameters) if p in inside]
            if not keep or (parts and all(parts[k] == "r" for k in keep)):
                first = next((k for k in range(len(block.parameters)) if not parts or parts[k] != "r"), 0)
                keep = sorted(set(keep + [first]))
            if len(keep) < len(block.parameters):
                changed = True
                block.parameters = [block.parameters[k] for k in keep]
                n.operands = [n.operands[k] for k in keep]
                if parts:
                    n.attributes["in"] = ",".join(parts[k] for k in keep)
        if n.op == "grad" and len(n.results) > len(n.operands) + int(n.attributes["value"]):
            first = len(n.operands) + int(n.attributes["value"])
            if n.results[first] not in needed:
                n.results.pop(first)
                n.blocks[0].results.pop(1)
                changed = True
        for block in n.blocks:
            changed |= sweep(block.body, needed)
    return changed
