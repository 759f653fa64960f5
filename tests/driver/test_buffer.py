"""Buffers: what goes in, what comes out, and who sees which write."""

import copy
import pickle

import jax
import ml_dtypes
import numpy as np
import pytest

from maxlite.driver import CPU, Buffer, Usage
from maxlite.dtype import DType


def six():
    return Buffer.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))


class TestConstruction:
    def test_is_zero_on_the_first_cpu(self):
        buffer = Buffer(DType.int16, [2, 3])
        assert buffer.device is CPU()
        np.testing.assert_array_equal(buffer.to_numpy(), np.zeros((2, 3), np.int16))

    @pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 3, 4)])
    @pytest.mark.parametrize("dtype", [DType.bool, DType.int64, DType.float16])
    def test_takes_any_shape_and_dtype(self, shape, dtype):
        buffer = Buffer.zeros(shape, dtype, CPU(1))
        assert buffer.shape == shape
        assert buffer.dtype is dtype
        assert buffer.device is CPU(1)
        assert buffer.to_numpy().dtype == dtype.to_numpy()

    @pytest.mark.parametrize(
        ("shape", "error", "message"),
        [
            ((2, -1), ValueError, r"each size must be at least 0, got \[2, -1\]"),
            (3, TypeError, "the shape must be a sequence of ints, got 3"),
            ((2.0,), TypeError, "the shape must be a sequence of ints"),
            ("ab", TypeError, "the shape must be a sequence of ints"),
        ],
    )
    def test_checks_the_shape(self, shape, error, message):
        with pytest.raises(error, match=message):
            Buffer.zeros(shape, DType.int8)

    @pytest.mark.parametrize("device", ["cpu", 0])
    def test_checks_the_device(self, device):
        with pytest.raises(TypeError, match="Buffer: the device must be a Device"):
            Buffer(DType.int8, (1,), device)

    def test_refuses_a_dtype_that_jax_has_not(self):
        with pytest.raises(NotImplementedError, match="JAX has no arrays of"):
            Buffer.zeros((1,), DType.float6_e2m3fn)

    @pytest.mark.parametrize("usage", Usage)
    def test_any_usage_is_good_on_a_cpu(self, usage):
        buffer = Buffer(DType.int8, (1,), usage=usage)
        assert buffer.usage is usage
        assert not buffer.pinned

    def test_staging_memory_of_an_accelerator_is_refused(self, monkeypatch):
        monkeypatch.setattr(type(CPU()), "is_host", False)
        with pytest.raises(NotImplementedError, match="staging memory must be that of"):
            Buffer(DType.int8, (1,), usage=Usage.STAGING)


class TestFacts:
    def test_of_a_matrix(self):
        buffer = six().to(CPU(2))
        assert buffer.shape == (2, 3)
        assert buffer.rank == 2
        assert buffer.num_elements == 6
        assert buffer.element_size == 4
        assert buffer.strides == (3, 1)
        assert buffer.is_contiguous
        assert buffer.contiguous() is buffer
        assert buffer.is_host
        assert buffer.usage is Usage.DEFAULT
        assert buffer.stream == CPU(2).default_queue

    @pytest.mark.parametrize(
        ("shape", "strides"), [((), ()), ((0, 3), (3, 1)), ((2, 3, 4), (12, 4, 1))]
    )
    def test_strides_count_elements(self, shape, strides):
        assert Buffer.zeros(shape, DType.int64).strides == strides

    def test_equality_and_hash_are_identity(self):
        one, other = six(), six()
        assert one != other
        assert len({one, other, one}) == 2
        assert [one, other].index(other) == 1

    def test_prints_as_in_the_reference(self):
        assert repr(six()) == "maxlite.driver.Buffer(DType.float32, (2, 3), cpu[0])"
        assert str(six()) == (
            "Buffer([[0. 1. 2.]\n"
            "        [3. 4. 5.]], dtype=DType.float32, shape=(2, 3), "
            "device=Device(type=cpu,id=0))"
        )

    @pytest.mark.parametrize("dtype", [DType.bfloat16, DType.float8_e5m2])
    def test_prints_what_numpy_has_not(self, dtype):
        expected = f"Buffer([0. 0.], dtype={dtype}, shape=(2,), device={CPU()})"
        assert str(Buffer.zeros((2,), dtype)) == expected


