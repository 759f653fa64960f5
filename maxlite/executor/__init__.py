"""Who runs a recorded graph: compiled, op by op, or an executor of your own."""

from maxlite.executor._default import default_executor, set_default_executor
from maxlite.executor._executors import CompilingExecutor, InterpreterExecutor
from maxlite.executor._jit import CompositeExecutor, JitExecutor
from maxlite.executor._protocol import Executor, UnsupportedGraphError

__all__ = [
    "CompilingExecutor",
    "CompositeExecutor",
    "Executor",
    "InterpreterExecutor",
    "JitExecutor",
    "UnsupportedGraphError",
    "default_executor",
    "set_default_executor",
]
