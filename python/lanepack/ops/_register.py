# SPDX-License-Identifier: Apache-2.0
"""How an op is registered, the same for every family.

`torch.library.register_autograd` fails under torch.func and gives zero tangents in forward mode, so
the derivative is a kernel of our own on the Autograd key. It applies a single-level
autograd.Function, the mechanism of functorch itself: each transform of a nest sees the op once, at
its own level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from .. import _routing

_NAMESPACE = "lanepack"
# Held for the life of the process: an op goes with its Library object.
_library = torch.library.Library(_NAMESPACE, "DEF")

_TAGS = (
    torch.Tag.pt2_compliant_tag,
    getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order),
)

_set_forward_grad = forward_ad._set_fwd_grad_enabled


def define(schema: str) -> torch._ops.OpOverload:
    """Defines a functional op; returns its overload."""
    _library.define(schema, tags=_TAGS)
    return getattr(getattr(torch.ops, _NAMESPACE), schema[: schema.index("(")]).default


def implement(
    op: torch._ops.OpOverload,
    *,
    kernel: Callable,
    fake: Callable,
    autograd: Callable,
    vmap: Callable,
) -> None:
    """Registers an op's kernels. `derivative` makes the one for the Autograd key."""
    name = op._schema.name.split("::")[1]
    for key in ("CPU", "CUDA"):
        _library.impl(name, kernel, key)
    _library.impl(name, autograd, "Autograd", with_keyset=True)
    torch.library.register_fake(f"{_NAMESPACE}::{name}", fake, lib=_library)
    # Before torch 2.5 there is no such rule, and torch calls the op once per sample.
    if hasattr(torch.library, "register_vmap"):
        torch.library.register_vmap(f"{_NAMESPACE}::{name}", vmap, lib=_library)


def below_autograd(op: torch._ops.OpOverload, keyset, *args):
    """Calls the op's kernel behind the Autograd key."""
    with torch._C._AutoDispatchBelowAutograd():
        return op.redispatch(keyset & torch._C._after_autograd_keyset, *args)


def needs_derivative(A: torch.Tensor) -> bool:
    """Whether a gradient or a tangent may be asked of a result computed from A."""
    if torch.is_grad_enabled() and A.requires_grad:
        return True
    return forward_ad._current_level >= 0 or torch._C._functorch.maybe_current_level() is not None


def _precisely(function: Callable, args, outputs, *others):
    """function(args, outputs, *others), a formula, without autocast: its matrix products are part
    of a decomposition, which autocast leaves in the precision of its input."""
    device = outputs[0].device.type
    if device in ("cpu", "cuda") and torch.is_autocast_enabled(device):
        # functorch puts the caller's state back for the levels below its own: there the dtype
        # counts, to which float32 is not cast down, and wider types never are.
        with torch.autocast(device, dtype=torch.float32, enabled=False):
            return function(args, outputs, *others)
    return function(args, outputs, *others)


class Derivative(NamedTuple):
    """What `derivative` makes.

    kernel: the op's kernel for the Autograd key.
    recorded: takes what the native call takes, calls it itself and records the derivative: for an A
        whose gradient is wanted, where nothing has to see an op (`plain(A, recorded=True)`).
    """

    kernel: Callable
    recorded: Callable


