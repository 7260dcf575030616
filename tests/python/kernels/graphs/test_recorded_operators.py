"""PyTorch's own list of operators, with its sample inputs, through recording, replay and the ATen graph."""

import itertools
import warnings

import pytest
import torch
from tests.python.support.recorded_program import Unsupported, check
from tests.python.support.sweep import part

# PyTorch's own list needs it.
pytest.importorskip("expecttest")
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

SAMPLES = 3

# What the sample or the operator is, not what it computes, keeps out.
LEFT_OUT = {
    "empty": "uninitialised memory",
    "empty_like": "uninitialised memory",
    "empty_permuted": "uninitialised memory",
    "empty_strided": "uninitialised memory",
    "new_empty": "uninitialised memory",
    "new_empty_strided": "uninitialised memory",
    "broadcast_shapes": "no tensors",
    "sparse.mm": "sparse inputs",
    "sparse.sampled_addmm": "sparse inputs",
    "torch._scaled_mm": "float8 inputs",
    "torch._scaled_mm_v2": "float8 inputs",
}
# Operators whose every sample may end the graph, by the kind of break.
MAY_BREAK = {
    "scalar_read": {
        "allclose", "corrcoef", "cov", "equal", "istft", "item", "narrow", "nn.functional.gaussian_nll_loss",
        "nn.functional.one_hot", "tensor_split",
    },
    "data_dependent_shape": {
        "argwhere", "bincount", "combinations", "linalg.lstsq", "masked_select", "nn.functional.ctc_loss", "nonzero",
        "unique", "unique_consecutive",
    },
    "unsupported_operator": {
        "fft.hfft", "fft.hfft2", "fft.hfftn", "fft.ifft", "fft.ihfft", "fft.ihfft2", "fft.ihfftn", "linalg.cholesky",
        "linalg.inv", "linalg.ldl_factor", "linalg.lu_factor", "linalg.solve", "linalg.tensorinv",
        "linalg.tensorsolve", "resize_", "resize_as_", "to_sparse",
    },
    "unsupported_value": {"hash_tensor"},
    "warning": {
        "nn.functional.dropout2d", "nn.functional.kl_div", "nn.functional.linear_cross_entropy", "nn.functional.upsample_bilinear",
        "nn.functional.upsample_nearest", "std", "std_mean", "var", "var_mean",
    },
}  # fmt: skip


def cases():
    for op in op_db:
        if op.name in LEFT_OUT or op.name.startswith("jiterator"):
            continue
        for dtype in (torch.float32, torch.int64):
            if dtype in op.dtypes:
                name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
                yield pytest.param(op, dtype, id=f"{name}-{str(dtype).removeprefix('torch.')}")


@pytest.mark.parametrize("op,dtype", part(cases(), every=8))
def test_operator(op, dtype):
    # LAPACK's last bits depend on where its memory lies.
    tolerance = 1e-3 if op.name.startswith(("linalg", "norm", "svd", "pca")) else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES):
            try:
                check(op.op, (sample.input, *sample.args), sample.kwargs, each_call=False, tolerance=tolerance)
            except Unsupported as why:
                assert op.name in MAY_BREAK[why.args[0]], why.args
