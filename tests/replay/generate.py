#!/usr/bin/env python3
"""Draws random programs and JAX's answers, or checks a build of tests/replay_test.cpp with fresh ones.

  generate.py --count 500 --seed 1 --out programs.txt
  generate.py --count 2000 --seed 7 --check build/release/tests/replay_test
  generate.py --reduce FILE --check BINARY            the smallest program that disagrees, from the programs of a file that do

A program is drawn again where JAX refuses it, or where small changes of the inputs change its answers much (see `benign`).
"""
import argparse
import collections
import copy
import os
import random
import subprocess
import sys
import tempfile

from programs import Answer, Block, Instruction, Program, jax, jumps, np, numbers, shape_of, shape_text, text_of
from draw import Drawer, Refused, prune

refusals = collections.Counter()


def benign(program, answer, answers, thorough=False):
    """Answers that are finite, not large, and move little when the inputs do: no comparison or rounding hangs on the last bits."""
    for name, kind in program.outputs.items():
        values = answers[name]
        if kind != "i" and (not np.all(np.isfinite(values)) or np.abs(values).max(initial=0) > 1e4):
            return False
    if not any(np.any(values) for values in answers.values()):
        return False
    rng = np.random.default_rng(0)
    # Moved one way and the other, two operands that are equal but for rounding compare differently in one of both.
    for k in range(4 if thorough or jumps(program.body) else 2):
        if k >= 2:
            answer = Answer(program, jitter=5 - 2 * k)
        nudged = {name: a + (1e-6 * rng.standard_normal(a.shape)).astype(np.float32) if name[0] == "f" else a for name, a in program.inputs.items()}
        moved = answer(nudged)
        for name, kind in program.outputs.items():
            if kind == "i":
                if np.any(moved[name] != answers[name]):
                    return False
            else:
                slack = {"x": 1e-5, "f": 1.5e-5, "g": 1.2e-4}[kind]
                if not np.all(np.abs(moved[name] - answers[name]) <= slack * (1 + np.abs(answers[name]))):
                    return False
    return True


def drawn(id, source, longest=40):
    """A benign program and JAX's answers."""
    for attempt in range(200):
        try:
            program = Drawer(random.Random(f"{source}-{attempt}")).program(id)
        except Refused:
            refusals["not drawn"] += 1
            continue
        count = len(text_of(program).splitlines())
        if count < 6 or count > longest:
            refusals["length"] += 1
            continue
        if random.Random(f"{source}-{attempt}-keep").random() < 0.9 and "map " not in text_of(program):
            refusals["no map"] += 1
            continue
        try:
            answer = Answer(program)
            answers = answer(program.inputs)
        except Exception as e:  # what JAX does not offer
            refusals[f"{type(e).__name__}: {str(e).splitlines()[0][:110] if str(e) else ''}"] += 1
            if os.environ.get("REPLAY_DEBUG"):
                print(text_of(program), repr(e)[:2000], file=sys.stderr)
            continue
        if not benign(program, answer, answers):
            refusals["not benign"] += 1
            continue
        return program, answers
    raise RuntimeError("nothing drawn in 200 attempts")


def disagreements(binary, texts, seconds=600):
    """id -> what the binary says, of those programs that differ; a crash is bisected by the ids that were printed."""
    wrong, remaining = {}, dict(texts)
    while remaining:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as f:
            f.write("".join(remaining.values()))
        environment = {**os.environ, "SPMD_REPLAY": f.name, "SPMD_REPLAY_VERBOSE": "1"}
        try:
            done = subprocess.run([binary], env=environment, capture_output=True, text=True, timeout=seconds)
            output, crashed = done.stdout + done.stderr, done.returncode not in (0, 1)
            reason = f"exit code {done.returncode}"
        except subprocess.TimeoutExpired as e:
            output, crashed, reason = (e.stdout or b"").decode() + (e.stderr or b"").decode(), True, "it hangs"
        os.unlink(f.name)
        run = [line.split()[1] for line in output.splitlines() if line.startswith("RUN ")]
        lines = output.splitlines()
        for k, line in enumerate(lines):
            if line.startswith("FAIL "):
                id = line.split()[1]
                rest = []
                for more in lines[k:]:
                    if not more.strip():
                        break
                    rest.append(more)
                wrong[id] = "\n".join(rest)[len(f"FAIL {id} "):]
        if not crashed:
            break
        if not run:
            raise RuntimeError(output)
        wrong[run[-1]] = reason
        for id in run:
            remaining.pop(id, None)
    return wrong


# Making a disagreement small


def blocks_of(body):
    yield body
    for n in body:
        for block in n.blocks:
            yield from blocks_of(block.body)


def renamed(body, old, new):
    for n in body:
        n.operands = [new if x == old else x for x in n.operands]
        for block in n.blocks:
            renamed(block.body, old, new)
            block.results = [new if x == old else x for x in block.results]


