"""PyTorch's own operator lists (OpInfo, and those of operators on lists of tensors) through vitrine.compile: values,
strides, aliasing, exceptions and gradients against eager. Every operator runs on PyTorch's own sample inputs; a process
that dies costs one operator and is reported.

    python -m tests.fuzz.op_sweep [--shard 0/4] [--dtypes float32,int64] [--samples 4] [--only NAME ...] [--seconds 100]
        [--wider] [--also ends holes ...] [--dynamic] [--patience 240]

Prints one line for each mismatch, then the figures; exit status 1 if anything differed.
"""

import argparse
import collections
import faulthandler
import json
import resource
import subprocess
import sys
import time
import warnings

import torch
from torch.testing._internal import common_methods_invocations as lists

from tests.python.support.op_cases import cases, changed, compare
from tests.python.support.op_values import LAYOUTS, MIXED, VALUES

OPERATORS = [*lists.op_db, *lists.foreach_unary_op_db, *lists.foreach_binary_op_db, *lists.foreach_pointwise_op_db,
             *lists.foreach_reduce_op_db, *lists.foreach_other_op_db]  # fmt: skip
DTYPES = ("float32", "int64", "bool", "bfloat16")
# Address space of the process that runs them, in bytes: a runaway ends there and not with the machine.
MOST = 12 << 30


def named(only):
    """The operators in a fixed order, those of the same name numbered."""
    seen = collections.Counter()
    for op in OPERATORS:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        seen[name] += 1
        name += f"#{seen[name]}" if seen[name] > 1 else ""
        if not only or name in only or op.name in only:
            yield name, op


def say(**row):
    print(json.dumps(row), flush=True)


def child(options):
    """Runs its operators one after another and prints what it does as lines of JSON."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    torch.set_num_threads(1)
    for name, op in named(options.only):
        say(begin=name)
        faulthandler.dump_traceback_later(options.patience, exit=True)
        for dtype in options.dtypes.split(","):
            for case in wanted_cases(op, getattr(torch, dtype), options):
                say(at=f"{dtype} {case.label}")
                say(case=dtype, wrong=compare(case, options.dynamic or None), label=case.label)
        faulthandler.cancel_dump_traceback_later()
    say(end=True)


def wanted_cases(op, dtype, options):
    for case in cases(op, dtype, options.samples, options.wider):
        if not options.only_also:
            yield case
        for kind in options.also if case.variant in ("plain", "in place") else ():
            made = changed(case, kind)
            if made:
                yield made


def run_child(names, options, report):
    """One process over `names`; gives back those it did not come to."""
    command = [sys.executable, "-m", "tests.fuzz.op_sweep", "--child", "--dtypes", options.dtypes, "--samples", str(options.samples)]
    command += ["--patience", str(options.patience)]
    command += ["--only", *names, "--also", *options.also]
    command += [flag for flag, given in (("--wider", options.wider), ("--only-also", options.only_also), ("--dynamic", options.dynamic)) if given]
    done, at, ended = None, "", False
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if not line.startswith("{"):
                continue
            row = json.loads(line)
            if "begin" in row:
                done = row["begin"]
            elif "at" in row:
                at = row["at"]
            elif "case" in row:
                report.case(done, row)
            else:
                ended = True
            if time.monotonic() > options.until and "begin" in row:
                process.terminate()
                return []
    if ended:
        return []
    report.died(done, f"{at}: the process ended with status {process.returncode}")
    return names[names.index(done) + 1 :] if done else []


class Report:
    def __init__(self):
        self.operators, self.cases, self.wrong = set(), collections.Counter(), []

    def case(self, name, row):
        self.operators.add(name)
        self.cases[row["case"]] += 1
        if row["wrong"]:
            self.died(name, f"{row['label']} {row['wrong']}")

    def died(self, name, what):
        self.wrong.append(name)
        print(f"{name}: {what}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th operator, from the i-th on")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--samples", type=int, default=4, help="of each operator and dtype; 0 for all")
    parser.add_argument("--wider", action="store_true", help="also methods, results to write into, no_grad")
    parser.add_argument("--also", nargs="*", default=[], choices=[*VALUES, *LAYOUTS, MIXED], help="with these values and layouts as well")
    parser.add_argument("--dynamic", action="store_true", help="with every size a symbol")
    parser.add_argument("--only-also", action="store_true", help="with these alone")
    parser.add_argument("--only", nargs="*", default=[], help="these operators")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after the operator in hand")
    parser.add_argument("--patience", type=float, default=240, help="seconds for one operator; then it counts as hanging")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return 0
    options.until = time.monotonic() + options.seconds
    first, step = (int(n) for n in options.shard.split("/"))
    names = [name for name, _ in named(options.only)][first::step]
    report = Report()
    while names and time.monotonic() < options.until:
        names = run_child(names, options, report)
    print(f"{len(report.operators)} operators, {dict(report.cases)} cases, {len(report.wrong)} wrong in {len(set(report.wrong))} operators")
    return bool(report.wrong) or not report.operators


if __name__ == "__main__":
    sys.exit(main())
