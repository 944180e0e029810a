# SPDX-License-Identifier: Apache-2.0
"""install(): torch.linalg served by lanepack, with torch's results, errors and strides."""

import re
import subprocess
import sys
import threading
import warnings

import lanepack
import pytest
import torch
from lanepack import _install
from properties import DTYPES, check_eigh, check_qr, check_svd, eps, hermitian, largest, randn, wide

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="this torch has no torch.library.get_kernel"
)


@pytest.fixture
def served():
    lanepack.install()
    yield
    lanepack.uninstall()


@pytest.fixture
def counted(monkeypatch):
    """The calls that reached lanepack's kernels, by function."""
    calls = []
    compute = _install._compute

    def count(function, *args):
        results = compute(function, *args)
        if results is not None:
            calls.append(function)
        return results

    monkeypatch.setattr(_install, "_compute", count)
    lanepack.install()
    yield calls
    lanepack.uninstall()


def positive(*shape, seed, dtype):
    A = randn(*shape, seed=seed, dtype=dtype)
    return A @ A.mH + shape[-1] * torch.eye(shape[-1], dtype=dtype)


def factor(*shape, seed, dtype):
    return torch.linalg.cholesky(positive(*shape, seed=seed, dtype=dtype))


def sides(dtype):
    return randn(2, 3, 4, 2, seed=5, dtype=dtype)


S = (2, 3, 4, 4)

# What runs: torch's function by the name that serves it.
CALLS = {
    "qr": ("qr", lambda t: torch.linalg.qr(randn(2, 3, 5, 4, seed=1, dtype=t))),
    "qr complete": ("qr", lambda t: torch.linalg.qr(randn(5, 4, seed=1, dtype=t), "complete")),
    "qr r": ("qr", lambda t: torch.linalg.qr(randn(2, 4, 5, seed=1, dtype=t), "r")),
    "Tensor.qr": ("qr", lambda t: randn(2, 5, 4, seed=1, dtype=t).qr()),
    "eigh": ("eigh", lambda t: torch.linalg.eigh(hermitian(*S, seed=2, dtype=t))),
    "eigh U": ("eigh", lambda t: torch.linalg.eigh(hermitian(*S, seed=2, dtype=t), "U")),
    "eigvalsh": ("eigvalsh", lambda t: (torch.linalg.eigvalsh(hermitian(*S, seed=2, dtype=t)),)),
    "svd": ("svd", lambda t: torch.linalg.svd(randn(2, 5, 4, seed=3, dtype=t))),
    "svd thin": ("svd", lambda t: torch.linalg.svd(randn(2, 3, 5, 4, seed=3, dtype=t), False)),
    "torch.svd": ("svd", lambda t: torch.svd(randn(2, 4, 5, seed=3, dtype=t))),
    "svdvals": ("svdvals", lambda t: (torch.linalg.svdvals(randn(2, 4, 5, seed=3, dtype=t)),)),
    "cholesky": ("cholesky", lambda t: (torch.linalg.cholesky(positive(*S, seed=4, dtype=t)),)),
    "cholesky U": (
        "cholesky",
        lambda t: (torch.linalg.cholesky(positive(*S, seed=4, dtype=t), upper=True),),
    ),
    "cholesky_ex": ("cholesky", lambda t: torch.linalg.cholesky_ex(positive(*S, seed=4, dtype=t))),
    "torch.cholesky": ("cholesky", lambda t: (torch.cholesky(positive(*S, seed=4, dtype=t)),)),
    "cholesky_solve": (
        "cholesky_solve",
        lambda t: (torch.cholesky_solve(sides(t), factor(*S, seed=5, dtype=t)),),
    ),
    "cholesky_inverse": (
        "cholesky_inverse",
        lambda t: (torch.cholesky_inverse(factor(*S, seed=5, dtype=t)),),
    ),
    "solve_triangular": (
        "solve_triangular",
        lambda t: (
            torch.linalg.solve_triangular(factor(*S, seed=5, dtype=t), sides(t), upper=False),
        ),
    ),
    "solve_triangular right": (
        "solve_triangular",
        lambda t: (
            torch.linalg.solve_triangular(
                factor(3, 4, 4, seed=5, dtype=t).mH, sides(t).mT, upper=True, left=False
            ),
        ),
    ),
    "triangular_solve": (
        "triangular_solve",
        lambda t: torch.triangular_solve(
            sides(t), factor(3, 4, 4, seed=5, dtype=t), upper=False, transpose=True
        ),
    ),
}


