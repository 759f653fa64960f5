"""DType against the reference's tables, numpy and ml_dtypes."""

import copy
import pickle
import subprocess
import sys
from dataclasses import fields

import jax
import ml_dtypes
import numpy as np
import pytest

from maxlite import dtype as dtype_room
from maxlite.dtype import (
    ALL,
    BOOL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    DType,
    check_scalar,
    finfo,
    promote,
)

NUMPY_NAMES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
ML_NAMES = [
    "bfloat16",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e8m0fnu",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
]
IN_JAX = [member for member in DType if not member.name.startswith("float6")]
SIGNED_SMALL_FLOATS = [
    member
    for member in DType
    if member in FLOATS and finfo(member).nmant in range(1, 4)
]

SHORT = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
# Row and column in this order; "-" is an error. Above the diagonal, as measured.
PROMOTIONS = """
bool i8 i16 i32 i64 u8  u16 u32 u64 f16 bf16 f32 f64
     i8 i16 i32 i64 -   -   -   -   f16 bf16 f32 f64
        i16 i32 i64 i16 -   -   -   -   -    f32 f64
            i32 i64 i32 i32 -   -   -   -    -   f64
                i64 i64 i64 i64 -   -   -    -   -
                    u8  u16 u32 u64 f16 bf16 f32 f64
                        u16 u32 u64 -   -    f32 f64
                            u32 u64 -   -    -   f64
                                u64 -   -    -   -
                                    f16 -    f32 f64
                                        bf16 f32 f64
                                             f32 f64
                                                 f64
"""


def promotion_cases():
    members = [DType[name] for name in SHORT.values()]
    rows = [line.split() for line in PROMOTIONS.strip().splitlines()]
    for i, row in enumerate(rows):
        for offset, entry in enumerate(row):
            expected = None if entry == "-" else DType[SHORT[entry]]
            yield members[i], members[i + offset], expected


class TestMembers:
    def test_are_the_reference_s_names(self):
        assert sorted(DType.__members__) == sorted(NUMPY_NAMES + ML_NAMES)

    def test_print_as_in_the_reference(self):
        assert str(DType.int32) == "DType.int32"
        assert repr(DType.int32) == "int32"
        assert f"{DType.int32}" == "DType.int32"

    def test_equal_only_themselves(self):
        assert DType.int8 != "int8"
        assert DType.int8 != np.dtype("int8")
        assert DType.int8 != DType.int8.value

    def test_hash_by_identity_at_the_speed_of_c(self):
        assert DType.__hash__ is object.__hash__
        assert len({DType.int8, DType.int8, DType.int16}) == 2

    @pytest.mark.parametrize("member", DType)
    def test_stay_singletons_under_pickle_and_copy(self, member):
        assert pickle.loads(pickle.dumps(member)) is member
        assert copy.copy(member) is member
        assert copy.deepcopy([member])[0] is member

    @pytest.mark.parametrize(
        ("name", "member"),
        [
            ("float32", DType.float32),
            ("f32", DType.float32),
            ("bf16", DType.bfloat16),
            ("si8", DType.int8),
            ("ui64", DType.uint64),
            ("i1", DType.bool),
            ("f8e4m3fnuz", DType.float8_e4m3fnuz),
            (81, DType.float32),
        ],
    )
    def test_are_found_by_name_mlir_name_and_value(self, name, member):
        assert DType(name) is member

    def test_refuse_an_unknown_name(self):
        with pytest.raises(ValueError, match="'float99' is not a valid DType"):
            DType("float99")


