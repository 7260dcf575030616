"""Steps of PyTorch's optimizers that ask for their step count or for a norm as a number: here these stay tensors of f64,
which compute as Python's floats do, and both ways of a branch on one are computed. Order and rounding are eager's."""

import torch
from torch.optim.optimizer import _to_scalar


def _beside(tensor, number):
    """A tensor of no dims would become one of f64."""
    return number.to(tensor.dtype) if tensor.dim() == 0 else number


def _max(number, other):
    """max(number, other) as Python has it, also for NaN."""
    return torch.where(other > number, other, number)


def radam(
    params, grads, exp_avgs, exp_avg_sqs, state_steps, *, beta1, beta2, lr, weight_decay, eps, decoupled_weight_decay,
    differentiable, maximize, capturable, has_complex,
):  # fmt: skip
    """torch.optim.radam._single_tensor_radam()"""
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        grad = grads[i] if not maximize else -grads[i]
        exp_avg, exp_avg_sq, step_t = exp_avgs[i], exp_avg_sqs[i], state_steps[i]
        step_t += 1
        step = step_t.double()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        bias_correction1, bias_correction2 = 1 - beta1**step, 1 - beta2**step
        rho_inf = 2 / (1 - beta2) - 1
        rho_t = rho_inf - 2 * step * (beta2**step) / bias_correction2
        rect = ((rho_t - 4) * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)) ** 0.5
        adaptive = _beside(param, bias_correction2**0.5) / exp_avg_sq.sqrt().add_(eps)
        plain = (exp_avg / _beside(param, bias_correction1)) * lr
        param.add_(torch.where(rho_t > 5.0, plain * adaptive * _beside(param, rect), plain), alpha=-1.0)


def asgd(
    params, grads, axs, mus, etas, state_steps, *, lambd, lr, t0, alpha, weight_decay, maximize, differentiable, capturable,
    has_complex,
):  # fmt: skip
    """torch.optim.asgd._single_tensor_asgd()"""
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        grad = grads[i] if not maximize else -grads[i]
        ax, mu, eta, step_t = axs[i], mus[i], etas[i], state_steps[i]
        step_t += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        eta_value = eta.double()
        param.mul_(_beside(param, 1 - lambd * eta_value))
        param.add_(grad, alpha=_beside(param, -eta_value))
        ax.copy_(torch.where(mu != 1, ax + param.sub(ax).mul_(mu), param))
        step = step_t.double()
        eta.copy_((lr / ((1 + lambd * lr * step) ** alpha)).to(torch.get_default_dtype()))
        mu.copy_((1 / (step - t0).clamp(min=1)).to(torch.get_default_dtype()))


def adafactor(
    params, grads, row_vars, col_vars, variances, state_steps, grad_scale, found_inf, *, d, lr, beta2_decay, weight_decay, eps1,
    eps2, maximize, has_complex,
):  # fmt: skip
    """torch.optim._adafactor._single_tensor_adafactor()"""
    assert grad_scale is None and found_inf is None, "Grad scaling should occur outside of optimizer.step()"
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        grad = grads[i] if not maximize else -grads[i]
        step_t, row_var, col_var, variance = state_steps[i], row_vars[i], col_vars[i], variances[i]
        if eps1 is None:
            eps1 = torch.finfo(param.dtype).eps
        step_t += 1
        step = step_t.double()
        one_minus_beta2_t = (step**beta2_decay).to(param.dtype)
        least = 1 / (step**0.5)
        rho_t = torch.where(least < lr, least, lr)
        alpha = _max(eps2, param.norm(2).double() / (param.numel() ** 0.5)) * rho_t
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if grad.dim() > 1:
            row_mean = torch.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1))
            row_var.lerp_(row_mean, one_minus_beta2_t)
            col_mean = torch.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2))
            col_var.lerp_(col_mean, one_minus_beta2_t)
            var_estimate = row_var @ col_var
            var_estimate.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            variance.lerp_(grad * grad, one_minus_beta2_t)
            var_estimate = variance.clone()
        update = var_estimate.clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        denom = _max(1.0, update.norm(2).double() / ((update.numel() ** 0.5) * d))
        param.add_(update, alpha=_beside(param, -alpha / denom))
