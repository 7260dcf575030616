"""Programs that are captured whole: nothing in them forces a break."""

import bisect
import collections
import enum
import importlib
import itertools
import logging
import struct
import sys
import warnings

import pytest
import torch

import vitrine

from tests.python.programs.registry import PROGRAMS
from tests.python.support.same_as_eager import flatten

# module of programs: those without a break
WHOLE = {
    "tensors.known_values": ["root_of_size", "quotient_of_sizes", "branch_on_constant", "many_dtypes", "known_under_autocast"],
    "classes.operators": ["locals_in_callee", "locals_written", "dispatched_methods", "repr_of_dataclasses", "function_get"],
    "tensors.torch_api": ["scripted_function", "tensors_by_their_class", "results_with_fields_made_anew"],
    "library.containers": ["looked_for_between_bounds", "taken_out_of_sets"],
    "library.read_only_views": ["arguments_bound", "ways_to_read", "no_way_to_write"],
    "changes.choices": ["attention_by_name", "attention_left_by_an_error", "cond_of_numbers", "complex_operands"],
    "tensors.complex_numbers": [
        "rotary_embedding",
        "spectrum",
        "adjoint",
        "gradient_through_a_conjugate",
        "numbers_as_operands",
        "gradient_through_the_plane",
    ],
    "classes.copies": ["deep_copies", "data_classes_as_dicts", "operators_that_change", "heaps", "texts_of_numbers", "iterators_in_closures"],
    "classes.slots": ["slots_emptied_and_filled", "attributes_deleted", "deleted_twice", "slices_deleted", "sets_in_place"],
    "language.exceptions": ["causes_and_contexts"],
    "library.set_order": ["order_of_sets_made"],
    "modules.function_transforms": [
        "gradient_of_a_function",
        "jacobians",
        "gradients_per_sample",
        "transforms_with_aux",
        "names_of_transforms",
        "gradients_of_losses",
        "models_of_an_ensemble",
        "gradients_of_a_model_per_sample",
        "models_linearised",
        "pulled_back_through_a_model",
    ],
    "library.pure_calls": ["patterns_of_constants", "chained_maps", "unions_of_sets", "dispatched_on_tensors", "counted"],
    "library.everyday": [
        "deques_of_limited_length",
        "groups",
        "sequences_without_iter",
        "text_formats",
        "texts_of_errors",
        "throws_through_yield_from",
        "keys_of_their_own",
        "one_hot_rows",
        "deletes_by_the_base",
        "namespaces",
        "partials_that_leave",
        "hashes_of_tuples",
        "sorted_by_a_comparison",
        "parameters_once",
    ],
    "modules.flexible_attention": ["scores_changed", "scores_masked", "heads_shared", "scores_learned"],
    "tensors.checks": [
        "assertions",
        "truth_of_numbers",
        "writes_around_a_check",
        "distributions",
        "policies",
        "variational_autoencoder",
    ],
    "modules.transformed_models": [
        "globals_of_mapped",
        "globals_of_differentiated",
        "modules_mapped",
        "derivatives_of_a_field",
        "mapped_under_autograd",
        "methods_mapped",
        "objects_mapped",
    ],
}
if sys.version_info[:2] == (3, 12):  # there a comprehension's locals() is the frame's, which a loop may ask again
    WHOLE["classes.operators"].remove("locals_in_callee")
if sys.version_info >= (3, 12):
    WHOLE["library.everyday"].remove("throws_through_yield_from")  # there an instruction of its own ends what was thrown
if sys.version_info >= (3, 13):  # there functools keeps bound methods by weak references
    WHOLE["classes.operators"].remove("dispatched_methods")
for module in WHOLE:
    importlib.import_module(f"tests.python.programs.{module}")


