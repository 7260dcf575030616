"""What a program asks of the GPU while it runs is answered when it is captured."""

import pytest
import torch
import vitrine

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, None], ids=str)
def test_autocast_is_part_of_the_graph(dtype):
    def step(w, x):
        with torch.autocast("cuda", dtype):
            loss = (x @ w).float().square().mean()
        loss.backward()
        return loss.detach()

    x = torch.randn(32, 64, device="cuda")
    results = []
    for function in (vitrine.compile(step, fullgraph=True), step):
        torch.manual_seed(0)
        w = torch.randn(64, 16, device="cuda", requires_grad=True)
        results.append((function(w, x), w.grad))
    torch.testing.assert_close(*results, rtol=1e-2, atol=1e-3)


def test_a_program_may_ask_what_the_gpu_is():
    def chosen(x):
        major, _ = torch.cuda.get_device_capability(x.device)
        wide = torch.cuda.is_bf16_supported() and "absent" not in torch.cuda.get_device_name(x.device)
        return x.to(torch.bfloat16 if wide else torch.float16) * major + torch.cuda.current_device()

    x = torch.randn(8, device="cuda")
    torch.testing.assert_close(vitrine.compile(chosen, fullgraph=True)(x), chosen(x))
