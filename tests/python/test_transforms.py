# SPDX-License-Identifier: Apache-2.0
"""torch.func, vmap, torch.compile, export, fake tensors."""

import warnings

import lanepack
import pytest
import torch
from properties import hermitian, randn
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

ops = torch.ops.lanepack
SHAPES = [(4, 4), (2, 3, 4, 4), (6, 3), (3, 6), (0, 3, 3), (2, 0, 4), (3, 4, 0)]


def product(A):
    Q, R = lanepack.qr(A)
    U, S, Vh = lanepack.svd(A)
    L, V = lanepack.eigh(A.mT @ A)
    functions = (U * S.sin()[..., None, :]) @ Vh, (V * L.sin()[..., None, :]) @ V.mT
    return Q @ R.sin(), *functions, lanepack.svdvals(A), lanepack.eigvalsh(A.mT @ A, "u")


def loss(A):
    return sum((each**2).sum() for each in product(A))


@pytest.mark.skipif(not hasattr(torch.library, "register_vmap"), reason="no rule before torch 2.5")
def test_vmap_is_one_call():
    A = hermitian(5, 4, 3, 3, seed=50)
    cases = {
        lanepack.qr: lambda result: tuple(result),
        lanepack.eigh: lambda result: tuple(result),
        lanepack.eigvalsh: lambda result: (result,),
        lanepack.svd: lambda result: tuple(result),
        lanepack.svdvals: lambda result: (result,),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function, as_tuple in cases.items():

            def call(X, function=function, as_tuple=as_tuple):
                return as_tuple(function(X))

            expected = call(A)
            assert_equal(vmap(call)(A), expected)
            assert_equal(vmap(call, chunk_size=2)(A), expected)
            assert_equal(vmap(vmap(call))(A), expected)
            for dim in (1, 2, 3, -1):
                assert_equal(vmap(call, in_dims=dim)(A.movedim(0, dim)), expected)
    assert_equal(vmap(lambda X: lanepack.qr(X, "r").R)(A), lanepack.qr(A).R)
    assert_equal(vmap(lambda X: lanepack.eigvalsh(X, UPLO="U"))(A), lanepack.eigvalsh(A, "U"))


def assert_equal(mine, other):
    if isinstance(mine, torch.Tensor):
        mine, other = (mine,), (other,)
    for a, b in zip(mine, other, strict=True):
        assert torch.equal(a, b)


def test_transforms_agree_with_loops():
    A = randn(3, 4, 3, seed=51)
    gradients = torch.stack([grad(loss)(each) for each in A])
    assert torch.allclose(vmap(grad(loss))(A), gradients)
    X = A.clone().requires_grad_()
    assert torch.allclose(torch.autograd.grad(loss(X), X)[0], gradients)
    reverse = jacrev(lambda X: product(X)[1])(A[0])
    assert torch.allclose(jacfwd(lambda X: product(X)[1])(A[0]), reverse)
    second = hessian(loss)(A[0])
    assert torch.allclose(jacrev(jacrev(loss))(A[0]), second)
    assert torch.allclose(jacfwd(jacfwd(loss))(A[0]), second)
    assert torch.allclose(vmap(hessian(loss))(A)[0], second)
    _, tangent = jvp(loss, (A[0],), (torch.ones(4, 3, dtype=A.dtype),))
    assert torch.allclose(tangent, gradients[0].sum())


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 6), (0, 3, 3)])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(shape, dtype, requires_grad):
    A = randn(*shape, seed=52, dtype=dtype).requires_grad_(requires_grad)
    calls = [(ops.qr.default, ()), (ops.svd.default, ()), (ops.svd.default, (True,))]
    calls.append((ops.svdvals.default, ("jacobi",)))
    if not requires_grad:
        calls += [(ops.qr.default, ("complete",)), (ops.qr.default, ("r",))]
    if shape[-1] == shape[-2]:
        calls += [(ops.eigh.default, ("U",)), (ops.eigvalsh.default, ())]
    for op, args in calls:
        torch.library.opcheck(op, (A, *args))


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
@pytest.mark.parametrize("shape", SHAPES)
def test_fake_outputs_have_the_strides_of_real_ones(shape, dtype):
    A = randn(*shape, seed=53, dtype=dtype)
    calls = [(ops.qr, ()), (ops.qr, ("complete",)), (ops.qr, ("r",))]
    calls += [(ops.svd, ()), (ops.svd, (True,)), (ops.svdvals, ())]
    if shape[-1] == shape[-2]:
        calls += [(ops.eigh, ()), (ops.eigvalsh, ())]
    for op, args in calls:
        for view in (A, A.mT.contiguous().mT, A[..., :1, :1].expand(shape)):
            real = op(view, *args)
            for mode in ("meta", "fake"):
                if mode == "meta":
                    fake = op(view.to("meta"), *args)
                else:
                    with torch._subclasses.FakeTensorMode() as fake_mode:
                        fake = op(fake_mode.from_tensor(view), *args)
                for mine, other in zip(real, fake, strict=True):
                    assert mine.shape == other.shape
                    assert mine.stride() == other.stride()
                    assert mine.dtype == other.dtype