class TestFacts:
    @pytest.mark.parametrize("name", NUMPY_NAMES)
    def test_sizes_and_alignment_are_numpy_s(self, name):
        member, known = DType[name], np.dtype(name)
        assert member.size_in_bytes == member.align == known.itemsize
        assert member.size_in_bits == 8 * known.itemsize

    @pytest.mark.parametrize(
        ("member", "bits", "size"),
        [
            (DType.bfloat16, 16, 2),
            (DType.float8_e5m2, 8, 1),
            (DType.float6_e3m2fn, 6, 1),
            (DType.float4_e2m1fn, 4, 1),
        ],
    )
    def test_small_floats_take_whole_bytes(self, member, bits, size):
        assert (member.size_in_bits, member.size_in_bytes) == (bits, size)

    @pytest.mark.parametrize("member", DType)
    def test_predicates_agree_with_the_categories(self, member):
        assert member.is_integral() == (member in INTEGERS)
        assert member.is_signed_integral() == (member in SIGNED)
        assert member.is_unsigned_integral() == (member in UNSIGNED)
        assert member.is_float() == (member in FLOATS)
        assert member.is_float8() == member.name.startswith("float8")
        assert member.is_half() == (member.name in ("float16", "bfloat16"))

    def test_categories_part_all_members(self):
        assert BOOL | SIGNED | UNSIGNED | FLOATS == ALL == frozenset(DType)
        assert len(BOOL) + len(SIGNED) + len(UNSIGNED) + len(FLOATS) == len(ALL)
        assert INTEGERS == SIGNED | UNSIGNED
        assert NUMBERS == INTEGERS | FLOATS
        assert (len(SIGNED), len(UNSIGNED), len(FLOATS)) == (4, 4, 12)

    def test_bool_is_neither_integer_nor_float(self):
        assert not DType.bool.is_integral()
        assert not DType.bool.is_float()


class TestNumpy:
    @pytest.mark.parametrize("name", NUMPY_NAMES)
    def test_goes_both_ways(self, name):
        assert DType.from_numpy(np.dtype(name)) is DType[name]
        assert DType.from_numpy(np.dtype(name).type) is DType[name]
        assert DType[name].to_numpy() == np.dtype(name)

    def test_any_byte_order_and_any_c_name_is_taken(self):
        assert DType.from_numpy(np.dtype(">i4")) is DType.int32
        assert DType.from_numpy(np.dtype("<f8")) is DType.float64
        assert DType.from_numpy(np.longlong) is DType.int64

    @pytest.mark.parametrize("name", ML_NAMES)
    def test_ml_dtypes_are_taken(self, name):
        assert DType.from_numpy(getattr(ml_dtypes, name)) is DType[name]

    @pytest.mark.parametrize(
        "unknown",
        [
            np.dtype("complex64"),
            np.complex128,
            np.dtype("S3"),
            np.dtype("O"),
            np.dtype("M8[s]"),
            np.dtype([("a", "i4")]),
            np.longdouble,
            ml_dtypes.int4,
            "float32",
            float,
            bool,
            None,
        ],
    )
    def test_anything_else_is_refused(self, unknown):
        with pytest.raises(ValueError, match=r"DType\.from_numpy: .* Convert the data"):
            DType.from_numpy(unknown)

    @pytest.mark.parametrize("name", [n for n in ML_NAMES if "float8" not in n])
    def test_what_numpy_has_not_is_refused(self, name):
        with pytest.raises(
            ValueError, match=f"got DType.{name}. Cast to DType.float32"
        ):
            DType[name].to_numpy()

    @pytest.mark.parametrize("name", [n for n in ML_NAMES if "float8" in n])
    def test_float8_is_carried_as_bytes(self, name):
        assert DType[name].to_numpy() == np.uint8


class TestJax:
    @pytest.mark.parametrize("member", IN_JAX)
    def test_goes_both_ways(self, member):
        assert DType.from_jax(member.to_jax()) is member
        assert member.to_jax().itemsize == member.size_in_bytes

    @pytest.mark.parametrize("member", IN_JAX)
    def test_arrays_can_be_made_of_it(self, member):
        with jax.enable_x64(True):
            array = jax.device_put(np.ones(2, member.to_jax()))
        assert DType.from_jax(array.dtype) is member

    @pytest.mark.parametrize("member", [DType.float6_e2m3fn, DType.float6_e3m2fn])
    def test_floats_of_6_bits_are_refused_in_words(self, member):
        with pytest.raises(NotImplementedError, match="JAX has no arrays of"):
            member.to_jax()

    def test_a_random_key_is_refused(self):
        with pytest.raises(ValueError, match=r"DType\.from_jax: .*key<fry>"):
            DType.from_jax(jax.random.key(0).dtype)