class TestFromNumpy:
    @pytest.mark.parametrize(
        "array",
        [
            np.arange(6.0)[::2],
            np.arange(6)[::-1],
            np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            np.broadcast_to(np.float32(3), (2, 2)),
            np.arange(3, dtype=">i4"),
            np.arange(3, dtype=">f8"),
            np.broadcast_to(np.arange(3.0), (3,)),
            np.frombuffer(b"x\0\0\0\0\0\0\0y", np.int64, 1, offset=1),
            np.zeros((0, 3)),
            np.array(3.5),
            np.array([True, False]),
            np.array([2**63 + 1], np.uint64),
            np.array([-(2**62) - 1, 1]),
            np.array([1 + 2**-52]),
            np.arange(4, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn),
            np.array([1.5, -2], ml_dtypes.bfloat16),
        ],
    )
    def test_copies_exactly_whatever_the_layout(self, array):
        buffer = Buffer.from_numpy(array)
        assert buffer.shape == array.shape
        assert buffer.dtype is DType.from_numpy(array.dtype)
        found = np.asarray(buffer.to_jax())
        assert found.tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()

    @pytest.mark.parametrize(
        ("wrong", "error", "message"),
        [
            ([1, 2], TypeError, "must be a numpy array, got list"),
            (np.float32(3), TypeError, "must be a numpy array, got float32"),
            (np.zeros(2, complex), ValueError, "got dtype.'complex128'"),
            (np.array(["a"]), ValueError, "Convert the data"),
            (np.array([None]), ValueError, "Convert the data"),
            (np.zeros(2, ml_dtypes.float6_e2m3fn), NotImplementedError, "JAX has no"),
        ],
    )
    def test_refuses_anything_else(self, wrong, error, message):
        with pytest.raises(error, match=message):
            Buffer.from_numpy(wrong)


class TestToNumpy:
    def test_is_a_read_only_view(self):
        buffer = six()
        view = buffer.to_numpy()
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            view[0, 0] = 1
        assert view.ctypes.data == buffer.to_numpy().ctypes.data

    def test_keeps_its_value_when_the_buffer_is_written(self):
        buffer = six()
        view = buffer.to_numpy()
        buffer[0, 0] = 9
        assert view[0, 0] == 0
        assert buffer.to_numpy()[0, 0] == 9

    def test_of_rank_0_is_an_array(self):
        assert Buffer.scalar(2, DType.int64).to_numpy().shape == ()

    @pytest.mark.parametrize("dtype", [DType.bfloat16, DType.float8_e4m3fn])
    def test_what_numpy_has_not_is_refused_with_a_way_out(self, dtype):
        buffer = Buffer.zeros((2,), dtype)
        bits = f"uint{dtype.size_in_bits}"
        with pytest.raises(ValueError, match=rf"got {dtype}\. Use np.*view.*{bits}"):
            buffer.to_numpy()
        assert np.asarray(buffer.to_jax()).dtype == dtype.to_jax()
        assert buffer.view(DType(bits)).to_numpy().dtype == bits

    def test_asarray_is_a_view_and_array_a_copy(self):
        buffer = six()
        assert np.shares_memory(np.asarray(buffer), buffer.to_numpy())
        made = np.array(buffer)
        made[0, 0] = 9
        assert buffer[0, 0].item() == 0
        assert np.asarray(buffer, dtype=np.int8).dtype == np.int8

    def test_int64_comes_back_outside_of_the_scope_of_64_bits(self):
        assert not jax.config.read("jax_enable_x64")
        buffer = Buffer.from_numpy(np.array([2**40 + 5])).copy(CPU(3)).to(CPU())
        assert buffer.to_numpy().tolist() == [2**40 + 5]


