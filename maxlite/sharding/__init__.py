"""Where tensors lie: meshes of devices, placements, and what moves between them."""

from maxlite._errors import ConversionError, ShardingError
from maxlite.sharding._assignment import AxisAssignment
from maxlite.sharding._auto_reshard import auto_reshard
from maxlite.sharding._layout import BufferLayout, TensorLayout
from maxlite.sharding._mappings import DeviceMapping
from maxlite.sharding._mesh import DeviceMesh
from maxlite.sharding._named_mapping import NamedMapping
from maxlite.sharding._placements import (
    ALL_TRANSITIONS,
    DEFAULT_TRANSITIONS,
    Partial,
    Placement,
    Replicated,
    Sharded,
    Transition,
    Unknown,
)
from maxlite.sharding._rows import match_operand_placement, replicated_rows
from maxlite.sharding._visualize import visualize

__all__ = [
    "ALL_TRANSITIONS",
    "DEFAULT_TRANSITIONS",
    "AxisAssignment",
    "BufferLayout",
    "ConversionError",
    "DeviceMapping",
    "DeviceMesh",
    "NamedMapping",
    "Partial",
    "Placement",
    "Replicated",
    "Sharded",
    "ShardingError",
    "TensorLayout",
    "Transition",
    "Unknown",
    "auto_reshard",
    "match_operand_placement",
    "replicated_rows",
    "visualize",
]
