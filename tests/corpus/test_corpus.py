"""Programs of other libraries compute what they compute eagerly. The suite is scheduled: `./vitrine test corpus`."""

import pytest

from tests.corpus.compared import in_a_process, is_there
from tests.corpus.programs import PROGRAMS


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=lambda number: f"{PROGRAMS[number].library}-{PROGRAMS[number].make.__name__}")
def test_a_program_computes_the_same(number):
    if not is_there(PROGRAMS[number]):
        pytest.skip(f"{PROGRAMS[number].library} is not in this environment: tests/corpus/requirements.txt")
    told = in_a_process(number)
    assert not told["differs"], told["differs"]
    assert told["results"] > 0


def test_each_library_has_two_programs():
    libraries = [program.library for program in PROGRAMS]
    assert all(libraries.count(library) >= 2 for library in libraries)
