"""Workloads over pure-Python modules of the standard library. Each returns the same plain data each time."""

import argparse
import ast
import base64
import calendar
import collections
import configparser
import contextlib
import copy
import csv
import dataclasses
import difflib
import email
import email.message
import enum
import fnmatch
import fractions
import functools
import graphlib
import html.parser
import inspect
import io
import ipaddress
import json
import logging
import pickle
import plistlib
import pprint
import random
import re
import shlex
import statistics
import string
import textwrap
import tokenize
import tomllib
import traceback
import types
import typing
import urllib.parse
import xml.dom.minidom

PROGRAMS = []
TEXT = "The vitrine is a glass case. " * 6 + "It holds a compiler, and lets an engineer watch it work.\n"
SOURCE = inspect.getsource(textwrap.TextWrapper._wrap_chunks)


def program(function):
    PROGRAMS.append(function)
    return function


@program
def wrapping():
    return textwrap.fill(TEXT, 40), textwrap.dedent("  a\n    b\n"), textwrap.shorten(TEXT, 50), textwrap.indent(TEXT, "> ")


@program
def syntax_trees():
    tree = ast.parse(textwrap.dedent(SOURCE))
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
    return ast.unparse(tree), names, ast.dump(tree.body[0].args), ast.literal_eval("{'a': [1, (2, 3)], 'b': -1.5}")


@program
def json_text():
    data = {"a": [1, 2.5, None, True], "b": {"c": "ü", "d": []}}
    text = json.dumps(data, indent=2, sort_keys=True)
    with contextlib.suppress(ValueError):
        json.loads('{"a": }')
    return text, json.loads(text, object_pairs_hook=collections.OrderedDict), json.dumps([1, {2: 3}], separators=(",", ":"))


@program
def differences():
    a, b = TEXT.split(), TEXT.replace("glass", "wood").replace("case", "box").split()
    return list(difflib.unified_diff(a, b, lineterm="")), list(difflib.ndiff(a[:8], b[:8])), difflib.get_close_matches("wrd", ["word", "ward", "x"])


@program
def data_classes():
    @dataclasses.dataclass(order=True, frozen=True)
    class Point:
        x: int
        y: int = 2
        tags: list = dataclasses.field(default_factory=list, compare=False)

    p = Point(1)
    q = dataclasses.replace(p, y=5)
    try:
        p.x = 3
    except dataclasses.FrozenInstanceError as error:
        message = str(error)
    return repr(p), q > p, hash(p) == hash(Point(1)), dataclasses.asdict(q), message


@program
def arguments():
    parser = argparse.ArgumentParser(prog="tool", description=TEXT)
    parser.add_argument("file", nargs="*")
    parser.add_argument("-n", "--number", type=int, default=3, choices=range(10), help="how many")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--yes", action="store_true")
    group.add_argument("--no", dest="yes", action="store_false")
    found = parser.parse_args(["a", "b", "-n", "4", "--yes"])
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.suppress(SystemExit):
        parser.parse_args(["--number", "x"])
    return vars(found), parser.format_help(), errors.getvalue()


@program
def pretty():
    return pprint.pformat({"k": list(range(40)), "t": tuple("abc"), "n": {"m": {1, 2}, "s": TEXT}}, width=60)


@program
def patterns():
    re.purge()
    found = [re.compile(p).findall(TEXT) for p in (r"\b(\w)(\w+)\b", r"(?:a|an|the)\s+(?P<w>[a-z]{3,5})", r"[^aeiou\s]{3}", r"(?i)GLASS(?=\s)")]
    try:
        re.compile("(a[b")
    except re.error as error:
        found.append(str(error))
    return found, re.sub(r"(\w+) (\w+)", r"\2 \1", TEXT), fnmatch.filter(["a.py", "b.txt"], "*.py"), re.escape("a.b*c")


@program
def mail():
    message = email.message_from_string("From: a@b.c\nSubject: =?utf-8?q?h=C3=A9?=\nContent-Type: text/plain\n\nbody\n")
    made = email.message.EmailMessage()
    made["To"], made["Subject"] = "Ann <x@y.z>, b@c.d", "hé " * 20
    made.set_content(TEXT)
    made.add_alternative("<p>hi</p>", subtype="html")
    made.set_boundary("=====")
    return message.items(), message.get_payload(), made.as_string()


@program
def settings():
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nx = 1\ny = %(x)s2\n[b]\nz: yes\nlong = a\n  b\n")
    out = io.StringIO()
    parser.write(out)
    try:
        parser.get("a", "nothing")
    except configparser.NoOptionError as error:
        message = str(error)
    return parser["a"]["y"], parser.getboolean("b", "z"), out.getvalue(), message, tomllib.loads("a = 1\n[t]\nx = [1, 2]\nd = 'e'")


@program
def copies():
    a = [1, {"b": (2, [3])}, collections.deque([4])]
    a.append(a[1])
    b = copy.deepcopy(a)
    b[1]["b"][1].append(9)
    return a, b, b[1] is b[3], copy.copy(a)[1] is a[1]


