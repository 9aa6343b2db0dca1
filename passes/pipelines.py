"""The named pipelines: sequences of passes as values."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from adc.passes.base import IfChanged, OnPart, Pass, Pipeline, Repeat, Step
from adc.passes.bounds.drop_checks import DropChecks
from adc.passes.bounds.forward_pieces import ForwardPieces, in_pieces
from adc.passes.bounds.split_index_sets import SplitIndexSets
from adc.passes.bounds.version_bounds import VersionBounds
from adc.passes.branches.hoist_common import HoistCommon
from adc.passes.branches.if_convert import IfConvert
from adc.passes.branches.meld_branches import MeldBranches
from adc.passes.branches.merge_branches import MergeBranches
from adc.passes.branches.skip_zero_terms import SkipZeroTerms
from adc.passes.buffers.alternate_buffers import AlternateBuffers
from adc.passes.buffers.renew_overwritten import RenewOverwritten
from adc.passes.buffers.rotate_buffers import RotateBuffers
from adc.passes.buffers.swap_copied import SwapCopied
from adc.passes.buffers.update_in_place import UpdateInPlace
from adc.passes.cache.block_time import BlockTime
from adc.passes.cache.tile_loops import TileLoops
from adc.passes.calls.drop_rules import DropRules
from adc.passes.calls.inline import Inline
from adc.passes.calls.inline_base_cases import InlineBaseCases
from adc.passes.calls.merge_arguments import MergeArguments
from adc.passes.calls.share_calls import ShareCalls
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.differentiation.take_gradients import TakeGradients, asked_next
from adc.passes.distribution.compact_iterations import CompactIterations
from adc.passes.distribution.distribute_counters import DistributeCounters
from adc.passes.distribution.distribute_functions import DistributeFunctions
from adc.passes.distribution.distribute_invariants import DistributeInvariants
from adc.passes.distribution.distribute_shifts import DistributeShifts
from adc.passes.distribution.distribute_sums import DistributeSums
from adc.passes.distribution.distribute_terms import DistributeTerms
from adc.passes.distribution.privatise_arrays import PrivatiseArrays
from adc.passes.distribution.share_arrays import ShareArrays
from adc.passes.distribution.sink_lanes import SinkLanes
from adc.passes.fusion.contract_arrays import ContractArrays
from adc.passes.fusion.expand_arrays import ExpandArrays
from adc.passes.fusion.fuse_calls import FuseCalls
from adc.passes.fusion.fuse_loops import FuseLoops
from adc.passes.fusion.fuse_rows import FuseRows
from adc.passes.fusion.fuse_sweeps import FuseSweeps
from adc.passes.fusion.interchange_loops import InterchangeLoops
from adc.passes.fusion.join_versions import JoinVersions
from adc.passes.fusion.unswitch_loops import UnswitchLoops
from adc.passes.memory.dead_stores import DeadStores
from adc.passes.memory.first_writes import FirstWrites
from adc.passes.memory.fold_views import FoldViews
from adc.passes.memory.forward_copies import ForwardCopies
from adc.passes.memory.forward_elements import ForwardElements
from adc.passes.memory.insert_deallocs import InsertDeallocs
from adc.passes.memory.promote_elements import PromoteElements
from adc.passes.outlining.outline_branches import OutlineBranches
from adc.passes.outlining.outline_cold import OutlineCold
from adc.passes.outlining.outline_nests import OutlineNests
from adc.passes.ranks.owner_computes import OwnerComputes
from adc.passes.ranks.split_nests import SplitNests
from adc.passes.scatter.lower_accumulate import LowerAccumulate
from adc.passes.scatter.settle_accumulates import SettleAccumulates
from adc.passes.simd.align_loops import AlignLoops
from adc.passes.simd.coalesce_loops import CoalesceLoops
from adc.passes.simd.collect_checks import CollectChecks
from adc.passes.simd.interleave import Interleave
from adc.passes.simd.match_transposes import MatchTransposes
from adc.passes.simd.narrow_columns import NarrowColumns
from adc.passes.simd.narrow_rows import NarrowRows
from adc.passes.simd.order_loops import OrderLoops
from adc.passes.simd.repeat_rows import RepeatRows
from adc.passes.simd.signs_apart import SignsApart
from adc.passes.simd.vectorise_outer import VectoriseOuter
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from adc.passes.simplify.delinearize_loops import DelinearizeLoops
from adc.passes.simplify.early_checks import EarlyChecks
from adc.passes.simplify.expand_powers import ExpandPowers
from adc.passes.simplify.expand_strong_products import ExpandStrongProducts
from adc.passes.simplify.licm import LICM
from adc.passes.simplify.uplift_whiles import UpliftWhiles
from adc.passes.small_arrays.pass_elements import PassElements
from adc.passes.small_arrays.replace_small_arrays import ReplaceSmallArrays
from adc.passes.small_arrays.return_elements import ReturnElements
from adc.passes.small_arrays.small_extents import SmallExtents
from adc.passes.sums.distribute_products import DistributeProducts
from adc.passes.sums.factor_sums import FactorSums
from adc.passes.sums.match_products import MatchProducts, is_product
from adc.passes.sums.version_products import VersionProducts
from adc.passes.threads.keep_promises import KeepPromises
from adc.passes.threads.parallelise import Parallelise

SIMPLIFY: Pipeline = (
    FoldViews(),
    Canonicalize(),
    CSE(),
    LICM(),
    Canonicalize(),
    FirstWrites(),
    CSE(),
    DeadStores(),
    DCE(),
)
"""Clean up code that is to be analysed or differentiated further: traced code, and adjoint code in between."""

TIDY: Pipeline = (Canonicalize(), CSE(), LICM(), DCE())
"""After a pass that copies or restructures loops."""

SMALL_ARRAYS: Pipeline = (
    IfChanged(ReturnElements(), SIMPLIFY),
    IfChanged(SmallExtents(), SIMPLIFY),
    Repeat((IfChanged(PassElements(), SIMPLIFY), IfChanged(ReturnElements(), SIMPLIFY))),
    IfChanged(ReplaceSmallArrays(), SIMPLIFY),
)
"""Arrays of few elements are values, also where functions take and return them."""

CONTRACT: Pipeline = (ReplaceSmallArrays(), *TIDY, DeadStores(), DCE())
"""After loops over elements have become the outermost: arrays of one element become numbers."""

SHARE_CALLS: Pipeline = (IfChanged(MergeArguments(), (CSE(),)), IfChanged(ShareCalls(), SIMPLIFY))
"""Functions that only read are called once for the same arguments."""

_SHORT = 16  # operations of a function that returns a view of an array: the call would be as long

KEEP: Pipeline = (
    Inline(most=_SHORT, anywhere=True),  # so that callers see which memory the results are
    *SIMPLIFY,
    *SHARE_CALLS,
    IfChanged(Inline(), (*SIMPLIFY, Canonicalize(), DCE())),  # of parts that functions took, extents are one by now
)
"""From traced code to what is kept of library functions that become part of programs, which begin with the same."""

PREPARE: Pipeline = (
    Repeat((OnPart(asked_next, SIMPLIFY), TakeGradients())),
    *KEEP,
    *SHARE_CALLS,
    IfChanged(InlineBaseCases(), SIMPLIFY),
    IfChanged(UpliftWhiles(), SIMPLIFY),
    IfChanged(DelinearizeLoops(), SIMPLIFY),
    *SMALL_ARRAYS,
    IfChanged(SwapCopied(), (Canonicalize(), CSE())),
    IfChanged(RotateBuffers(), (Canonicalize(), CSE(), DeadStores(), DCE())),
    IfChanged(EarlyChecks(), (CSE(),)),
    OnPart(in_pieces, (FoldViews(), Canonicalize(), CSE(), DCE())),
    IfChanged(ForwardPieces(is_product), SIMPLIFY),
    IfChanged(ForwardElements(is_product), SIMPLIFY),
    IfChanged(VersionProducts(), (ForwardElements(is_product), *SIMPLIFY)),
    IfChanged(MeldBranches(differentiable=True), TIDY),
    IfChanged(SplitIndexSets(), TIDY),
    VersionBounds(),
    *TIDY,
    IfChanged(ReplaceSmallArrays(), SIMPLIFY),  # in versions of loops extents are known
    IfChanged(HoistCommon(differentiable=True), TIDY),  # what is added to shadows is not in branches then
    IfChanged(DistributeCounters(), TIDY),
    IfChanged(DistributeShifts(), TIDY),
    PrivatiseArrays(),
    KeepPromises(),
    Parallelise(),
    IfChanged(JoinVersions(), TIDY),
    IfChanged(UnswitchLoops(), TIDY),
    IfChanged(DistributeInvariants(), (*TIDY, DeadStores(), DCE())),
    IfChanged(SinkLanes(), (FoldViews(), *TIDY, DeadStores(), DCE())),
    IfChanged(OrderLoops(exchange_only=True), TIDY),  # adjoints are summed along the loops of the primal
    # In steps, where it decides what is stored. Other loops are joined later, when it is known who adds to what.
    IfChanged(FuseLoops(alone=is_product, in_steps=True), (*TIDY, DeadStores(), DCE())),
    IfChanged(ForwardElements(is_product), TIDY),
    IfChanged(ContractArrays(is_product), (*CONTRACT, ForwardElements(is_product), *TIDY)),
    IfChanged(RenewOverwritten(), TIDY),
    IfChanged(UpdateInPlace(), TIDY),
    IfChanged(InterchangeLoops(), CONTRACT),
    IfChanged(FirstWrites(), TIDY),
    IfChanged(AlternateBuffers(), TIDY),
)
"""From traced code to the primal that is differentiated, or lowered."""

# Elements that are carried are no longer seen to be those of one iteration.
_across = (
    *(InterchangeLoops.name, ContractArrays.name, PromoteElements.name, FuseSweeps.name, FuseRows.name),
    *(VersionProducts.name, DistributeInvariants.name, SinkLanes.name, DistributeProducts.name),
)


def without_rows(pipeline: Pipeline) -> Pipeline:
    """The pipeline without passes that let a loop read what other iterations of it, or of its inner loops, have
    computed: where arrays are distributed among ranks, such values are fetched between loops. So loops are joined only
    where they become one nest throughout. The few iterations at the ends of loops are split off, too, so that it is
    known for each loop which elements it computes, and nests with several loops that add to shadows are split."""

    def as_nests(one: Pass) -> Pass:
        if isinstance(one, SplitIndexSets):
            return replace(one, rims=True)
        return replace(one, throughout=True) if isinstance(one, FuseLoops) else one

    steps: list[Step] = []
    for step in _each(_without(pipeline, _across), as_nests):
        steps += [SplitNests(), step] if isinstance(step, LowerAccumulate) else [step]
    return tuple(steps)


def in_steps(pipeline: Pipeline) -> Pipeline:
    """The pipeline without passes that take a loop over steps apart, for loops whose steps are run again."""
    return _without(pipeline, (InterchangeLoops.name,))


def _each(pipeline: Pipeline, change: Callable[[Pass], Pass]) -> Pipeline:
    """A pipeline with other passes in the places of its own; of those that clean up, the same."""

    def changed(step: Step) -> Step:
        if isinstance(step, IfChanged):
            return replace(step, step=change(step.step))
        if isinstance(step, Repeat | OnPart):
            return replace(step, steps=_each(step.steps, change))
        return change(step)

    return tuple(map(changed, pipeline))


def _without(pipeline: Pipeline, names: Collection[str]) -> Pipeline:
    kept: list[Step] = []
    for step in pipeline:
        if isinstance(step, Repeat | OnPart):
            step = replace(step, steps=_without(step.steps, names))
            if step.steps:
                kept.append(step)
        elif (step.step if isinstance(step, IfChanged) else step).name not in names:
            kept.append(step)
    return tuple(kept)


UNCHECKED: Pipeline = (DropChecks(), *PREPARE)
"""The same without the checks of subscripts: for measurements."""

FREE: Pipeline = (InsertDeallocs(), ShareArrays(), Canonicalize(), CSE(memory=False), DCE())
"""Last of all, on functions that are lowered next: memory is freed where its use ends."""

OUTLINE: Pipeline = (OutlineCold(), OutlineBranches(), OutlineNests())
"""Rare code, and code that makes functions long, moves to functions of its own."""

WIDEN: Pipeline = (
    *(MatchTransposes(), OrderLoops(), CoalesceLoops()),
    HoistCommon(),
    IfChanged(MergeBranches(), (CSE(), DCE())),
    MeldBranches(),
    IfChanged(CompactIterations(), TIDY),
    *(IfConvert(), SkipZeroTerms(), CollectChecks()),
    *(NarrowColumns(), NarrowRows(), VectoriseOuter(), DistributeSums(within=True), Interleave()),
    *(DistributeTerms(), DistributeFunctions(), SettleAccumulates(), BlockTime(), TileLoops()),
    *(RepeatRows(), AlignLoops(), SignsApart()),
)
"""Passes that make loops faster when it is decided which are parallel."""

SHARE: Pipeline = (
    *(DistributeSums(), Parallelise()),
    IfChanged(FuseSweeps(), (Canonicalize(), CSE(), DCE())),
    IfChanged(FuseRows(), (Canonicalize(), CSE(), DeadStores(), DCE())),
    IfChanged(FactorSums(), (Canonicalize(), CSE(), DCE())),
    *(LowerAccumulate(), CSE()),
    Repeat((IfChanged(FuseLoops(), (Canonicalize(), CSE())),)),  # what is in the loops may have become alike
    IfChanged(ContractArrays(steps=True), CONTRACT),
)
"""Which loops are parallel, and how what they add to shadows is summed."""

LOWER: Pipeline = (
    *(ExpandStrongProducts(), IfChanged(DropRules(), (Inline(),)), *SIMPLIFY, ExpandPowers(), ForwardCopies(), CSE()),
    IfChanged(FuseCalls(), SIMPLIFY),
    IfChanged(ExpandArrays(), (Canonicalize(), CSE())),
    IfChanged(DistributeProducts(), TIDY),
    IfChanged(MatchProducts(), (Canonicalize(), CSE())),
    IfChanged(InterchangeLoops(extremes=True), CONTRACT),
    IfChanged(PromoteElements(), TIDY),
    IfChanged(CompactIterations(sums=True), TIDY),
    *(*SHARE, *TIDY, DeadStores()),
    IfChanged(OwnerComputes(), (FoldViews(), *TIDY)),
    *(*WIDEN, *FREE, *OUTLINE),
)
"""From the primal, or differentiated code, to code that is lowered to LLVM."""


def lower(*choices: Pass) -> Pipeline:
    """``LOWER`` with choices for some of its passes: how terms are added to shadows, how nests are tiled for the cache,
    how many time steps are run at once, which arrays are distributed among ranks."""
    chosen: dict[str, Pass] = {choice.name: choice for choice in choices}
    return _each(LOWER, lambda one: chosen.get(one.name, one))