class TestItemAndScalar:
    @pytest.mark.parametrize(
        ("value", "dtype", "expected"),
        [
            (3, DType.int64, 3),
            (2**60 + 1, DType.int64, 2**60 + 1),
            (True, DType.bool, True),
            (1, DType.bool, True),
            (True, DType.float32, 1.0),
            (1.5, DType.bfloat16, 1.5),
            (0.5, DType.float8_e5m2, 0.5),
            (2**24 + 1, DType.float32, 2.0**24),
            (1e300, DType.float32, float("inf")),
            (np.float32(2), DType.float64, 2.0),
            (np.array(3), DType.int8, 3),
        ],
    )
    def test_go_both_ways(self, value, dtype, expected):
        found = Buffer.scalar(value, dtype).item()
        assert found == expected
        assert type(found) is type(expected)

    @pytest.mark.parametrize(
        ("value", "dtype", "error", "message"),
        [
            (3.5, DType.int64, ValueError, "must be an integer, got 3.5"),
            (300, DType.int8, ValueError, r"must lie in \[-128, 127\], got 300"),
            (-1, DType.uint8, ValueError, r"must lie in \[0, 255\], got -1"),
            ("a", DType.int8, TypeError, "must be a bool, an int or a float, got str"),
            (None, DType.float32, TypeError, "got NoneType"),
            (np.zeros(2), DType.float32, TypeError, "got ndarray"),
        ],
    )
    def test_what_the_dtype_cannot_hold_is_refused(self, value, dtype, error, message):
        with pytest.raises(error, match=message):
            Buffer.scalar(value, dtype)

    def test_an_item_needs_exactly_one_element(self):
        assert Buffer.zeros((1, 1), DType.int8).item() == 0
        with pytest.raises(ValueError, match=r"one element, got shape \(2, 3\)"):
            six().item()


class TestIndexing:
    @pytest.mark.parametrize(
        "index",
        [
            (0, 1),
            (-1, -1),
            (slice(None), 1),
            (0, slice(None)),
            (0, slice(0, 10)),
            (0, slice(None, None, -1)),
            (0, slice(2, 1)),
            (slice(0, 2), slice(None, None, 2)),
            (np.int64(0), 0),
        ],
    )
    def test_reads_like_numpy(self, index):
        expected = np.arange(6, dtype=np.float32).reshape(2, 3)[index]
        found = six()[index]
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.to_numpy(), expected)

    def test_takes_one_index_alone_or_a_list(self):
        buffer = Buffer.from_numpy(np.arange(3))
        assert buffer[1].item() == 1
        assert buffer[1:].shape == (2,)
        assert [each.item() for each in buffer] == [0, 1, 2]
        assert six()[[0, 1]].item() == 1
        assert Buffer.scalar(4, DType.int8)[()].item() == 4

    def test_stays_on_the_device(self):
        assert six().to(CPU(4))[0, :].device is CPU(4)

    @pytest.mark.parametrize(
        ("index", "error", "message"),
        [
            (0, ValueError, r"one index per axis, got 1 for shape \(2, 3\)"),
            ((0, 0, 0), ValueError, "one index per axis, got 3"),
            ((), ValueError, "one index per axis, got 0"),
            ((2, 0), IndexError, r"must lie in \[-2, 2\), got 2 for axis 0"),
            ((0, -4), IndexError, r"must lie in \[-3, 3\), got -4 for axis 1"),
            ((0, None), TypeError, "must be an int or a slice, got NoneType"),
            (..., TypeError, "must be an int or a slice, got ellipsis"),
            ("a", TypeError, "must be an int or a slice, got str"),
            ((0, 1.0), TypeError, "must be an int or a slice, got float"),
            ((0, [1]), TypeError, "must be an int or a slice, got list"),
        ],
    )
    def test_refuses_other_indices_to_read_and_to_write(self, index, error, message):
        buffer = six()
        with pytest.raises(error, match=message):
            buffer[index]
        with pytest.raises(error, match=message):
            buffer[index] = 1
        np.testing.assert_array_equal(buffer.to_numpy(), six().to_numpy())

    @pytest.mark.parametrize(
        ("index", "value"), [((0, 0), 9), ((-1, -1), 9.5), ((slice(None), 1), 7)]
    )
    def test_writes_like_numpy(self, index, value):
        buffer, expected = six(), np.array(six())
        buffer[index] = value
        expected[index] = value
        np.testing.assert_array_equal(buffer.to_numpy(), expected)

    def test_a_write_of_64_bits_is_exact(self):
        buffer = Buffer.zeros((2,), DType.int64)
        buffer[1] = 2**53 + 1
        assert buffer[1].item() == 2**53 + 1

    @pytest.mark.parametrize("value", [six(), [1, 2], "a", np.zeros(3)])
    def test_writes_only_numbers(self, value):
        buffer = six()
        with pytest.raises(TypeError, match="a number must be a bool, an int"):
            buffer[0, 0] = value

    def test_nobody_else_sees_a_write(self):
        buffer = six()
        others = [
            buffer.to_jax(),
            buffer.to_numpy(),
            buffer[:, :],
            buffer.view(DType.float32),
            buffer.copy(),
            Buffer.from_jax(buffer.to_jax()),
            np.from_dlpack(buffer),
        ]
        buffer[0, 0] = 9
        assert [np.asarray(other)[0, 0] for other in others] == [0] * 7


