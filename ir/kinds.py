"""The kinds of refusal: the table. docs/errors.md has an entry for each, with a wrong and a right program.

A kind is a short stable name, the class of the error, what is wrong in one line, and a way out. Code refers to the
object: ``raise kinds.UNKNOWN_NAME(message, loc, help=...)``; in the frontend ``refuse(loc, message, help, kind=...)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import diagnostics as d
from adc.ir.core import UNKNOWN, Loc
from adc.ir.lazy_dataclass import dataclass
from adc.ir.ways_out import WAYS_OUT


@dataclass(frozen=True)
class Kind:
    name: str
    error: type[d.AdcError]
    meaning: str
    way_out: str  # where the place that refuses names none

    def __call__(
        self,
        message: str,
        loc: Loc = UNKNOWN,
        *,
        help: str = "",
        notes: Sequence[str | d.Note] = (),
        source: str | None = None,
    ) -> d.AdcError:
        """The error to raise."""
        return self.error(message, loc, help=help or self.way_out, notes=notes, source=source, kind=self.name)


KINDS: dict[str, Kind] = {}


def _kind(name: str, error: type[d.AdcError], meaning: str) -> Kind:
    assert name not in KINDS, name
    return KINDS.setdefault(name, Kind(name, error, meaning, WAYS_OUT.get(name, "")))


# Syntax ---------------------------------------------------------------------------------------------------------------

UNSUPPORTED_STATEMENT = _kind(
    "unsupported-statement", d.CompileSyntaxError, "a statement that adc does not support"
)
UNSUPPORTED_EXPRESSION = _kind(
    "unsupported-expression", d.CompileSyntaxError, "an expression that adc does not support"
)
UNSUPPORTED_TARGET = _kind(
    "unsupported-target", d.CompileSyntaxError, "an assignment to something that cannot be assigned"
)
UNSUPPORTED_FUNCTION = _kind(
    "unsupported-function", d.CompileSyntaxError, "a kind of function that cannot be compiled"
)
ENDLESS_RECURSION = _kind(
    "endless-recursion", d.CompileSyntaxError, "a function that calls itself in every case, or with ever new types"
)
UNSUPPORTED_CALL = _kind("unsupported-call", d.CompileSyntaxError, "a call whose arguments cannot be told apart")
CANNOT_RETURN = _kind("cannot-return", d.CompileTypeError, "a result that cannot be returned to Python")
INVALID_SOURCE = _kind(
    "invalid-source", d.CompileSyntaxError, "a file that Python itself cannot run, or text that is not valid IR or MLIR"
)

# Names ----------------------------------------------------------------------------------------------------------------

UNKNOWN_NAME = _kind("unknown-name", d.CompileNameError, "a name that is not defined")
UNBOUND_VARIABLE = _kind(
    "unbound-variable", d.CompileUnboundError, "a local variable that is read before it has a value"
)
UNKNOWN_ATTRIBUTE = _kind(
    "unknown-attribute", d.CompileAttributeError, "an attribute that is not there, or not supported"
)
UNKNOWN_FUNCTION = _kind("unknown-function", d.CompileTypeError, "a library function that is not supported")
NO_SOURCE = _kind("no-source", d.CompileTypeError, "a Python function whose source is not available")
OUTSIDE_ONLY = _kind("outside-only", d.CompileTypeError, "a function of adc that works outside compiled code only")
CAPTURED_WRITE = _kind(
    "captured-write", d.CompileValueError, "a write to an array that comes from outside the function"
)

# Types ----------------------------------------------------------------------------------------------------------------

UNSUPPORTED_OPERAND = _kind(
    "unsupported-operand", d.CompileTypeError, "an operator between types it is not defined for"
)
WRONG_TYPE = _kind(
    "wrong-type", d.CompileTypeError, "a function or operation with a value of a type that it does not accept"
)
WRONG_CALL = _kind(
    "wrong-call", d.CompileTypeError, "a call inside compiled code whose arguments do not fit the function"
)
UNSUPPORTED_OPTION = _kind(
    "unsupported-option", d.CompileTypeError, "a library function used in a way that is not supported"
)
UNSUPPORTED_DTYPE = _kind(
    "unsupported-dtype", d.CompileTypeError, "an array or number of a dtype that adc does not support"
)
UNSUPPORTED_VALUE = _kind("unsupported-value", d.CompileTypeError, "a value from outside that compiled code cannot use")
NOT_CALLABLE = _kind("not-callable", d.CompileTypeError, "a call of something that is not a function")
NOT_ITERABLE = _kind("not-iterable", d.CompileTypeError, "a loop over, or an unpacking of, something without items")
NOT_CONSTANT = _kind("not-constant", d.CompileTypeError, "a value that must be known when the function is compiled")
TYPE_CHANGE_IN_LOOP = _kind(
    "type-change-in-loop", d.CompileTypeError, "a variable that has another type after each pass"
)
TYPE_DIFFERS = _kind("type-differs", d.CompileTypeError, "a value that has different types on two paths")
AMBIGUOUS_TRUTH = _kind("ambiguous-truth", d.CompileValueError, "the truth value of an array")
CAST_NOT_SAFE = _kind(
    "cast-not-safe", d.CompileTypeError, "a result whose dtype does not fit the array that it is stored to"
)

# Values, shapes and subscripts ----------------------------------------------------------------------------------------

INVALID_VALUE = _kind("invalid-value", d.CompileValueError, "a constant that is not valid there")
INVALID_AXIS = _kind("invalid-axis", d.CompileValueError, "an axis that the array does not have")
RANK_MISMATCH = _kind("rank-mismatch", d.CompileValueError, "arrays whose numbers of dimensions do not fit")
WRONG_UNPACKING = _kind("wrong-unpacking", d.CompileValueError, "more or fewer variables than values")
INVALID_SUBSCRIPT = _kind(
    "invalid-subscript", d.CompileIndexError, "a subscript that is not an integer, or one too many"
)
UNSUPPORTED_INDEXING = _kind(
    "unsupported-indexing", d.CompileIndexError, "indexing that works in NumPy but is not supported"
)
NOT_SUBSCRIPTABLE = _kind("not-subscriptable", d.CompileTypeError, "a subscript of something without items")
CONSTANT_OUT_OF_RANGE = _kind("constant-out-of-range", d.CompileIndexError, "a constant subscript outside its tuple")
MISSING_KEY = _kind("missing-key", d.CompileKeyError, "a key that the dict does not have")

# Parallel loops -------------------------------------------------------------------------------------------------------

CARRIED_VARIABLE = _kind(
    "carried-variable", d.CompileSyntaxError, "a variable that iterations of a parallel loop hand on to each other"
)
PRIVATE_VARIABLE = _kind(
    "private-variable", d.CompileUnboundError, "a variable of the iterations of a parallel loop, read outside its own"
)
RACE = _kind("race", d.CompileSyntaxError, "iterations of a parallel loop that touch the same element")

# Calls from Python ----------------------------------------------------------------------------------------------------

WRONG_ARGUMENTS = _kind("wrong-arguments", d.ArgumentError, "a call that does not fit the parameters of the function")
UNSUPPORTED_ARGUMENT = _kind("unsupported-argument", d.ArgumentError, "an argument of a type that adc does not support")
UNSUPPORTED_ARRAY = _kind(
    "unsupported-array", d.ArgumentError, "an array with a memory layout that adc does not support"
)
OVERLAPPING_ARGUMENTS = _kind(
    "overlapping-arguments", d.ArgumentError, "arrays that share memory where they must not"
)
NUMBER_TOO_LARGE = _kind("number-too-large", d.RangeError, "a number that does not fit into 64 bits, or into an int32")
NOT_A_FUNCTION = _kind("not-a-function", d.ArgumentError, "something to compile that is not a Python function")
INVALID_OPTION = _kind("invalid-option", d.ArgumentValueError, "an option with an invalid value")
UNKNOWN_SIZE = _kind("unknown-size", d.ArgumentError, "memory= for a gradient whose memory cannot be predicted")
MISSING_PACKAGE = _kind("missing-package", d.ArgumentError, "something that needs a package which is not installed")
NOT_SENDABLE = _kind("not-sendable", d.ArgumentError, "something to pickle that cannot be sent to another process")
LOST_WORKER = _kind("lost-worker", d.WorkerError, "workers of an executor that ended before their shots did")
UNKNOWN_TYPES = _kind("unknown-types", d.ArgumentError, "argument types that are not known, or not spelled right")

# Derivatives ----------------------------------------------------------------------------------------------------------

WRONG_ARGNUMS = _kind("wrong-argnums", d.ArgumentError, "argnums or argnames that name no argument, or one twice")
NOT_CHECKPOINTED = _kind(
    "not-checkpointed", d.DifferentiationError, "a schedule that cannot act on any loop, or not on its own"
)
NO_GRADIENT = _kind("no-gradient", d.DifferentiationError, "the gradient of an argument that is not made of floats")
NOT_SCALAR = _kind("not-scalar", d.DifferentiationError, "the gradient of a function that does not return one float")
NO_DERIVATIVE = _kind("no-derivative", d.DifferentiationError, "a derivative that adc cannot form")
WRONG_COTANGENT = _kind("wrong-cotangent", d.ArgumentError, "a cotangent that does not have the form of the result")
COTANGENT_SHAPE = _kind("cotangent-shape", d.ShapeError, "a cotangent whose shape is not that of the result")
WRONG_TANGENT = _kind("wrong-tangent", d.ArgumentError, "a tangent that does not have the form of its argument")
TANGENT_SHAPE = _kind("tangent-shape", d.ShapeError, "a tangent whose shape is not that of its argument")
WRONG_PATTERN = _kind(
    "wrong-pattern", d.ArgumentError, "a sparsity pattern that is invalid, or has entries outside the matrix"
)
PATTERN_SHAPE = _kind("pattern-shape", d.ShapeError, "a sparsity pattern whose shape is not that of the matrix")
PATTERN_TOO_SMALL = _kind(
    "pattern-too-small", d.DifferentiationError, "a sparsity pattern that leaves out nonzero entries"
)
WRONG_DERIVATIVE = _kind("wrong-derivative", d.DifferentiationError, "a derivative that a check finds to be wrong")
INVALID_RULE = _kind("invalid-rule", d.ArgumentError, "a derivative rule that is declared wrongly")
WRONG_RULE = _kind("wrong-rule", d.CompileTypeError, "a derivative rule that does not fit its function, or a call")
CHANGED_ARRAY = _kind("changed-array", d.DifferentiationError, "an array changed between the two sweeps of a pullback")

# Ranks ----------------------------------------------------------------------------------------------------------------

COLLECTIVE_APART = _kind(
    "collective-apart", d.CompileSyntaxError, "an operation of all ranks under a condition that may differ"
)
NOT_SAME = _kind("not-same", d.DifferentiationError, "the gradient of a value that may differ between ranks")
NOT_DISTRIBUTED = _kind(
    "not-distributed", d.CompileTypeError, "code that cannot be run by each rank for its own elements of an array"
)

# Running --------------------------------------------------------------------------------------------------------------

INDEX_OUT_OF_BOUNDS = _kind("index-out-of-bounds", d.BoundsError, "a subscript outside its array")
DIVISION_BY_ZERO = _kind("division-by-zero", d.DivisionError, "an integer division by zero")
NOT_FINITE = _kind("not-finite", d.NotFiniteError, "with debug=\"nan\": a NaN or an infinity made of finite numbers")
COMPUTED_VALUE = _kind(
    "computed-value", d.ComputedValueError, "a value that turned out to be impossible where it is used"
)
UNSET_VARIABLE = _kind("unset-variable", d.UnsetError, "a variable that is read on a path that has not set it")
OUT_OF_MEMORY = _kind("out-of-memory", d.OutOfMemoryError, "not enough memory")
NO_FILE = _kind("no-file", d.FileError, "a file for snapshots that cannot be opened or written")
SHAPE_MISMATCH = _kind("shape-mismatch", d.ShapeError, "arrays whose extents do not fit")
RANK_FAILED = _kind("rank-failed", d.RankError, "ranks that do not fit together, or one of which has failed")

# The command line -----------------------------------------------------------------------------------------------------

NO_SUCH_FUNCTION = _kind("no-such-function", d.ArgumentError, "a file or a function that does not exist")
TOOL_FAILED = _kind("tool-failed", d.ToolError, "a program that adc runs, such as the linker, failed")

# Defects --------------------------------------------------------------------------------------------------------------

TOO_DEEP = _kind("too-deep", d.CompileRecursionError, "source that is nested too deeply to be compiled")
INTERNAL_ERROR = _kind("internal-error", d.InternalError, "a defect of adc")
