"""Memory of others: DLPack in and out, and files."""

import jax
import ml_dtypes
import numpy as np
import pytest

from maxlite.driver import CPU, Buffer, DLPackArray
from maxlite.dtype import DType

MEBI = 1024 * 1024


def aligned(values):
    """The same array at a multiple of 64 bytes, where JAX can share it."""
    values = np.asarray(values)
    room = np.zeros(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    made = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def misaligned(values):
    """The same array one element beside a multiple of 64 bytes."""
    values = np.asarray(values)
    made = aligned(np.zeros(values.size + 1, values.dtype))[1:].reshape(values.shape)
    made[...] = values
    return made


def read_only(values):
    values.flags.writeable = False
    return values


class Foreign:
    """A library's own array, known by the protocol alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


DTYPES = [bool, "int8", "int64", "uint64", "float16", "float32", "float64"]


class TestCopyingIn:
    @pytest.mark.parametrize("place", [aligned, misaligned])
    @pytest.mark.parametrize("size", [3, 4 * MEBI])
    def test_an_edit_right_after_does_not_show(self, place, size):
        """JAX shares the one kind of memory, and reads the other one later."""
        array = place(np.zeros(size))
        buffer = Buffer.from_numpy(array)
        array[...] = 9
        assert not buffer.to_numpy().any()


class TestBorrowing:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("wrap", [np.asarray, Foreign])
    @pytest.mark.parametrize("copy", [None, False])
    def test_shares_aligned_memory(self, dtype, wrap, copy):
        array = aligned(np.array([[0, 1], [1, 0]], dtype))
        buffer = Buffer.from_dlpack(wrap(array), copy=copy)
        assert buffer.dtype is DType.from_numpy(array.dtype)
        array[0, 0] = 1
        assert buffer[0, 0].item() == 1

    @pytest.mark.parametrize("wrap", [np.asarray, Foreign])
    def test_64_bits_are_exact(self, wrap):
        array = aligned([2**40 + 5, -1])
        assert Buffer.from_dlpack(wrap(array)).to_numpy().tolist() == [2**40 + 5, -1]

    def test_a_write_to_the_buffer_leaves_the_lender_alone(self):
        array = aligned([1.0, 2.0])
        buffer = Buffer.from_dlpack(array, copy=False)
        buffer[0] = 9
        assert array.tolist() == [1, 2]
        assert buffer.to_numpy().tolist() == [9, 2]

    @pytest.mark.parametrize("wrap", [np.asarray, Foreign])
    @pytest.mark.parametrize("place", [aligned, misaligned])
    def test_copies_when_told_to(self, wrap, place):
        array = place([1.0, 2.0])
        buffer = Buffer.from_dlpack(wrap(array), copy=True)
        array[0] = 9
        assert buffer.to_numpy().tolist() == [1, 2]

    @pytest.mark.parametrize(
        "array",
        [
            misaligned([1.0, 2.0]),
            read_only(aligned([1.0, 2.0])),
            aligned([1.0, 2.0]).astype(">f8"),
            aligned(np.array([1.0, 2.0], ml_dtypes.bfloat16)),
            np.array(3.5),
            np.zeros((0, 3)),
        ],
    )
    def test_copies_what_cannot_be_shared(self, array):
        buffer = Buffer.from_dlpack(array)
        assert buffer.dtype is DType.from_numpy(array.dtype)
        assert np.asarray(buffer.to_jax()).tolist() == array.tolist()

    @pytest.mark.parametrize(
        ("array", "reason"),
        [
            (misaligned([1.0, 2.0]), "does not start at a multiple of 64 bytes"),
            (read_only(aligned([1.0])), "is marked read-only"),
            (np.zeros(2, ">f8"), "DLPack cannot describe"),
            (np.zeros(2, ml_dtypes.bfloat16), "DLPack cannot describe"),
        ],
    )
    def test_raises_instead_when_sharing_was_asked_for(self, array, reason):
        with pytest.raises(ValueError, match=f"must be shareable, .*{reason}"):
            Buffer.from_dlpack(array, copy=False)

    def test_a_foreign_array_beside_a_multiple_is_copied_or_refused(self):
        array = Foreign(misaligned([1.0, 2.0]))
        assert Buffer.from_dlpack(array).to_numpy().tolist() == [1, 2]
        with pytest.raises(ValueError, match=r"Foreign with copy=False \(.*aligned"):
            Buffer.from_dlpack(array, copy=False)

    @pytest.mark.parametrize(
        "array",
        [
            np.arange(6.0)[::2],
            np.arange(6.0)[::-1],
            np.asfortranarray(np.zeros((2, 3))),
        ],
    )
    @pytest.mark.parametrize("copy", [None, False, True])
    def test_gaps_and_other_orders_are_refused(self, array, copy):
        with pytest.raises(ValueError, match=r"row-major without gaps.*ascontiguous"):
            Buffer.from_dlpack(array, copy=copy)

    def test_gaps_of_a_foreign_array_are_refused(self):
        with pytest.raises(ValueError, match=r"got Foreign.*Copy it in its own"):
            Buffer.from_dlpack(Foreign(np.arange(6.0)[::2]))

    @pytest.mark.parametrize(
        ("wrong", "error", "message"),
        [
            ([1, 2], TypeError, "must have __dlpack__ .* got list"),
            (3, TypeError, "got int"),
            (np.zeros(2, complex), ValueError, "got dtype.'complex128'"),
            (Foreign(aligned(np.zeros(2, complex))), ValueError, "complex128"),
            (np.array(["a"]), ValueError, "Convert the data"),
        ],
    )
    def test_anything_else_is_refused(self, wrong, error, message):
        with pytest.raises(error, match=message):
            Buffer.from_dlpack(wrong)

    def test_a_buffer_comes_back_as_it_is_unless_copied(self):
        buffer = Buffer.zeros((2,), DType.bfloat16, CPU(1))
        assert Buffer.from_dlpack(buffer) is buffer
        assert Buffer.from_dlpack(buffer, copy=False) is buffer
        made = Buffer.from_dlpack(buffer, copy=True)
        assert made is not buffer
        assert made.device is CPU(1)

    @pytest.mark.parametrize("dtype", ["int64", "bfloat16", "float8_e5m2", "bool"])
    def test_a_jax_array_keeps_its_dtype(self, dtype):
        member = DType(dtype)
        array = Buffer.zeros((3,), member).to_jax()
        assert Buffer.from_dlpack(array).dtype is member

    def test_the_lender_s_memory_outlives_the_lender(self):
        buffer = Buffer.from_dlpack(aligned(np.arange(MEBI)))
        assert buffer[MEBI - 1].item() == MEBI - 1


class TestLending:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)])
    def test_to_numpy_is_a_view_without_a_copy(self, dtype, shape):
        buffer = Buffer.from_numpy(np.ones(shape, dtype))
        lent = np.from_dlpack(buffer)
        assert lent.dtype == dtype
        assert lent.shape == shape
        assert lent.ctypes.data == buffer.to_numpy().ctypes.data or not lent.size

    def test_the_protocol_is_recognised(self):
        assert isinstance(Buffer.zeros((1,), DType.int8), DLPackArray)
        assert isinstance(np.zeros(1), DLPackArray)
        assert not isinstance([0], DLPackArray)

    def test_the_device_is_named_as_dlpack_counts(self):
        kind, position = Buffer.zeros((1,), DType.int8).__dlpack_device__()
        assert (int(kind), position) == (1, 0)

    def test_a_jax_user_gets_it_back(self):
        with jax.enable_x64(True):
            lent = jax.dlpack.from_dlpack(Buffer.from_numpy(np.array([2**40])))
        assert int(np.asarray(lent)[0]) == 2**40


class TestFiles:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "elements"
        np.arange(64, dtype=np.float32).tofile(path)
        return path

    def test_reads_a_part(self, file):
        part = Buffer.mmap(file, DType.float32, (2, 3), offset=64)
        assert part.to_numpy().tolist() == [[16, 17, 18], [19, 20, 21]]
        assert Buffer.mmap(str(file), DType.float32, 64).shape == (64,)
        assert Buffer.mmap(file, DType.float32, (2,), offset=4).to_numpy()[0] == 1

    def test_pages_come_in_when_they_are_used(self, file):
        """The mapping is shared: it shows what is written to the file later."""
        part = Buffer.mmap(file, DType.float32, (4,), mode="r")
        with file.open("r+b") as stream:
            stream.write(np.float32(9).tobytes())
        assert part[0].item() == 9

    @pytest.mark.parametrize("mode", ["r", "readonly", "c", "copyonwrite"])
    def test_a_write_stays_in_the_buffer(self, file, mode):
        part = Buffer.mmap(file, DType.float32, (4,), mode=mode)
        part[0] = 9
        assert part[0].item() == 9
        assert np.fromfile(file, np.float32)[0] == 0

    @pytest.mark.parametrize("dtype", [DType.bfloat16, DType.float8_e5m2, DType.int64])
    def test_reads_any_dtype(self, file, dtype):
        found = Buffer.mmap(file, dtype, (8,), offset=8)
        assert found.dtype is dtype
        raw = file.read_bytes()[8 : 8 + 8 * dtype.size_in_bytes]
        assert np.asarray(found.to_jax()).tobytes() == raw

    def test_a_missing_file_and_a_short_one(self, file):
        with pytest.raises(FileNotFoundError, match="absent"):
            Buffer.mmap(file.parent / "absent", DType.float32, (2,))
        with pytest.raises(ValueError, match="greater than file size"):
            Buffer.mmap(file, DType.float32, (65,))

    @pytest.mark.parametrize("mode", ["r+", "readwrite", "w+", "write"])
    def test_modes_that_write_are_refused(self, file, mode):
        with pytest.raises(NotImplementedError, match="Write the file with"):
            Buffer.mmap(file, DType.float32, (2,), mode=mode)

    @pytest.mark.parametrize("mode", ["zz"])
    def test_an_unknown_mode_is_refused(self, file, mode):
        with pytest.raises(ValueError, match="mode must be 'copyonwrite' or"):
            Buffer.mmap(file, DType.float32, (2,), mode=mode)