class TestFinfo:
    @pytest.mark.parametrize(
        "name",
        [
            field.name
            for field in fields(finfo)
            if field.name not in ("dtype", "resolution")
        ],
    )
    @pytest.mark.parametrize("member", sorted(FLOATS, key=str))
    def test_says_what_ml_dtypes_says(self, member, name):
        known = getattr(ml_dtypes, member.name, member.name)
        expected = getattr(ml_dtypes.finfo(known), name)
        found = getattr(finfo(member), name)
        assert found == expected
        assert type(found) in (int, float)

    def test_numbers_of_float32_are_exact(self):
        limits = finfo(DType.float32)
        assert limits.max == 3.4028234663852886e38
        assert limits.tiny == limits.smallest_normal == 1.1754943508222875e-38
        assert limits.resolution == 1e-6
        assert limits.dtype is DType.float32

    def test_prints_as_in_the_reference(self):
        assert repr(finfo(DType.float8_e4m3fn)) == (
            "finfo(dtype=float8_e4m3fn, bits=8, eps=0.125, max=448.0, min=-448.0, "
            "tiny=0.015625)"
        )

    def test_equals_by_value_and_hashes(self):
        assert finfo(DType.float16) == finfo(DType.float16)
        assert len({finfo(DType.float16), finfo(DType.float16)}) == 1
        assert finfo(DType.float16) != finfo(DType.bfloat16)

    @pytest.mark.parametrize("wrong", [DType.int32, DType.bool, "float32", np.float32])
    def test_refuses_what_is_no_float_dtype(self, wrong):
        with pytest.raises(
            TypeError, match="finfo: the dtype must be a floating-point"
        ):
            finfo(wrong)


class TestPromote:
    @pytest.mark.parametrize(("lhs", "rhs", "expected"), list(promotion_cases()))
    def test_follows_the_measured_table(self, lhs, rhs, expected):
        if expected is None:
            for pair in ((lhs, rhs), (rhs, lhs)):
                with pytest.raises(ValueError, match="Cast one first"):
                    promote(*pair)
        else:
            assert promote(lhs, rhs) is promote(rhs, lhs) is expected

    def test_the_error_names_the_op_and_both_dtypes(self):
        with pytest.raises(
            ValueError, match=r"^add: .*got DType\.int32 and DType\.float32\. Cast"
        ):
            promote(DType.int32, DType.float32, who="add")

    @pytest.mark.parametrize("small", SIGNED_SMALL_FLOATS)
    def test_small_floats_keep_to_themselves_and_meet_in_float16(self, small):
        assert promote(small, small) is small
        assert promote(small, DType.bool) is small
        assert promote(small, DType.int8) is DType.float16
        assert promote(small, DType.float16) is DType.float16
        assert promote(small, DType.bfloat16) is DType.bfloat16
        assert promote(small, DType.float64) is DType.float64

    def test_different_small_floats_meet_in_float16(self):
        assert promote(DType.float8_e4m3fn, DType.float8_e5m2) is DType.float16
        assert promote(DType.float4_e2m1fn, DType.float8_e4m3fn) is DType.float16

    def test_scales_of_8_exponent_bits_need_their_range(self):
        assert promote(DType.float8_e8m0fnu, DType.bfloat16) is DType.bfloat16
        for other in (DType.float16, DType.float8_e4m3fn, DType.bool, DType.int8):
            with pytest.raises(ValueError, match=r"got DType\.float8_e8m0fnu and"):
                promote(DType.float8_e8m0fnu, other)

    @pytest.mark.parametrize("lhs", IN_JAX)
    @pytest.mark.parametrize("rhs", IN_JAX)
    def test_what_is_promised_is_what_is_held(self, lhs, rhs):
        """Every value of up to 16 bits comes back from a round trip."""
        try:
            result = promote(lhs, rhs).to_jax()
        except ValueError:
            return
        for source in (lhs, rhs):
            if source.size_in_bytes <= 2 and source.size_in_bits % 8 == 0:
                kind = f"u{source.size_in_bytes}"
                count = 2 if source is DType.bool else 256**source.size_in_bytes
                values = np.arange(count, dtype=kind).view(source.to_jax())
                wide = np.float32 if source in FLOATS else np.int64
                with np.errstate(invalid="ignore"):  # signalling NaNs
                    back = values.astype(result).astype(source.to_jax()).astype(wide)
                    expected = values.astype(wide)
                np.testing.assert_array_equal(back, expected)


