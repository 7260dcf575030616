"""The order of sets, which depends on how they came about."""

from tests.python.programs.registry import program, vec


@program(vec(), lambda: ["full_attention", "sliding", "a", "b", "full_attention"])
def order_of_sets_made(x, names):
    out = [*set(names), *{*names, "zz"}, *{"q", "a", "f", "g"}, *{c for c in "hello world"}]
    s = set("abc")
    s.update(["z", "y"])
    s.add("k")
    for name in s:
        out.append(name)
    t = set({"k1": 1, "k2": 2, "k3": 3})
    t.update({"x", "y", "1", "2", "3", "4"})
    u = {1, 1000, 17, 33}
    u.update({5, 9, 1025})
    u.update(range(3, 40, 7))
    return x + 1, out, list(t), list(u), list(s | t), s


# Numbers, whose hashes are the same in every process.
@program(vec(), lambda: {21, 2, 11}, lambda: set(range(3, 1000, 77)))
def order_of_sets_changed(x, names, numbers):
    copied = set(names)
    copied.add(31)
    copied |= {40}
    numbers.add(1001)
    numbers -= {3, 80}
    numbers.update([3, 5], {7, 2000})
    numbers.discard(5)
    print(x.shape)
    return x, list(copied), list(names | {9}), list(numbers), copied


# A table of 32 places goes into one of 16.
@program(vec(), lambda: {16, 1, 33, 2, 34}, lambda: frozenset({16, 1, 33, 2, 34}))
def order_of_sets_copied(x, numbers, frozen):
    copied = set(numbers)
    copied.add(50)
    out = [*frozenset(numbers), *(numbers | {3}), *set(numbers), *numbers.copy(), *copied, *(numbers - {2}), *set(frozen), *(frozen | {3})]
    return x + 1, out, numbers.copy(), set(numbers), copied, numbers | {3}