class TestView:
    @pytest.mark.parametrize(
        ("dtype", "shape"),
        [
            (DType.int32, None),
            (DType.int8, None),
            (DType.float16, None),
            (DType.float32, (3, 2)),
            (DType.int8, (24,)),
            (DType.int64, (3,)),
            (DType.uint8, [4, 6]),
        ],
    )
    def test_reads_the_same_bytes(self, dtype, shape):
        found = six().view(dtype, shape)
        flat = np.arange(6, dtype=np.float32).reshape(2, 3)
        expected = (
            flat.view(dtype.to_numpy())
            if shape is None
            else (flat.reshape(-1).view(dtype.to_numpy()).reshape(shape))
        )
        assert found.dtype is dtype
        np.testing.assert_array_equal(found.to_numpy(), expected)

    def test_of_bfloat16_gives_the_bits(self):
        one = Buffer.scalar(1, DType.bfloat16).view(DType.uint16)
        assert one.item() == 0x3F80
        assert one.view(DType.bfloat16).item() == 1

    @pytest.mark.parametrize(
        ("dtype", "shape", "message"),
        [
            (DType.float64, None, "must have a multiple of 8 bytes.*got shape"),
            (DType.int8, (5,), "as many bytes as the buffer, got 5 .* and 24 for"),
            (DType.float64, (2, 3), "as many bytes as the buffer, got 48"),
            (DType.int8, (-1,), "each size must be at least 0"),
        ],
    )
    def test_bytes_must_come_out_even(self, dtype, shape, message):
        with pytest.raises(ValueError, match=message):
            six().view(dtype, shape)

    def test_of_rank_0_needs_a_shape_when_the_size_changes(self):
        buffer = Buffer.scalar(1, DType.int32)
        assert buffer.view(DType.float32).shape == ()
        assert buffer.view(DType.int8, (4,)).to_numpy().tolist() == [1, 0, 0, 0]
        with pytest.raises(ValueError, match=r"Pass a shape"):
            buffer.view(DType.int8)