class TestCheckScalar:
    @pytest.mark.parametrize(
        ("value", "dtype"),
        [
            (True, DType.bool),
            (1, DType.bool),
            (0, DType.bool),
            (True, DType.int8),
            (-128, DType.int8),
            (255, DType.uint8),
            (2**64 - 1, DType.uint64),
            (-(2**63), DType.int64),
            (2**11, DType.float16),
            (-(2**8), DType.bfloat16),
            (2**24, DType.float32),
            (2**53, DType.float64),
            (448, DType.float8_e4m3fn),
            (True, DType.float32),
            (0.1, DType.float16),
            (1e300, DType.float16),
            (float("nan"), DType.bfloat16),
            (np.float64(0.5), DType.float32),
            (np.int64(3), DType.int8),
            (np.bool_(True), DType.int8),
            (np.float32(0.5), DType.float16),
        ],
    )
    def test_what_fits_passes(self, value, dtype):
        assert check_scalar(value, dtype) is None

    @pytest.mark.parametrize(
        ("value", "dtype", "range_"),
        [
            (2, DType.bool, r"\[0, 1\]"),
            (128, DType.int8, r"\[-128, 127\]"),
            (-1, DType.uint8, r"\[0, 255\]"),
            (2**63, DType.int64, r"9223372036854775807\]"),
            (2**11 + 2, DType.float16, r"\[-2048, 2048\]"),
            (257, DType.bfloat16, r"\[-256, 256\]"),
            (2**25, DType.float32, r"\[-16777216, 16777216\]"),
            (2**54, DType.float64, r"9007199254740992\]"),
            (449, DType.float8_e4m3fn, r"\[-448, 448\]"),
            (0, DType.float8_e8m0fnu, r"\[1, "),
            (np.int64(300), DType.uint8, r"\[0, 255\]"),
        ],
    )
    def test_an_integer_beyond_the_exact_ones_is_refused(self, value, dtype, range_):
        with pytest.raises(ValueError, match=rf"must lie in .*{range_}.*, got {value}"):
            check_scalar(value, dtype)

    @pytest.mark.parametrize("value", [1.0, 0.5, np.float64(1.0), np.float16(2)])
    @pytest.mark.parametrize("dtype", [DType.bool, DType.int32, DType.uint8])
    def test_a_float_beside_integers_is_refused(self, value, dtype):
        with pytest.raises(ValueError, match=r"mul: .* must be an integer, got .*Cast"):
            check_scalar(value, dtype, who="mul")

    @pytest.mark.parametrize("value", [1j, "a", None, np.complex64(1), np.str_("a")])
    def test_what_is_no_number_is_refused(self, value):
        with pytest.raises(
            TypeError, match="a number must be a bool, an int or a float"
        ):
            check_scalar(value, DType.float32)


def test_importing_does_not_load_jax():
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, importlib.util as u\n"
            f"s = u.spec_from_file_location('dtype_alone', {dtype_room.__file__!r})\n"
            "m = u.module_from_spec(s); sys.modules[s.name] = m\n"
            "s.loader.exec_module(m)\n"
            "print('jax' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "False"