@pytest.mark.parametrize(
    ("backend", "dynamic"),
    [
        ("eager", True),
        ("aot_eager", False),
        ("aot_eager", True),
        ("inductor", True),
        pytest.param("inductor", False, marks=pytest.mark.slow),
    ],
)
def test_compile(backend, dynamic):
    torch._dynamo.reset()
    compiled = torch.compile(product, fullgraph=True, backend=backend, dynamic=dynamic)
    for shape in ((3, 5, 4), (2, 6, 4)):
        A = randn(*shape, seed=54)
        for mine, other in zip(compiled(A), product(A), strict=True):
            assert torch.allclose(mine, other)
        X, Y = A.clone().requires_grad_(), A.clone().requires_grad_()
        sum((each**2).sum() for each in compiled(X)).backward()
        loss(Y).backward()
        assert torch.allclose(X.grad, Y.grad)


def test_compiled_results_and_options():
    def program(A):
        r = lanepack.qr(A, mode="r")
        full = lanepack.svd(A, full_matrices=True, driver="gesvd")
        ex = lanepack.eigh_ex(A @ A.mT, "U")
        return r.R, full.U, full.S, full.Vh, ex.eigenvalues, ex.info

    torch._dynamo.reset()
    A = randn(5, 3, seed=55)
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    for mine, other in zip(compiled(A), program(A), strict=True):
        assert torch.equal(mine, other)
        assert mine.stride() == other.stride()


def test_compiled_code_raises_as_eager_does():
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda A: lanepack.eigh(A, check_errors=True)[0] + 1, fullgraph=True, backend="inductor"
    )
    A = hermitian(2, 3, 3, seed=56)
    assert torch.allclose(compiled(A), lanepack.eigvalsh(A) + 1)
    A[1, 0, 0] = float("nan")
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.eigh: \(Batch element 1\)"):
        compiled(A)


def test_export():
    class Program(torch.nn.Module):
        def forward(self, A):
            return product(A)

    A = randn(3, 5, 4, seed=57)
    batch = torch.export.Dim("batch", min=2)
    exported = torch.export.export(Program(), (A,), dynamic_shapes=({0: batch},))
    B = randn(7, 5, 4, seed=58)
    for mine, other in zip(exported.module()(B), product(B), strict=True):
        assert torch.allclose(mine, other)


def test_autocast_leaves_precision_alone():
    A = randn(4, 4, seed=59, dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(lanepack.svdvals(A), lanepack.svdvals(A.clone()))
        assert lanepack.svdvals(A).dtype == torch.float64
        assert lanepack.svdvals(A.bfloat16()).dtype == torch.float32


def _autocast_functions():
    """name: (function of one matrix, an input in float32)."""
    A = randn(6, 6, seed=60, dtype=torch.float32)
    tall = randn(7, 4, seed=61, dtype=torch.float32)
    positive = A @ A.mT + 6 * torch.eye(6)
    L = torch.linalg.cholesky(positive)
    B = randn(6, 3, seed=62, dtype=torch.float32)
    return {
        "qr": (lambda X: lanepack.qr(X), tall),
        "eigh": (lambda X: lanepack.eigh(X), A + A.mT),
        "eigvalsh": (lambda X: (lanepack.eigvalsh(X),), A + A.mT),
        "svd": (lambda X: lanepack.svd(X), tall),
        "svdvals": (lambda X: (lanepack.svdvals(X),), tall),
        "cholesky": (lambda X: (lanepack.cholesky(X),), positive),
        "solve_triangular": (lambda X: (lanepack.solve_triangular(X, B, upper=False),), L),
        "triangular_solve": (lambda X: (lanepack.triangular_solve(B, X, upper=False)[0],), L),
        "right-hand sides": (lambda X: (lanepack.solve_triangular(L, X, upper=False),), B),
        "cholesky_solve": (lambda X: (lanepack.cholesky_solve(B, X),), L),
        "cholesky_inverse": (lambda X: (lanepack.cholesky_inverse(X),), L),
    }


@pytest.mark.parametrize("name", _autocast_functions())
def test_autocast_leaves_derivatives_alone(name):
    """Values, gradients and tangents under autocast are those without, to the bit."""
    function, A = _autocast_functions()[name]

    def derivatives(autocast):
        X = A.clone().requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            results = function(X)
            weights = [result.detach().cos() for result in results]
            (gradient,) = torch.autograd.grad(results, X, weights, create_graph=True)
            tangents = jvp(function, (A,), (A.cos(),))[1]
            with forward_ad.dual_level():
                duals = function(forward_ad.make_dual(A, A.cos()))
                tangents += tuple(forward_ad.unpack_dual(dual).tangent for dual in duals)
            mapped = (*jacfwd(function)(A), *jacrev(function)(A))
        found = [*results, gradient, *tangents, *mapped]
        if gradient.requires_grad:  # not that of right-hand sides, which are linear
            found += torch.autograd.grad(gradient.square().sum(), X)
        return found

    for mine, other in zip(derivatives(True), derivatives(False), strict=True):
        assert mine.dtype == torch.float32
        assert torch.equal(mine, other)