class TestCopy:
    def test_makes_new_memory_on_any_device(self):
        buffer = Buffer.from_numpy(np.array([2**40, 1]))
        for device in (None, CPU(), CPU(1)):
            made = buffer.copy(device)
            assert made.device is (device or CPU())
            assert made.to_numpy().tolist() == [2**40, 1]
            assert not np.shares_memory(made.to_numpy(), buffer.to_numpy())

    def test_moves_only_when_it_lies_elsewhere(self):
        buffer = six()
        assert buffer.to(CPU()) is buffer
        assert buffer.to(CPU(1)).device is CPU(1)
        here, there = buffer.to([CPU(), CPU(2)])
        assert here is buffer
        assert there.device is CPU(2)
        assert buffer.to([]) == []

    @pytest.mark.parametrize("device", ["cpu", None, 0])
    def test_checks_the_device(self, device):
        with pytest.raises(TypeError, match="the device must be a Device"):
            six().to(device)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
    def test_by_the_copy_module_is_independent(self, duplicate):
        buffer = six()
        made = duplicate(buffer)
        buffer[0, 0] = 9
        assert made[0, 0].item() == 0

    @pytest.mark.parametrize(
        "dtype", [DType.bool, DType.int64, DType.float64, DType.bfloat16]
    )
    def test_pickles_exactly(self, dtype):
        buffer = Buffer.zeros((2, 2), dtype, CPU(3))
        buffer[1, 0] = 1
        made = pickle.loads(pickle.dumps(buffer))
        assert made.dtype is dtype
        assert made.device is CPU(3)
        assert np.asarray(made.to_jax()).tolist() == [[0, 0], [1, 0]]

    def test_pickles_64_bits_exactly(self):
        buffer = Buffer.from_numpy(np.array([2**40 + 5]))
        assert pickle.loads(pickle.dumps(buffer)).item() == 2**40 + 5

    def test_inplace_fills_this_box_only(self):
        target, source = Buffer.zeros((2, 3), DType.float32, CPU(1)), six()
        before = target.to_numpy()
        target.inplace_copy_from(source)
        source[0, 0] = 9
        np.testing.assert_array_equal(target.to_numpy(), six().to_numpy())
        assert not before.any()
        assert target.device is CPU(1)

    def test_inplace_takes_row_major_order_when_shapes_differ(self):
        target = Buffer.zeros((3, 2), DType.int64)
        target.inplace_copy_from(Buffer.from_numpy(2**40 + np.arange(6).reshape(2, 3)))
        assert target[2, 1].item() == 2**40 + 5

    def test_inplace_from_itself_changes_nothing(self):
        buffer = six()
        buffer.inplace_copy_from(buffer)
        np.testing.assert_array_equal(buffer.to_numpy(), six().to_numpy())

    @pytest.mark.parametrize(
        ("source", "error", "message"),
        [
            (Buffer.zeros((2, 4), DType.float32), ValueError, r"got .*\(2, 4\) for"),
            (Buffer.zeros((2, 3), DType.int32), ValueError, r"got DType\.int32"),
            (np.zeros((2, 3), np.float32), TypeError, "must be a Buffer, got ndarray"),
        ],
    )
    def test_inplace_checks_the_source(self, source, error, message):
        with pytest.raises(error, match=message):
            six().inplace_copy_from(source)


class TestFromJax:
    def test_shares_the_array(self):
        array = jax.device_put(np.ones(3, np.float32), jax.devices("cpu")[2])
        buffer = Buffer.from_jax(array)
        assert buffer.to_jax() is array
        assert buffer.device is CPU(2)

    def test_a_sharded_array_is_refused(self):
        mesh = jax.sharding.Mesh(jax.devices("cpu")[:2], ("x",))
        over = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
        array = jax.device_put(np.ones(4, np.float32), over)
        with pytest.raises(ValueError, match=r"must lie on one device, got 2\. Box"):
            Buffer.from_jax(array)
        shard = array.addressable_shards[1].data
        assert Buffer.from_jax(shard).device is CPU(1)

    def test_a_random_key_is_refused(self):
        with pytest.raises(ValueError, match=r"DType\.from_jax"):
            Buffer.from_jax(jax.random.key(0))