def derivative(
    op: torch._ops.OpOverload,
    native: Callable,
    differentiable: int,
    backward: Callable,
    jvp: Callable,
) -> Derivative:
    """The derivative of `op`, which `native` of `lanepack._kernels` computes.

    `differentiable`: how many of the outputs, from the first, have a derivative; info may follow.
    backward(args, outputs, gradients) gives the gradient of A, jvp(args, outputs, tangent) the
    tangents of those outputs; `args` are the op's arguments behind A. Both see outputs alone and
    are made of differentiable torch operations, so that they can be differentiated in turn.
    """

    # Old style, ctx first: a Function with setup_context has no kernel at the Autograd key.
    class Function(_SingleLevelFunction):
        @staticmethod
        def forward(ctx, compute, A, *args):
            results = compute(A, *args)
            if results is None:  # arguments that the native call does not serve
                return None
            outputs = results[:differentiable]
            ctx.save_for_backward(*outputs)
            ctx.save_for_forward(*outputs)
            ctx.mark_non_differentiable(*results[differentiable:])
            ctx.set_materialize_grads(False)
            ctx.args = args
            ctx.routing = _routing.current()
            return results

        @staticmethod
        def backward(ctx, *gradients):
            gradients = gradients[:differentiable]
            others = (None,) * len(ctx.args)
            if all(gradient is None for gradient in gradients):
                return (None, None, *others)
            if ctx.routing == _routing.current():
                gradient = _precisely(backward, ctx.args, ctx.saved_tensors, gradients)
                return (None, gradient, *others)
            with _routing.using(ctx.routing):
                gradient = _precisely(backward, ctx.args, ctx.saved_tensors, gradients)
            return (None, gradient, *others)

        @staticmethod
        def jvp(ctx, _compute, tangent, *_args):
            with torch.enable_grad(), _set_forward_grad(True), _routing.using(ctx.routing):
                tangents = _precisely(jvp, ctx.args, ctx.saved_tensors, tangent)
            return (*tangents, None)

    # Anomaly mode and errors about values changed in place show the name of the backward class.
    name = op._schema.name.replace("::", "_")
    Function.__name__ = Function.__qualname__ = name
    Function._backward_cls.__name__ = f"{name}_backward"

    def kernel(keyset, A, *args):
        if not needs_derivative(A):
            return below_autograd(op, keyset, A, *args)

        def compute(A, *args):
            # Function.apply switches both modes off, and for the outer levels of a functorch nest
            # too, which still have to record what is computed here.
            with torch.enable_grad(), _set_forward_grad(True):
                return below_autograd(op, keyset, A, *args)

        with enable_single_level_autograd_function():
            return Function.apply(compute, A, *args)

    def recorded(A, described, *args):
        *args, want_info = args
        return Function.apply(lambda A, *args: native(A, described, *args, want_info), A, *args)

    return Derivative(kernel, recorded)


def derivative_of_solve(
    op: torch._ops.OpOverload, tensors: int, backward: Callable, jvp: Callable
) -> Callable:
    """The Autograd kernel of an op with one result and `tensors` tensors as its first arguments.

    backward(args, saved, gradients, wanted) gives the gradients of the tensors (None where that is
    not `wanted`), jvp(args, saved, tangents) the tangent of the result, from tangents of which some
    may be None; `args` are the op's other arguments, `saved` the tensors and then the result. Both
    are made of differentiable operations.
    """

    class Function(_SingleLevelFunction):
        @staticmethod
        def forward(ctx, compute, *inputs):
            result = compute(*inputs)
            ctx.save_for_backward(*inputs[:tensors], result)
            ctx.save_for_forward(*inputs[:tensors], result)
            ctx.set_materialize_grads(False)
            ctx.args = inputs[tensors:]
            ctx.routing = _routing.current()
            return result

        @staticmethod
        def backward(ctx, *gradients):
            others = (None,) * len(ctx.args)
            if gradients[0] is None:
                return (None, *(None,) * tensors, *others)
            *inputs, _ = ctx.saved_tensors
            wanted = ctx.needs_input_grad[1 : 1 + tensors]
            with _routing.using(ctx.routing):
                results = _precisely(backward, ctx.args, ctx.saved_tensors, gradients, wanted)
            # an input that was broadcast gets the sum over its copies
            fitted = (
                result.sum_to_size(each.shape) if want and result is not None else None
                for result, each, want in zip(results, inputs, wanted, strict=True)
            )
            return (None, *fitted, *others)

        @staticmethod
        def jvp(ctx, _compute, *tangents):
            # The inputs still carry the tangents of this level; those of outer levels stay.
            saved = [forward_ad.unpack_dual(each, level=0).primal for each in ctx.saved_tensors]
            with torch.enable_grad(), _set_forward_grad(True), _routing.using(ctx.routing):
                return _precisely(jvp, ctx.args, saved, tangents[:tensors])

    name = op._schema.name.replace("::", "_")
    Function.__name__ = Function.__qualname__ = name
    Function._backward_cls.__name__ = f"{name}_backward"

    def kernel(keyset, *inputs):
        if not any(needs_derivative(each) for each in inputs[:tensors]):
            return below_autograd(op, keyset, *inputs)

        def compute(*inputs):
            with torch.enable_grad(), _set_forward_grad(True):
                return below_autograd(op, keyset, *inputs)

        with enable_single_level_autograd_function():
            return Function.apply(compute, *inputs)

    return kernel
