"""Dataclasses as nodes."""

import dataclasses
from typing import Any, ClassVar

import pytest

from maxlite import tree


@tree.dataclass
class Example:
    x: Any
    y: Any = None
    z: Any = 5


@tree.dataclass(frozen=True)
class Frozen:
    a: int
    b: int


def test_children_are_the_fields_that_are_not_none():
    assert tree.flatten_one_level(Example(1)) == ((1, 5), (), ("x", "z"))
    assert tree.leaves(Example(None, None, None)) == []
    assert tree.is_node(Example(1))
    assert tree.flatten(Example(1))[1].kind == "node"


def test_paths_count_the_fields_that_are_there():
    value = {"e": Example([1, 2], {"k": 3})}
    assert tree.paths(value) == {"e.0.0": 1, "e.0.1": 2, "e.1.k": 3, "e.2": 5}


def test_an_absent_field_is_rebuilt_as_none_whatever_its_default():
    leaves, treedef = tree.flatten(Example(1, None, None))
    assert leaves == [1]
    assert tree.unflatten(treedef, [9]) == Example(9, None, None)


def test_which_fields_are_there_is_part_of_the_structure():
    first = tree.flatten(Example(1, 2, None))[1]
    second = tree.flatten(Example(1, None, 2))[1]
    assert first != second
    with pytest.raises(ValueError, match=r"expected keys \[0, 1\], got \[0, 1, 2\]"):
        first.flatten_up_to(Example(1, 2, 3))


@pytest.mark.parametrize("value", [Example(1, 2), Frozen(1, 2)])
def test_a_copy_is_equal_and_of_the_same_class(value):
    assert tree.map(lambda x: x, value) == value


def test_arguments_are_those_of_the_standard_decorator():
    @tree.dataclass(order=True, kw_only=True, slots=True)
    class Ordered:
        a: int
        b: int = 2

    value = tree.map(lambda x: 2 * x, Ordered(a=1))
    assert (value.a, value.b) == (2, 4)
    assert Ordered(a=1) < value
    frozen: Any = Frozen(1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match="a"):
        frozen.a = 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'cold'"):
        tree.dataclass(cold=True)(type("Cold", (), {}))


def test_rebuilding_runs_the_constructor():
    @tree.dataclass
    class Counted:
        a: int
        runs: int = 0

        def __post_init__(self):
            self.runs += 1

    assert tree.map(lambda x: x, Counted(1)).runs == 2


def test_a_field_outside_the_constructor_is_refused_when_rebuilt():
    @tree.dataclass
    class Fixed:
        a: int
        b: int = dataclasses.field(default=3, init=False)

    assert tree.leaves(Fixed(1)) == [1, 3]
    with pytest.raises(
        TypeError, match=r"every field of Fixed .*got b with init=False"
    ):
        tree.map(lambda x: x, Fixed(1))


def test_a_class_variable_is_no_field():
    @tree.dataclass
    class WithConstant:
        a: int
        c: ClassVar[int] = 3

    assert tree.leaves(WithConstant(1)) == [1]


def test_a_dataclass_becomes_a_node():
    @tree.dataclass
    @dataclasses.dataclass(frozen=True)
    class Existing:
        a: int
        b: Any = None

    assert tree.map(lambda x: x + 1, Existing(1)) == Existing(2)


def test_a_dataclass_takes_no_more_options():
    with pytest.raises(TypeError, match=r"Example is a dataclass already.*got frozen"):
        tree.dataclass(frozen=True)(Example)


def test_an_undecorated_subclass_is_a_node_of_its_own_class():
    class Sub(Example):
        pass

    value = tree.map(lambda x: x, Sub(1))
    assert (type(value), value.x) == (Sub, 1)


def test_fields_of_a_subclass_count_with_the_standard_decorator_only():
    @tree.dataclass
    class Without(Example):
        w: int = 9

    @tree.dataclass
    @dataclasses.dataclass
    class With(Example):
        w: int = 9

    assert tree.leaves(Without(1)) == [1, 5]
    assert tree.leaves(With(1)) == [1, 5, 9]


def test_a_field_cannot_be_updated_but_what_it_holds_can():
    value = Example([1], [2])
    with pytest.raises(TypeError, match=r"Example: child 2 .*__tree_setattr__"):
        tree.update(value, {"2": 6})
    assert tree.update(value, {"0.0": 7}) is value
    assert value.x == [7]
