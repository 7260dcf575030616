"""Numbers of Python's own generators, which are others at each call."""

import random

import torch
from tests.python.programs.registry import program, scenario, vec

DICE = random.Random(11)


@scenario
def drawn_floats(compile):
    @compile
    def augmented(x):
        scale = random.uniform(0.5, 2) * (1 - random.random())
        return x * scale + random.gauss(0, 1) - x.double() * DICE.random(), scale

    random.seed(5)
    DICE.seed(6)
    with torch.no_grad():
        seen = [augmented(torch.arange(float(n + 2))) for n in (0, 0, 1, 2, 3)]
    return seen, random.random(), DICE.random()


@scenario
def drawn_with_gradients(compile):
    @compile
    def noisy(x):
        return (x * random.normalvariate(0, 2)).sum() * random.expovariate(1.5)

    random.seed(7)
    seen = []
    for _ in range(3):
        x = torch.linspace(-1, 1, 4).requires_grad_()
        noisy(x).backward()
        seen.append(x.grad)
    return seen, random.getstate()


@scenario
def drawn_and_looked_at(compile):
    @compile
    def dropped(x, layers=3):
        kept = []
        for i in range(layers):
            x = x * (1 + random.random())
            if random.random() < 0.5:
                continue
            x = x + i
            kept.append(i)
        return x, kept, random.randint(1, 6), random.choice("abc"), f"{random.random():.3f}", random.random()

    random.seed(8)
    with torch.no_grad():
        return [dropped(torch.ones(3)) for _ in range(6)], random.random()


@scenario
def drawn_before_an_error(compile):
    @compile
    def picked(x, i):
        return x[i] * random.random() + random.random()

    random.seed(9)
    seen = []
    with torch.no_grad():
        for i in (0, 7, 1, -9, 2):  # eager draws nothing where the index is wrong
            try:
                seen.append(picked(torch.arange(6.0) * 2, torch.tensor([i])))
            except IndexError as error:
                seen.append(str(error)[:40])
            seen.append(random.getstate()[1][-1])
    return seen


@scenario
def another_generator(compile):
    @compile
    def drawn(x, generator):
        return x * generator.uniform(1, 2) + generator.betavariate(2, 3)

    DICE.seed(2)
    with torch.no_grad():
        return [drawn(torch.ones(2), generator) for generator in (DICE, random.Random(3), DICE, random.Random(3))]


class Counting(random.Random):
    def random(self):
        COUNTED.append(len(COUNTED))
        return super().random()


COUNTED = []
COUNTING = Counting(4)


@program(vec())
def generators_of_own_classes(x):
    COUNTING.seed(1)
    COUNTED.clear()
    return x * COUNTING.uniform(1, 2) + COUNTING.random(), list(COUNTED)


@program(vec())
def seeded_inside(x):
    random.seed(3)
    a = x * random.random()
    state = random.getstate()
    b = random.random()
    random.setstate(state)
    return a, b == random.random(), random.sample(range(5), 2)


@program(vec())
def kept_by_a_function(x):
    rows = [x[:2] * random.Random(i).random() for i in range(3)]
    return rows, sorted([3, 1, 2], key=lambda n: random.Random(n).random())