@pytest.mark.parametrize("name", [name for names in WHOLE.values() for name in names])
def test_one_graph(name):
    function, make = PROGRAMS[name]
    vitrine.reset()
    with torch.no_grad():
        arguments = [[m() if callable(m) and not isinstance(m, type) else m for m in make] for _ in range(2)]
        explained = vitrine.explain(function)(*arguments[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", vitrine.VitrineWarning)  # what it is guarded by holds where it was made
            vitrine.compile(function)(*arguments[1])
    assert not explained.graph_break_reasons, explained


def test_a_drained_iterator_is_no_break():
    def program(x):
        out = []
        collections.deque(map(out.append, [x, x + 1]), maxlen=0)
        return out

    assert vitrine.explain(program)(torch.ones(2)).graph_break_count == 0


class Operation(enum.Enum):
    ADD = "add"
    MUL = "mul"

    def __call__(self, a, b):
        return getattr(torch, self.value)(a, b)


def keys_of_two_dicts(x):
    d, e = {"a": x, "b": x + 1}, {"b": x * 2, "c": x}
    return [d[k] + e[k] for k in d.keys() & e.keys()], sorted(d.keys() | e.keys())


def shared_iterator(x):
    a, b = itertools.tee(x)
    return next(a), [t * 2 for t in b], list(a)


def members_that_are_called(x):
    return [operation(x, 2) for operation in Operation]


def places_and_bytes(x):
    where = bisect.bisect([1, 3, 5], 3), struct.unpack("<i", struct.pack("<i", 5))[0], int.from_bytes(b"\x01", "big")
    return x * where[0], where, torch.tensor([1, 2]).tolist(), collections.OrderedDict(a=1, b=2).popitem(last=False)


def known_logger(x):
    logging.getLogger("torch").debug("shape %s", x.shape)
    return x + 1


ATTENTION = torch.nn.MultiheadAttention(2, 1, batch_first=True).eval().requires_grad_(False)


def attention_in_inference(x):
    y = x[None]
    return ATTENTION(y, y, y, need_weights=False)[0] + 1


@pytest.mark.parametrize(
    "program",
    [
        keys_of_two_dicts,
        shared_iterator,
        members_that_are_called,
        places_and_bytes,
        known_logger,
        attention_in_inference,
    ],
)
def test_nothing_forces_a_break(program):
    x = torch.arange(6.0).reshape(3, 2)
    vitrine.reset()
    assert vitrine.explain(program)(x).graph_break_count == 0
    for a, b in zip(flatten(program(x)), flatten(vitrine.compile(program)(x)), strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def chosen_by_a_tensor(x):
    a, (b,) = torch.cond(x.sum() > 0, lambda v: (v.sin(), [v + 1]), lambda v: (v.cos(), [v * 2]), (x,))
    return a + 1, b


def test_cond_computes_both_ways_where_nothing_is_differentiated():
    vitrine.reset()
    with torch.no_grad():
        assert not vitrine.explain(chosen_by_a_tensor)(torch.ones(2)).graph_break_reasons
        compiled = vitrine.compile(chosen_by_a_tensor, fullgraph=True)
        for x in (torch.tensor([1.0, 2.0]), torch.tensor([-1.0, 0.5])):
            (a, b), positive = compiled(x), bool(x.sum() > 0)
            torch.testing.assert_close(a, (x.sin() if positive else x.cos()) + 1)
            torch.testing.assert_close(b, x + 1 if positive else x * 2)
    reasons = vitrine.explain(chosen_by_a_tensor)(torch.ones(2, requires_grad=True)).graph_break_reasons
    assert "torch.cond between results that are differentiated" in reasons[0].reason


def test_samples_in_a_dict_are_mapped():
    def program(x):
        return torch.vmap(lambda d, scale: d["a"] * d["b"].sum() * scale, in_dims=(0, None))({"a": x, "b": x + 1}, 2.0)

    x = torch.arange(6.0).reshape(2, 3)
    with torch.no_grad():
        assert not vitrine.explain(program)(x).graph_break_reasons
        torch.testing.assert_close(vitrine.compile(program)(x), program(x))


def test_what_was_said_once_a_process_is_no_break():
    def program(x):
        return x.T + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program(torch.ones(2, 3, 4))
    assert vitrine.explain(program)(torch.ones(2, 3, 4)).graph_break_count == 0


def test_a_call_that_warns_says_so():
    def program(x):
        return x.sin().std(1, correction=3) + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (reason,) = vitrine.explain(program)(torch.ones(2, 3)).graph_break_reasons
    assert reason.kind == "warning" and "degrees of freedom" in reason.reason


@pytest.mark.parametrize("name", ["written_constant", "written_later", "random_is_not_known", "empty_is_not_known"])
def test_what_is_not_known_is_read_by_each_run(name):
    function, make = PROGRAMS[name]
    found = vitrine.explain(function)(*(m() for m in make))
    assert not found.graph_break_reasons and "Tensor.item" in found.graphs[0]


SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100}
# Their sizes and scales pass through tensors: class of the model, of its configuration, and what is special.
MODELS = {
    "DebertaForMaskedLM": ("DebertaConfig", SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "LEDForConditionalGeneration": (
        "LEDConfig",
        {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        | {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 100, "attention_window": 4},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_sizes_that_pass_through_tensors(name):
    transformers = pytest.importorskip("transformers")
    config, special = MODELS[name]
    torch.manual_seed(0)
    model = getattr(transformers, name)(getattr(transformers, config)(**special)).eval()
    inputs = {"input_ids": torch.randint(3, 90, (2, 12)), "labels": torch.randint(3, 90, (2, 12))}
    vitrine.reset()
    with torch.no_grad():
        expected = model(**inputs)
        explained = vitrine.explain(model)(**inputs)
        torch.testing.assert_close(vitrine.compile(model)(**inputs).logits, expected.logits, rtol=1e-4, atol=1e-5)
    assert not explained.graph_break_reasons, explained.graph_break_reasons


def checked_count(x, wanted):
    x.add_(1)
    count = (x > 0).sum()
    torch._check_tensor_all(count == wanted, lambda: f"{count} are positive")
    return x * count


def test_a_check_of_a_tensor_is_no_break_and_fails_as_in_eager():
    compiled = vitrine.compile(checked_count, fullgraph=True)
    for wanted in (2, 2, 3, 2):
        found = []
        for function in (checked_count, compiled):
            x = torch.tensor([1.0, -2.0, 3.0])
            try:
                found.append((function(x, torch.tensor(wanted)).tolist(), x.tolist()))
            except RuntimeError as error:
                found.append((str(error), x.tolist()))
        assert found[0] == found[1]
        assert isinstance(found[0][0], str) == (wanted == 3)


def test_what_torch_compile_has_wrapped_is_a_call():
    inner = torch.compile(lambda x: x.sin() + 1, backend="eager")
    module = torch.compile(torch.nn.Linear(3, 3), backend="eager")

    def program(x):
        return inner(x) * 2 + module(x)

    vitrine.reset()
    x = torch.ones(2, 3)
    explained = vitrine.explain(program)(x)
    torch.testing.assert_close(explained.result, program(x))
    assert not explained.graph_break_reasons, explained


def test_a_set_of_one_is_walked_through():
    vitrine.reset()
    compiled = vitrine.compile(lambda x, names: [x * len(name) for name in names], fullgraph=True)
    x = torch.ones(2)
    for names in (frozenset({"ab"}), frozenset(), frozenset({"abc"})):
        assert [y.tolist() for y in compiled(x, names)] == [[float(len(name))] * 2 for name in names]