def absolute(X, name):
    """Free signs and phases taken away."""
    return X.abs() if name.split()[0] in ("qr", "eigh", "svd", "torch.svd", "Tensor.qr") else X


@pytest.mark.filterwarnings("ignore:torch.(cholesky|qr|triangular_solve) is deprecated")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_results_types_and_strides_are_torchs(name, dtype, counted):
    function, call = CALLS[name]
    ours = call(dtype)
    assert function in counted
    lanepack.uninstall()
    theirs = call(dtype)
    assert type(ours) is type(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert x.stride() == y.stride()
        assert x.is_conj() == y.is_conj()
        if x.shape[-2:] == (5, 5) and name == "qr complete":
            x, y = x[..., :4], y[..., :4]  # what completes a basis is free
        if name == "svd" and x.shape[-2:] == (5, 5):
            x, y = x[..., :4], y[..., :4]
        tolerance = 200 * eps(dtype) * max(1.0, float(largest(wide(y)).max() if y.numel() else 0))
        assert torch.allclose(
            absolute(wide(x), name), absolute(wide(y), name), rtol=0, atol=tolerance
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_decompositions_are_right(dtype, served):
    A = randn(7, 6, 4, seed=11, dtype=dtype)
    check_qr(A, *torch.linalg.qr(A))
    check_svd(A, *torch.linalg.svd(A, full_matrices=False))
    H = hermitian(7, 5, 5, seed=12, dtype=dtype)
    check_eigh(H, *torch.linalg.eigh(H))


def test_names_and_errors():
    assert lanepack.installed() == ()
    with pytest.raises(lanepack.ArgumentError, match="names inv; it may name qr, eigh"):
        lanepack.install(["inv"])
    with pytest.raises(lanepack.ArgumentError, match="must be a list of names"):
        lanepack.install("qr")
    assert lanepack.installed() == ()
    lanepack.install(["svd", "qr"])
    assert lanepack.installed() == ("qr", "svd")
    lanepack.install(["eigh"])
    assert lanepack.installed() == ("eigh",)
    lanepack.install([])
    assert lanepack.installed() == ()
    lanepack.install()
    assert lanepack.installed() == _install.FUNCTIONS
    lanepack.uninstall()
    lanepack.uninstall()
    assert lanepack.installed() == ()


def test_an_older_torch_is_named(monkeypatch):
    monkeypatch.delattr(torch.library, "get_kernel")
    with pytest.raises(RuntimeError, match=r"has no torch.library.get_kernel.*2\.9"):
        lanepack.install()
    assert lanepack.installed() == ()


def kernels():
    """Where each kernel of the operations concerned was registered."""
    names = {name for group in _install._OPERATIONS.values() for name in group}
    return {name: torch._C._dispatch_dump(f"aten::{name}") for name in sorted(names)}


def test_uninstall_restores_torch():
    before = kernels()
    A = randn(3, 5, 5, seed=21, dtype=torch.float32)
    expected = torch.linalg.svd(A)
    for functions in (None, ["qr"], ["eigvalsh", "cholesky"]):
        lanepack.install(functions)
        lanepack.install(functions)
        lanepack.uninstall()
        assert kernels() == before
    assert all(torch.equal(x, y) for x, y in zip(torch.linalg.svd(A), expected, strict=True))


def test_no_warning_of_overridden_kernels():
    program = (
        "import warnings; warnings.simplefilter('error'); import lanepack; lanepack.install(); "
        "import torch; torch.linalg.qr(torch.eye(3)); lanepack.uninstall()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "verrid" not in done.stderr + done.stdout


def test_deprecated_functions_warn_as_torch_does():
    program = (
        "import warnings, sys, torch, lanepack\n"
        "if sys.argv[1] == 'ours': lanepack.install()\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2):\n"
        "        torch.cholesky(torch.eye(2)); torch.triangular_solve(torch.eye(2), torch.eye(2))\n"
        "print(sorted(str(w.message)[:60] for w in seen))\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program, who], capture_output=True, text=True, check=True
        ).stdout
        for who in ("ours", "theirs")
    ]
    assert printed[0] == printed[1]
    assert "torch.cholesky is deprecated" in printed[0]


def test_some_functions_leave_the_others_to_torch(counted):
    lanepack.install(["eigvalsh"])
    A = hermitian(3, 4, 4, seed=31)
    torch.linalg.eigh(A)
    torch.linalg.qr(A)
    assert not counted
    torch.linalg.eigvalsh(A)
    assert counted == ["eigvalsh"]


BAD = {
    "eigh": (lambda A: torch.linalg.eigh(A), "linalg.eigh: "),
    "eigvalsh": (lambda A: torch.linalg.eigvalsh(A), "linalg.eigh: "),
    "svd": (lambda A: torch.linalg.svd(A), "linalg.svd: "),
    "svdvals": (lambda A: torch.linalg.svdvals(A), "linalg.svd: "),
    "cholesky": (lambda A: torch.linalg.cholesky(A), "linalg.cholesky: "),
    "torch.cholesky": (lambda A: torch.cholesky(A), "cholesky: "),
    "cholesky_ex": (
        lambda A: torch.linalg.cholesky_ex(A, check_errors=True),
        "linalg.cholesky_ex: ",
    ),
}


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.parametrize("name", BAD)
def test_bad_matrices_raise_as_in_torch(name, served):
    call, start = BAD[name]
    one = torch.eye(3)
    one[1, 1] = float("nan")
    with pytest.raises(torch.linalg.LinAlgError, match="^" + re.escape(start)) as alone:
        call(one)
    assert "Batch element" not in str(alone.value)
    assert re.search("failed to converge|is not positive-definite", str(alone.value))
    batch = torch.eye(3).repeat(2, 3, 1, 1)
    batch[1, 1] = one
    batch[1, 2] = one
    with pytest.raises(
        torch.linalg.LinAlgError, match="^" + re.escape(start + "(Batch element 4): ")
    ):
        call(batch)
    call(torch.eye(3))


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.parametrize("function", [torch.linalg.cholesky, torch.cholesky])
def test_cholesky_says_what_torch_says(function):
    A = torch.eye(4).repeat(3, 1, 1)
    A[1, 2, 2] = -1
    texts = []
    for _ in range(2):
        with pytest.raises(torch.linalg.LinAlgError) as error:
            function(A)
        texts.append(str(error.value))
        lanepack.install()
    lanepack.uninstall()
    assert texts[0] == texts[1]
    assert "input is not positive-definite (the leading minor of order 3" in texts[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_info_of_cholesky_ex_is_lapacks(value, counted):
    A = torch.eye(4).repeat(3, 1, 1)
    A[0, 1, 1] = -1
    A[2, 2, 1] = value
    ours = torch.linalg.cholesky_ex(A).info
    lanepack.uninstall()
    assert torch.equal(ours, torch.linalg.cholesky_ex(A).info)


def test_singular_inverse_raises_as_in_torch(served):
    L = torch.eye(3).repeat(2, 1, 1)
    L[1, 1, 1] = 0
    with pytest.raises(
        torch.linalg.LinAlgError, match=r"cholesky_inverse: \(Batch element 1\).*singular"
    ):
        torch.cholesky_inverse(L)


def test_without_checks_nothing_raises():
    lanepack.install(check_errors=False)
    try:
        A = torch.eye(3).repeat(3, 1, 1)
        A[1, 0, 0] = float("nan")
        for result in (
            torch.linalg.eigh(A).eigenvectors,
            torch.linalg.svd(A).U,
            torch.linalg.cholesky(A),
        ):
            assert result[1].isnan().any()
            assert result[::2].isfinite().all()
        with pytest.raises(torch.linalg.LinAlgError, match=r"linalg\.inv"):
            torch.linalg.inv(torch.zeros(2, 2))
    finally:
        lanepack.uninstall()


WRONG = {
    "eigh not square": lambda: torch.linalg.eigh(torch.ones(2, 3)),
    "eigh UPLO": lambda: torch.linalg.eigh(torch.eye(2), UPLO="X"),
    "qr mode": lambda: torch.linalg.qr(torch.eye(2), mode="full"),
    "qr of a vector": lambda: torch.linalg.qr(torch.ones(3)),
    "qr of integers": lambda: torch.linalg.qr(torch.eye(3, dtype=torch.int64)),
    "svd of half": lambda: torch.linalg.svd(torch.eye(3, dtype=torch.float16)),
    "svd driver": lambda: torch.linalg.svd(torch.eye(3), driver="gesvd"),
    "solve of two orders": lambda: torch.linalg.solve_triangular(
        torch.eye(2), torch.ones(3, 2), upper=True
    ),
    "cholesky not square": lambda: torch.linalg.cholesky(torch.ones(2, 3)),
    "out of another dtype": lambda: torch.linalg.cholesky(
        torch.eye(2), out=torch.empty(2, 2, dtype=torch.float64)
    ),
    "out that wants a gradient": lambda: torch.linalg.cholesky(
        torch.eye(2), out=torch.empty(2, 2, requires_grad=True)
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_give_torchs_errors(name):
    errors = []
    for _ in range(2):
        with pytest.raises((RuntimeError, ValueError, TypeError)) as error:
            WRONG[name]()
        errors.append((type(error.value), str(error.value)))
        lanepack.install()
    lanepack.uninstall()
    assert errors[0] == errors[1]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0), (4, 3, 0), (0, 3)])
def test_zero_sizes(shape):
    def call():
        A = torch.zeros(shape)
        results = [*torch.linalg.qr(A, "complete"), *torch.linalg.svd(A)]
        results += [torch.linalg.svdvals(A)]
        if shape[-1] == shape[-2]:
            results += [*torch.linalg.eigh(A), torch.linalg.cholesky(A)]
            results += [torch.linalg.solve_triangular(A, A, upper=True)]
        return results

    theirs = call()
    lanepack.install()
    ours = call()
    lanepack.uninstall()
    for x, y in zip(ours, theirs, strict=True):
        assert x.shape == y.shape
        assert x.stride() == y.stride()
        assert torch.equal(x, y)


def test_views_are_read_right(counted):
    A = randn(4, 5, 3, seed=41, dtype=torch.complex128)
    for view in (A.conj(), A.mH, torch._neg_view(A), A[::2, 1:, :2], A.conj().mT[1:]):
        U, values, Vh = torch.linalg.svd(view, full_matrices=False)
        check_svd(view.clone(), U, values, Vh)
    L = factor(3, 4, 4, seed=42, dtype=torch.complex128)
    B = randn(3, 4, 2, seed=43, dtype=torch.complex128)
    for triangle, upper in ((L, False), (L.conj(), False), (L.mH, True), (L.mT, True)):
        for right in (B, B.conj(), torch._neg_view(B)):
            X = torch.linalg.solve_triangular(triangle, right, upper=upper)
            assert torch.allclose(triangle.clone() @ X, right.clone())
    assert counted.count("solve_triangular") == 12


OUTS = {
    "qr": (lambda A, out: torch.linalg.qr(A, out=out), 2),
    "eigh": (lambda A, out: torch.linalg.eigh(A, out=out), 2),
    "svd": (lambda A, out: torch.linalg.svd(A, out=out), 3),
    "cholesky": (lambda A, out: torch.linalg.cholesky(A, out=out[0]), 1),
    "cholesky_inverse": (lambda A, out: torch.cholesky_inverse(A, out=out[0]), 1),
    "solve_triangular": (
        lambda A, out: torch.linalg.solve_triangular(A, A, upper=False, out=out[0]),
        1,
    ),
}


@pytest.mark.parametrize("name", OUTS)
def test_out(name):
    call, count = OUTS[name]
    A = positive(3, 4, 4, seed=51, dtype=torch.float64)

    def outs(make):
        results = tuple(make(i) for i in range(count))
        call(A, results)
        return results

    def empty(i):
        return torch.empty(0, dtype=A.dtype)

    def wrong_shape(i):
        return torch.empty(2, dtype=A.dtype)

    expected = {}
    for who in ("torch", "lanepack"):
        found = []
        for make in (empty, wrong_shape):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                found.append((outs(make), len(seen)))
        shapes = [x.shape for x in found[0][0]]
        spread = outs(lambda i, shapes=shapes: A.new_empty((2, *shapes[i])).mul_(0)[0].mT.mT)
        every_other = outs(
            lambda i, shapes=shapes: A.new_zeros((*shapes[i][:-1], 2 * shapes[i][-1]))[..., ::2]
        )
        expected[who] = (found, spread, every_other)
        lanepack.install()
    lanepack.uninstall()
    ours, theirs = expected["lanepack"], expected["torch"]
    for (x, warned), (y, torch_warned) in zip(ours[0], theirs[0], strict=True):
        assert warned == torch_warned
        for a, b in zip(x, y, strict=True):
            assert a.stride() == b.stride()
            assert torch.allclose(a.abs(), b.abs())
    for x, y in zip(ours[1] + ours[2], theirs[1] + theirs[2], strict=True):
        assert x.stride() == y.stride()
        assert torch.allclose(x.abs(), y.abs())


def test_out_may_be_the_input(counted):
    A = positive(3, 4, 4, seed=52, dtype=torch.float32)
    L = torch.linalg.cholesky(A)
    assert torch.equal(torch.linalg.cholesky(A, out=A), L)
    B = randn(3, 4, 4, seed=53, dtype=torch.float32)
    X = torch.linalg.solve_triangular(L, B, upper=False)
    assert torch.equal(torch.linalg.solve_triangular(L, B, upper=False, out=B), X)
    assert counted.count("solve_triangular") == 2


COMPOSITES = {
    "pinv": lambda A: torch.linalg.pinv(A),
    "hermitian pinv": lambda A: torch.linalg.pinv(A @ A.mT, hermitian=True),
    "matrix_rank": lambda A: torch.linalg.matrix_rank(A),
    "cond": lambda A: torch.linalg.cond(A),
    "nuclear norm": lambda A: torch.linalg.matrix_norm(A, "nuc"),
    "2-norm": lambda A: torch.linalg.matrix_norm(A, 2),
    "norm of Tensor": lambda A: A[0].norm("nuc"),
    "MultivariateNormal": lambda A: torch.distributions.MultivariateNormal(
        torch.zeros(4, dtype=A.dtype), A @ A.mT + torch.eye(4, dtype=A.dtype)
    ).log_prob(torch.ones(4, dtype=A.dtype)),
    "lobpcg": lambda A: torch.lobpcg(
        A[0] @ A[0].mT, k=1, X=torch.ones(4, 1, dtype=A.dtype), niter=50
    )[0],
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_run_on_ours(name, counted):
    A = randn(2, 4, 4, seed=61)
    ours = COMPOSITES[name](A)
    assert counted
    lanepack.uninstall()
    theirs = COMPOSITES[name](A)
    assert torch.allclose(ours, theirs, rtol=1e-7)


def test_orthogonal_initialisation(counted):
    W = torch.nn.init.orthogonal_(torch.empty(6, 4))
    assert counted == ["qr"]
    assert torch.allclose(W.mT @ W, torch.eye(4), atol=1e-5)


def symmetric(A):
    return (A + A.mH) / 2


DERIVED = {
    "qr": lambda A: torch.linalg.qr(A),
    "eigvalsh": lambda A: torch.linalg.eigvalsh(symmetric(A)),
    "projector": lambda A: (lambda V: V[..., :1] @ V[..., :1].mH)(
        torch.linalg.eigh(symmetric(A)).eigenvectors
    ),
    "svdvals": lambda A: torch.linalg.svdvals(A),
    "cholesky": lambda A: torch.linalg.cholesky(A @ A.mH + torch.eye(3, dtype=A.dtype)),
    "solve_triangular": lambda A: torch.linalg.solve_triangular(
        A.tril(-1) + 2 * torch.eye(3, dtype=A.dtype), A, upper=False
    ),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("name", DERIVED)
def test_derivatives_are_torchs_own(name, dtype, served):
    A = randn(2, 3, 3, seed=71, dtype=dtype).requires_grad_()
    assert torch.autograd.gradcheck(DERIVED[name], (A,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(DERIVED[name], (A,))


def test_transforms(counted):
    A = hermitian(5, 3, 3, seed=81)
    values = torch.vmap(torch.linalg.eigvalsh)(A)
    assert torch.allclose(values, torch.linalg.eigvalsh(A))
    assert len(counted) == 2  # one call for all samples

    def loss(A):
        return torch.linalg.svdvals(A).sum()

    hessians = torch.vmap(torch.func.hessian(loss))(A)
    lanepack.uninstall()
    assert torch.allclose(hessians, torch.vmap(torch.func.hessian(loss))(A), atol=1e-9)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_programs(backend, counted):
    def program(A):
        L, V = torch.linalg.eigh(A @ A.mT)
        return L.sqrt(), V @ torch.linalg.qr(A).R

    A = randn(3, 4, 4, seed=91)
    expected = program(A)
    counted.clear()
    compiled = torch.compile(program, backend=backend, fullgraph=True)(A)
    assert set(counted) == {"eigh", "qr"}
    for x, y in zip(compiled, expected, strict=True):
        assert torch.equal(x, y)


def test_many_threads_call_and_install():
    A = hermitian(50, 4, 4, seed=101)
    failures = []

    def call():
        for _ in range(100):
            lanepack.install()  # changes nothing
            L, V = torch.linalg.eigh(A)
            if not torch.allclose(V * L.unsqueeze(-2) @ V.mT, A, atol=1e-10):
                failures.append("wrong")

    lanepack.install()
    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lanepack.uninstall()
    assert not failures
    assert lanepack.installed() == ()


PROGRAM = """
import sys, lanepack, torch
print(sys.argv[1:], __name__, lanepack.installed(), torch.linalg.eigvalsh(torch.eye(2)).tolist())
if "fail" in sys.argv: raise ValueError("the program's own")
if "exit" in sys.argv: sys.exit(3)
"""


def run(*arguments, cwd):
    command = [sys.executable, "-m", "lanepack", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_run(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("--functions", "eigvalsh,svd", "program.py", "--functions", "x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = "['--functions', 'x'] __main__ ('eigvalsh', 'svd') [1.0, 1.0]\n"
    assert done.stdout == expected
    as_module = run("-m", "program", "a", cwd=tmp_path)
    assert as_module.stdout.startswith("['a'] __main__ ('qr', 'eigh',")
    failed = run("program.py", "fail", cwd=tmp_path)
    assert failed.returncode == 1
    assert "Traceback" in failed.stderr
    assert "the program's own" in failed.stderr
    assert run("program.py", "exit", cwd=tmp_path).returncode == 3
    missing = run("missing.py", cwd=tmp_path)
    assert missing.returncode == 2
    assert "missing.py is not a file" in missing.stderr
    unknown = run("--functions", "inv", "program.py", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "inv" in unknown.stderr
