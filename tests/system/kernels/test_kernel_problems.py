"""Tests of the problems of core kernels: shapes, bounds, arguments, seeds, refused sizes."""

import numpy as np
import pytest

from spica.kernels.kernel import every_kernel

KERNELS = {kernel.name: kernel for kernel in every_kernel()}
#: Sizes given to dimensions in this order, from several starting points.
SIZES = (1, 2, 7, 33, 64, 100)


def problems(name):
    """Return problems of several shapes."""
    kernel = KERNELS[name]
    return [
        kernel.problem(
            {d: SIZES[(start + k) % len(SIZES)] for k, d in enumerate(kernel.dimensions)}, seed=1
        )
        for start in range(len(SIZES))
    ]


def contents(problem):
    """Return every byte of a problem's data and arguments."""
    return [buffer.data.tobytes() for buffer in problem.buffers.values()], problem.arguments


@pytest.fixture(params=sorted(KERNELS))
def name(request):
    return request.param


def test_there_are_seventeen():
    assert len(KERNELS) == 17


def test_a_kernel_has_sources_and_says_what_it_computes(name):
    module = __import__(f"spica.kernels.{name}", fromlist=["__doc__"])
    assert KERNELS[name].name == name
    assert KERNELS[name].sources
    assert module.__doc__ and module.__doc__.strip().endswith(".")


def test_buffers_can_be_placed(name):
    for problem in problems(name):
        for buffer in problem.buffers.values():
            assert buffer.data.size
            assert buffer.data.itemsize in (1, 2, 4)
            assert buffer.data.flags.c_contiguous


def test_expectations_have_the_shape_and_kind_of_their_data(name):
    for problem in problems(name):
        expectations = [b for b in problem.buffers.values() if b.expected is not None]
        assert expectations
        for buffer in expectations:
            assert buffer.expected.shape == buffer.data.shape
            is_float = buffer.data.dtype.kind == "f"
            assert buffer.expected.dtype.kind == ("f" if is_float else buffer.data.dtype.kind)
            assert not is_float or buffer.expected.dtype == np.float64
            assert not np.shares_memory(buffer.expected, buffer.data)


def test_bounds_are_finite_and_not_negative(name):
    for problem in problems(name):
        for buffer in problem.buffers.values():
            bound = np.broadcast_to(buffer.bound, buffer.data.shape)
            if buffer.expected is not None:
                bound = bound[np.isfinite(buffer.expected)]
            assert np.isfinite(bound).all()
            assert (bound >= 0).all()
            if buffer.data.dtype.kind != "f":
                assert not bound.any()


def test_bounds_are_narrow(name):
    """At most a thousandth of the usual magnitude of the result."""
    for problem in problems(name):
        for buffer in problem.buffers.values():
            if buffer.expected is None or buffer.data.dtype.kind != "f":
                continue
            fine = np.isfinite(buffer.expected)
            bound = np.broadcast_to(buffer.bound, buffer.data.shape)[fine]
            assert np.median(bound) <= 1e-3 * np.abs(buffer.expected[fine]).max(initial=1e-30)


def test_what_is_there_at_the_start_is_wrong(name):
    """A kernel that does nothing fails, unless there is nothing to do."""
    kernel = KERNELS[name]
    problem = kernel.problem({d: 40 + k for k, d in enumerate(kernel.dimensions)}, seed=1)
    for buffer in problem.buffers.values():
        if buffer.expected is not None:
            with np.errstate(invalid="ignore"):
                assert not (np.abs(buffer.data - buffer.expected) <= buffer.bound).all()


def test_arguments_are_words(name):
    for problem in problems(name):
        for argument in problem.arguments:
            if isinstance(argument, str):
                assert argument in problem.buffers
            elif isinstance(argument, float):
                assert float(np.float32(argument)) == argument
            else:
                assert isinstance(argument, int)
                assert -(1 << 31) <= argument < 1 << 32
        assert set(problem.buffers) <= set(problem.arguments)
        assert isinstance(problem.operations, int)
        assert problem.operations >= 0


def test_the_seed_decides(name):
    kernel = KERNELS[name]
    sizes = dict.fromkeys(kernel.dimensions, 9)
    first, again, other = (kernel.problem(sizes, seed) for seed in (1, 1, 2))
    assert contents(first) == contents(again)
    for ours, its in zip(first.buffers.values(), again.buffers.values(), strict=True):
        np.testing.assert_array_equal(ours.expected, its.expected)
        np.testing.assert_array_equal(ours.bound, its.bound)
    assert contents(first) != contents(other)


def test_given_arrays_are_those_of_the_problem(name):
    """Its own arrays, given back, are the same problem; other arrays change what is expected."""
    kernel = KERNELS[name]
    sizes = {dimension: 6 + k for k, dimension in enumerate(kernel.dimensions)}
    drawn = kernel.problem(sizes, 1)
    inputs = {key: definition for key, definition in kernel.inputs.items() if key in drawn.buffers}
    arrays = {key: drawn.buffers[key].data for key in inputs}
    for key, definition in inputs.items():
        assert arrays[key].shape == definition.shape_of(sizes)
        assert arrays[key].dtype == {"fp32": np.float32, "uint32": np.uint32}[definition.form]
        assert definition.sizes_of(arrays[key].shape).items() <= sizes.items()
    if not arrays:
        return
    posed = kernel.problem(sizes, 2, arrays)
    for key, buffer in drawn.buffers.items():
        np.testing.assert_array_equal(posed.buffers[key].data, buffer.data)
        if name != "saxpy":  # its factor is no buffer
            np.testing.assert_array_equal(posed.buffers[key].expected, buffer.expected)
    other = kernel.problem(sizes, 1, {key: np.zeros_like(x) for key, x in arrays.items()})
    assert contents(other) != contents(drawn)


@pytest.mark.parametrize("size", [0, -1, 1 << 40])
def test_sizes_out_of_range_are_refused(name, size):
    kernel = KERNELS[name]
    for dimension in kernel.dimensions:
        sizes = {**dict.fromkeys(kernel.dimensions, 3), dimension: size}
        with pytest.raises(
            ValueError, match=rf"^{dimension} must be between 1 and \d+, not {size}$"
        ):
            kernel.problem(sizes, seed=1)