def smaller(program, types):
    """Programs with something less, the coarsest changes first."""
    for name in list(program.outputs):
        if len(program.outputs) > 1:
            p = copy.deepcopy(program)
            del p.outputs[name]
            yield p
    bodies = list(blocks_of(program.body))
    for at, body in enumerate(bodies):
        for k, n in reversed(list(enumerate(body))):
            if n.op != "full" and not any(r in program.outputs and len(program.outputs) == 1 for r in n.results):
                p = copy.deepcopy(program)
                target = list(blocks_of(p.body))[at]
                target[k:k + 1] = [Instruction([r], "full", [], {"shape": shape_text(types[r]), "c": "1" if r[0] == "i" else "0.75"}) for r in n.results]
                yield p
            for j, r in enumerate(n.results):
                for x in dict.fromkeys(n.operands):
                    if x[0] == r[0] and types[x] == types[r] and r not in program.outputs:
                        p = copy.deepcopy(program)
                        target = list(blocks_of(p.body))[at]
                        renamed(p.body, r, x)
                        yield p
            if n.op in ("cond", "checkpoint"):
                for block in range(len(n.blocks)):
                    p = copy.deepcopy(program)
                    target = list(blocks_of(p.body))[at]
                    m = target[k]
                    inner = m.blocks[block]
                    target[k:k + 1] = inner.body
                    for parameter, x in zip(inner.parameters, m.operands[1 if m.op == "cond" else 0:]):
                        renamed(p.body, parameter, x)
                    for r, x in zip(m.results, inner.results):
                        renamed(p.body, r, x)
                        if r in p.outputs:
                            p.outputs[x] = p.outputs.pop(r)
                    yield p
    # An inner value instead of the result of a block.
    for at, body in enumerate(bodies):
        for k, n in enumerate(body):
            for b, block in enumerate(n.blocks):
                for j, r in enumerate(block.results):
                    for x in [y for m in block.body for y in m.results] + block.parameters:
                        if x != r and x[0] == r[0] and types.get(x) == types.get(r) and before(block, x, r):
                            p = copy.deepcopy(program)
                            list(blocks_of(p.body))[at][k].blocks[b].results[j] = x
                            yield p


def before(block, x, r):
    order = block.parameters + [y for m in block.body for y in m.results]
    return x in order and (r not in order or order.index(x) < order.index(r))


def reduced(program, binary, say=lambda text: None):
    """The smallest program that still disagrees, with the answers and what is wrong."""

    def examine(p):
        try:
            prune(p)
            answer = Answer(p)
            answers = answer(p.inputs)
            if not benign(p, answer, answers, thorough=True):
                return None
            text = text_of(p, answers)
        except Exception:
            return None
        wrong = disagreements(binary, {p.id: text}, 60)
        return (p, answer.run.types, text, wrong[p.id]) if p.id in wrong else None

    best = examine(copy.deepcopy(program))
    progress = best is not None
    while progress:
        progress = False
        for p in smaller(best[0], best[1]):
            before_length = len(text_of(best[0]).split())
            found = examine(p)
            if found and len(text_of(found[0]).split()) < before_length:
                best, progress = found, True
                say(f"  {len(text_of(best[0]).split())} words")
                break
        jax.clear_caches()
    return best and best[2:]


def parsed(lines):
    """A program from its text."""
    lines = [line.split() for line in lines]
    at = 1
    inputs, outputs = {}, {}
    while lines[at][0] == "in":
        name, shape = lines[at][1], shape_of(lines[at][2])
        inputs[name] = np.array([float(v) for v in lines[at][3:]], np.float32 if name[0] == "f" else np.int32).reshape(shape)
        at += 1

    def body():
        nonlocal at
        list_ = []
        while lines[at][0] not in ("return", "out", "end"):
            words = lines[at]
            equals = words.index("=")
            n = Instruction(words[:equals], words[equals + 1], [w for w in words[equals + 2:] if "=" not in w], dict(w.split("=", 1) for w in words[equals + 2:] if "=" in w))
            at += 1
            while lines[at][0] == "do":
                parameters = lines[at][1:]
                at += 1
                inner = body()
                n.blocks.append(Block(parameters, inner, lines[at][1:]))
                at += 1
            list_.append(n)
        return list_

    main = body()
    for words in lines[at:]:
        if words[0] == "out":
            outputs[words[1]] = words[2]
    return Program(lines[0][1], inputs, main, outputs)


def stored(path):
    program = []
    for line in open(path):
        program.append(line)
        if line.strip() == "end":
            yield parsed(program)
            program = []


def check(binary, programs_and_texts):
    programs = {p.id: p for p, _ in programs_and_texts}
    wrong = disagreements(binary, {p.id: t for p, t in programs_and_texts})
    for id, reason in list(wrong.items()):
        answer = Answer(programs[id])
        if not benign(programs[id], answer, answer(programs[id].inputs), thorough=True):
            print(f"\n{id} hangs on rounding, looked at closely: {reason}", flush=True)
            del wrong[id]
            continue
        print(f"\nDISAGREEMENT {id}: {reason}", flush=True)
        small = reduced(programs[id], binary)
        if small:
            print(small[0] + "here: " + small[1], flush=True)
        else:
            print(text_of(programs[id]) + "(does not disagree alone)", flush=True)
    return len(wrong)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", default="1")
    options.add_argument("--first", type=int, default=0, help="index of the first program of the seed")
    options.add_argument("--longest", type=int, default=40, help="lines of a program at most")
    options.add_argument("--out")
    options.add_argument("--check", metavar="BINARY")
    options.add_argument("--reduce", metavar="FILE")
    options.add_argument("--print-refusals", action="store_true")
    given = options.parse_args()
    if given.reduce:
        pairs = []
        for p in stored(given.reduce):
            pairs.append((p, text_of(p, Answer(p)(p.inputs))))
        sys.exit(1 if check(given.check, pairs) else 0)
    out = open(given.out, "w") if given.out else None
    pairs, wrong = [], 0
    for k in range(given.first, given.first + given.count):
        program, answers = drawn(f"{given.seed}-{k}", f"{given.seed}-{k}", given.longest)
        text = text_of(program, answers)
        if out:
            out.write(text)
        pairs.append((program, text))
        if len(pairs) == 50 or k == given.first + given.count - 1:
            if given.check:
                wrong += check(given.check, pairs)
            pairs = []
            jax.clear_caches()
            print(f"{k + 1 - given.first} programs" + (f", {wrong} disagree" if given.check else ""), file=sys.stderr, flush=True)
    if given.print_refusals:
        for reason, count in refusals.most_common(40):
            print(count, reason, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