@program
def numbers():
    data = [1.5, 2.25, 3.0, 8.75, 2.25]
    return (
        statistics.mean(data), statistics.stdev(data), statistics.mode(data), statistics.quantiles(data),
        statistics.linear_regression(data, data[::-1]), fractions.Fraction("3/7") + fractions.Fraction(0.25), fractions.Fraction(22, 7).limit_denominator(5),
    )  # fmt: skip


@program
def chance():
    r = random.Random(7)
    deck = list(range(20))
    r.shuffle(deck)
    return deck, r.sample(deck, 5), r.choices(deck, k=4), r.gauss(0, 1), r.triangular(), r.randint(1, 6)


@program
def enumerations():
    class Color(enum.Enum):
        RED = enum.auto()
        GREEN = 5

        def dark(self):
            return self.name.lower()

    class Mode(enum.Flag):
        R, W, X = 1, 2, 4

    try:
        Color(9)
    except ValueError as error:
        message = str(error)
    return [c.dark() for c in Color], repr(Mode.R | Mode.X), Mode(3), Color["RED"].value, message


@program
def tuples_and_maps():
    P = collections.namedtuple("P", "x y", defaults=[0])
    chain = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    counted = collections.Counter(TEXT)
    return P(1)._replace(y=3)._asdict(), dict(chain), counted.most_common(4), collections.UserDict(a=1) | {"b": 2}


@program
def tokens():
    return [(t.type, t.string) for t in tokenize.generate_tokens(io.StringIO(SOURCE).readline)][:120], shlex.split("a 'b c' \"d\\\"e\" # x", comments=True)


@program
def markup():
    seen = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append((tag, attrs))

        def handle_data(self, data):
            seen.append(data)

    Reader().feed("<p class='a'>x &amp; y<br/><b>z</b></p>")
    return seen, xml.dom.minidom.parseString("<a b='1'><c>t</c><!--n--></a>").toprettyxml()


@program
def addresses():
    parts = urllib.parse.urlsplit("https://u:p@host:80/a/b;c?x=1&y=%20z#f")
    nets = [str(n) for n in ipaddress.ip_network("10.0.0.0/29").subnets(new_prefix=31)]
    return parts, urllib.parse.parse_qs(parts.query), urllib.parse.urljoin("http://a/b/c", "../d"), nets, str(ipaddress.ip_address("::1").exploded), urllib.parse.quote("ä b/c")


@program
def templates():
    try:
        string.Template("$a ${b} $$").substitute(a=1)
    except KeyError as error:
        message = repr(error)
    return string.Template("$a ${b} $$").safe_substitute(a=1), message, string.capwords("a bc d"), string.Formatter().vformat("{0!r} {x:>5}", ("p",), {"x": 3})


@program
def pickles():
    data = {"a": [1, 2.5, "x", None], "b": (1,), "c": {3, 4}, "d": collections.OrderedDict(z=1)}
    raw = pickle._dumps(data, protocol=4)
    return raw, pickle._loads(raw), plistlib.dumps({"k": [1, True, "t"]}), base64.b85encode(b"hello world"), base64.b32encode(b"x")


@program
def signatures():
    def f(a, /, b: int = 3, *c, d="x", **e) -> str: ...

    signature = inspect.signature(f)
    bound = signature.bind(1, 2, 3, d=4, z=5)
    bound.apply_defaults()
    hints = typing.get_type_hints(f)
    return str(signature), bound.arguments, hints, str(typing.Optional[list[int]]), inspect.cleandoc(TEXT), types.SimpleNamespace(a=1)


@program
def dispatching():
    @functools.singledispatch
    def show(x):
        return "object"

    @show.register
    def _(x: int):
        return "int"

    @show.register(list)
    def _(x):
        return [show(i) for i in x]

    @functools.total_ordering
    class V:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __lt__(self, other):
            return self.n < other.n

    return show([1, "a", [2]]), V(1) >= V(0), sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))


@program
def order():
    sorter = graphlib.TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}})
    try:
        list(graphlib.TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())
    except graphlib.CycleError as error:
        message = error.args[0]
    ranks = list(sorter.static_order())
    return ranks[0], ranks[-1], message, calendar.TextCalendar().formatmonth(2024, 2)


@program
def logs():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s %(lineno)d %(message)s"))
    logger = logging.Logger("fuzz")
    logger.addHandler(handler)
    logger.warning("a %d", 1)
    try:
        {}["x"]
    except KeyError:
        logger.exception("b")
    return re.sub(r'File "[^"]*"', "File", stream.getvalue())


@program
def tables():
    out = io.StringIO()
    writer = csv.DictWriter(out, ["a", "b"], extrasaction="ignore")
    writer.writeheader()
    writer.writerow({"a": 1, "b": "x,y", "c": 2})
    return out.getvalue(), list(csv.DictReader(io.StringIO(out.getvalue()))), csv.Sniffer().sniff("a;b\n1;2\n").delimiter


@program
def tracebacks():
    try:
        copy.deepcopy([lambda: 0, iter(())])
        ast.literal_eval("f(1)")
    except ValueError as error:
        summary = traceback.TracebackException.from_exception(error, capture_locals=False)
        text = "".join(summary.format_exception_only())
        return [(f.name, f.lineno) for f in summary.stack], re.sub("0x[0-9a-f]+", "0x", text)
