"""The main function of sorting, as LLVM IR, without its callees. See ``sorts.py``.

Words in capitals are replaced; they differ between types, and between keys alone and keys with places.
"""

from __future__ import annotations

# The middle of the range of values, compared as bits; if all numbers are equal, their value.
LIMITS = """
define internal SCALAR @adc_middle_NAME(ptr noalias %k, i64 %n) nounwind noinline {
entry:
  %first = load SCALAR, ptr %k
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %least = phi SCALAR [ %first, %entry ], [ %least1, %loop ]
  %most = phi SCALAR [ %first, %entry ], [ %most1, %loop ]
  %v.p = getelementptr SCALAR, ptr %k, i64 %i
  %v = load SCALAR, ptr %v.p
  %is.less = LESS SCALAR %v, %least
  %is.more = LESS SCALAR %most, %v
  %least1 = select i1 %is.less, SCALAR %v, SCALAR %least
  %most1 = select i1 %is.more, SCALAR %v, SCALAR %most
  %i1 = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %found
found:
  %equal = EQUAL SCALAR %least1, %most1
  br i1 %equal, label %same, label %apart
same:
  ret SCALAR %least1
apart:
MIDDLE}
"""
INT_MIDDLE = """  %range = sub WORD %most1, %least1
  %half = lshr WORD %range, 1
  %half.up = add WORD %half, 1
  %middle = add WORD %least1, %half.up
  ret WORD %middle
"""
FLOAT_MIDDLE = """  %least.bits = bitcast SCALAR %least1 to WORD
  %least.sign = ashr WORD %least.bits, SIGN
  %least.mask = and WORD %least.sign, MOST
  %low = xor WORD %least.bits, %least.mask
  %most.bits = bitcast SCALAR %most1 to WORD
  %most.sign = ashr WORD %most.bits, SIGN
  %most.mask = and WORD %most.sign, MOST
  %high = xor WORD %most.bits, %most.mask
  %range = sub WORD %high, %low
  %half = lshr WORD %range, 1
  %half.up = add WORD %half, 1
  %middle = add WORD %low, %half.up
  %sign = ashr WORD %middle, SIGN
  %mask = and WORD %sign, MOST
  %bits = xor WORD %middle, %mask
  %value = bitcast WORD %bits to SCALAR
  ret SCALAR %value
"""

FIRST_PLACES = """  br label %first
first:
  %f = phi i64 [ 0, %entry ], [ %f1, %first.next ]
  %f.more = icmp slt i64 %f, %n
  br i1 %f.more, label %first.next, label %look
first.next:
  %f.p = getelementptr i64, ptr %at, i64 %f
  store i64 %f, ptr %f.p
  %f1 = add nuw nsw i64 %f, 1
  br label %first
"""
NONE_FIRST = "  br label %look\n"

# Numbers first. Then negative zeros are put in order among the zeros, because a network may return the same zero twice.
NUMBERS = """  br label %odd
odd:
  %o = phi i64 [ 0, %numbers.first ], [ %o1, %odd.next ]
  %o.nan = phi i1 [ false, %numbers.first ], [ %o.nan1, %odd.next ]
  %o.zero = phi i1 [ false, %numbers.first ], [ %o.zero1, %odd.next ]
  %o.left = sub i64 %n, %o
  %o.fits = icmp sge i64 %o.left, LANES
  br i1 %o.fits, label %odd.next, label %odd.rest
odd.next:
  %o.p = getelementptr SCALAR, ptr %k, i64 %o
  %o.v = load VECTOR, ptr %o.p, align BYTES
  %o.nans = fcmp uno VECTOR %o.v, zeroinitializer
  %o.nans.bits = bitcast <LANES x i1> %o.nans to iLANES
  %o.nan.here = icmp ne iLANES %o.nans.bits, 0
  %o.nan1 = or i1 %o.nan, %o.nan.here
  %o.words = bitcast VECTOR %o.v to <LANES x WORD>
  %o.zeros = icmp eq <LANES x WORD> %o.words, splat (WORD NEGATIVE)
  %o.zeros.bits = bitcast <LANES x i1> %o.zeros to iLANES
  %o.zero.here = icmp ne iLANES %o.zeros.bits, 0
  %o.zero1 = or i1 %o.zero, %o.zero.here
  %o1 = add nuw nsw i64 %o, LANES
  br label %odd
odd.rest:
  %u = phi i64 [ %o, %odd ], [ %u1, %odd.one ]
  %u.nan = phi i1 [ %o.nan, %odd ], [ %u.nan1, %odd.one ]
  %u.zero = phi i1 [ %o.zero, %odd ], [ %u.zero1, %odd.one ]
  %u.more = icmp slt i64 %u, %n
  br i1 %u.more, label %odd.one, label %odd.seen
odd.one:
  %u.p = getelementptr SCALAR, ptr %k, i64 %u
  %u.v = load SCALAR, ptr %u.p
  %u.nan.here = fcmp uno SCALAR %u.v, 0.0
  %u.nan1 = or i1 %u.nan, %u.nan.here
  %u.word = bitcast SCALAR %u.v to WORD
  %u.zero.here = icmp eq WORD %u.word, NEGATIVE
  %u.zero1 = or i1 %u.zero, %u.zero.here
  %u1 = add nuw nsw i64 %u, 1
  br label %odd.rest
odd.seen:
  br i1 %u.nan, label %odd.nan, label %odd.number
odd.nan:
  %found = call i64 @adc_split_le_NAME(ptr %k, ptr %s, i64 %n, SCALAR 0x7FF0000000000000PASS_WHOLE)
  br label %odd.number
odd.number:
  %numbers = phi i64 [ %n, %odd.seen ], [ %found, %odd.nan ]
ZEROS"""
ZEROS = """  br i1 %u.zero, label %zeros, label %ranges
zeros:
  %negative = call i64 @adc_split_lt_NAME(ptr %k, ptr %s, i64 %numbers, SCALAR 0.0)
  %not.negative = sub i64 %numbers, %negative
  %zeros.p = getelementptr SCALAR, ptr %k, i64 %negative
  %zero.count = call i64 @adc_split_le_NAME(ptr %zeros.p, ptr %s, i64 %not.negative, SCALAR 0.0)
  %positive.low = add i64 %negative, %zero.count
  %positive = sub i64 %not.negative, %zero.count
  store i64 %positive.low, ptr %starts
  store i64 %positive, ptr %counts
  br label %ranges
ranges:
  %first.length = phi i64 [ %numbers, %odd.number ], [ %negative, %zeros ]
  %first.depth = phi i64 [ 0, %odd.number ], [ 1, %zeros ]
"""
NO_ZEROS = """  br label %ranges
ranges:
  %first.length = phi i64 [ %numbers, %odd.number ]
  %first.depth = phi i64 [ 0, %odd.number ]
"""
ALL_NUMBERS = """  br label %ranges
ranges:
  %first.length = phi i64 [ %n, %numbers.first ]
  %first.depth = phi i64 [ 0, %numbers.first ]
"""

SORT = """
define void @FUNCTION(ptr noalias %k, i64 %nEXPORTED_PLACES, ptr noalias %s, i64 %spareEXPORTED_SCRATCH) nounwind {
entry:
  %starts = alloca [66 x i64], align 64
  %counts = alloca [66 x i64], align 64
  %sample = alloca [SHORT x SCALAR], align 64
  SAMPLES_AT
FIRST_PLACESlook:
  ; Already in order, with no NaN?
  %last = sub i64 %n, 1
  %single = icmp slt i64 %last, 1
  %vectors = sub i64 %last, LANES
  br label %scan
scan:
  %c = phi i64 [ 0, %look ], [ %c1, %scan.next ]
  %fits = icmp sle i64 %c, %vectors
  br i1 %fits, label %scan.vector, label %scan.rest
scan.vector:
  %c.p = getelementptr SCALAR, ptr %k, i64 %c
  %c.q = getelementptr SCALAR, ptr %c.p, i64 1
  %these = load VECTOR, ptr %c.p, align BYTES
  %next = load VECTOR, ptr %c.q, align BYTES
  %falls = MORE VECTOR %these, %next
  %falls.bits = bitcast <LANES x i1> %falls to iLANES
  %rises = icmp eq iLANES %falls.bits, 0
  br i1 %rises, label %scan.next, label %numbers.first
scan.next:
  %c1 = add nuw nsw i64 %c, LANES
  br label %scan
scan.rest:
  %d = phi i64 [ %c, %scan ], [ %d1, %scan.one ]
  %d.left = icmp slt i64 %d, %last
  br i1 %d.left, label %scan.one, label %done
scan.one:
  %d.p = getelementptr SCALAR, ptr %k, i64 %d
  %d.q = getelementptr SCALAR, ptr %d.p, i64 1
  %this = load SCALAR, ptr %d.p
  %that = load SCALAR, ptr %d.q
  %d.falls = MORE SCALAR %this, %that
  %d1 = add nuw nsw i64 %d, 1
  br i1 %d.falls, label %numbers.first, label %scan.rest
numbers.first:
NUMBERS  br label %range
range:
  %low = phi i64 [ 0, %ranges ], [ %low.next, %range.next ]
  %length = phi i64 [ %first.length, %ranges ], [ %length.next, %range.next ]
  %depth = phi i64 [ %first.depth, %ranges ], [ %depth.next, %range.next ]
  %seed = phi i64 [ 1, %ranges ], [ %seed.next, %range.next ]
  %uneven = icmp slt i64 %length, 0
  %negated = sub i64 0, %length
  %size = select i1 %uneven, i64 %negated, i64 %length
  %here = getelementptr SCALAR, ptr %k, i64 %low
  PLACES_HERE
  %short = icmp sle i64 %size, SHORT
  br i1 %short, label %count, label %divide
count:
  %nothing = icmp slt i64 %size, 2
  br i1 %nothing, label %pop, label %count.some
count.some:
  call void @adc_short_NAME(ptr %here, i64 %sizePASS_PLACES)
  br label %pop
divide:
  br i1 %uneven, label %middle, label %samples
middle:
  %halfway = call SCALAR @adc_middle_NAME(ptr %here, i64 %size)
  br label %split
samples:
  %medium = icmp slt i64 %size, 2048
  %small = icmp slt i64 %size, 256
  %wanted.medium = select i1 %medium, i64 13, i64 31
  %wanted = select i1 %small, i64 5, i64 %wanted.medium
  %part = udiv i64 %size, %wanted
  br label %take
take:
  %q = phi i64 [ 0, %samples ], [ %q1, %take ]
  %q.seed = phi i64 [ %seed, %samples ], [ %q.seed1, %take ]
  %q.product = mul i64 %q.seed, 6364136223846793005
  %q.seed1 = add i64 %q.product, 1442695040888963407
  %q.random = lshr i64 %q.seed1, 32
  %q.scaled = mul i64 %q.random, %part
  %q.offset = lshr i64 %q.scaled, 32
  %q.start = mul i64 %q, %part
  %q.at = add i64 %q.start, %q.offset
  %q.p = getelementptr SCALAR, ptr %here, i64 %q.at
  %q.v = load SCALAR, ptr %q.p
  %q.to = getelementptr SCALAR, ptr %sample, i64 %q
  store SCALAR %q.v, ptr %q.to
  %q1 = add nuw nsw i64 %q, 1
  %q.more = icmp slt i64 %q1, %wanted
  br i1 %q.more, label %take, label %median
median:
  call void @adc_short_NAME(ptr %sample, i64 %wantedSAMPLE_PLACES)
  %half = lshr i64 %wanted, 1
  %median.p = getelementptr SCALAR, ptr %sample, i64 %half
  %median.v = load SCALAR, ptr %median.p
  %behind.p = getelementptr SCALAR, ptr %median.p, i64 1
  %behind.v = load SCALAR, ptr %behind.p
  %is.often = EQUAL SCALAR %median.v, %behind.v
  br label %split
split:
  %pivot = phi SCALAR [ %halfway, %middle ], [ %median.v, %median ]
  %often = phi i1 [ false, %middle ], [ %is.often, %median ]
  %seed.next.split = phi i64 [ %seed, %middle ], [ %q.seed1, %median ]
  %below = call i64 @SPLIT_lt_NAME(ptr %here, ptr %s, i64 %size, SCALAR %pivotPASS_BOTH)
  %none = icmp eq i64 %below, 0
  br i1 %none, label %least, label %both
least:
  ; Nothing is below: what is equal to the pivot is in its place.
  %equal = call i64 @SPLIT_le_NAME(ptr %here, ptr %s, i64 %size, SCALAR %pivotPASS_BOTH)
  %least.rest = sub i64 %size, %equal
  %least.low = add i64 %low, %equal
  %least.few = lshr i64 %size, 4
  %least.bad = icmp ult i64 %equal, %least.few
  %least.flag = sub i64 0, %least.rest
  %least.length = select i1 %least.bad, i64 %least.flag, i64 %least.rest
  br label %range.next
both:
  %others = sub i64 %size, %below
  %others.low = add i64 %low, %below
  br i1 %often, label %peel, label %parts
peel:
  ; Many are equal to the pivot, as it seems: these are in their place at once.
  %others.p = getelementptr SCALAR, ptr %here, i64 %below
  OTHER_PLACES
  %equals = call i64 @SPLIT_le_NAME(ptr %others.p, ptr %s, i64 %others, SCALAR %pivotPASS_OTHERS)
  %peeled = sub i64 %others, %equals
  %peeled.low = add i64 %others.low, %equals
  br label %parts
parts:
  ; The longer part waits.
  %above = phi i64 [ %others, %both ], [ %peeled, %peel ]
  %above.low = phi i64 [ %others.low, %both ], [ %peeled.low, %peel ]
  %front = icmp sgt i64 %below, %above
  %long.low = select i1 %front, i64 %low, i64 %above.low
  %long = select i1 %front, i64 %below, i64 %above
  %short.low = select i1 %front, i64 %above.low, i64 %low
  %brief = select i1 %front, i64 %above, i64 %below
  %few = lshr i64 %size, 4
  %bad = icmp ult i64 %brief, %few
  %long.flag = sub i64 0, %long
  %long.length = select i1 %bad, i64 %long.flag, i64 %long
  %start.p = getelementptr i64, ptr %starts, i64 %depth
  store i64 %long.low, ptr %start.p
  %count.p = getelementptr i64, ptr %counts, i64 %depth
  store i64 %long.length, ptr %count.p
  %deeper = add i64 %depth, 1
  br label %range.next
pop:
  %waiting = icmp sgt i64 %depth, 0
  br i1 %waiting, label %pop.one, label %done
pop.one:
  %higher = sub i64 %depth, 1
  %pop.start.p = getelementptr i64, ptr %starts, i64 %higher
  %pop.low = load i64, ptr %pop.start.p
  %pop.count.p = getelementptr i64, ptr %counts, i64 %higher
  %pop.length = load i64, ptr %pop.count.p
  br label %range.next
range.next:
  %low.next = phi i64 [ %least.low, %least ], [ %short.low, %parts ], [ %pop.low, %pop.one ]
  %length.next = phi i64 [ %least.length, %least ], [ %brief, %parts ], [ %pop.length, %pop.one ]
  %depth.next = phi i64 [ %depth, %least ], [ %deeper, %parts ], [ %higher, %pop.one ]
  %seed.next = phi i64 [ %seed.next.split, %least ], [ %seed.next.split, %parts ], [ %seed, %pop.one ]
  br label %range
done:
  ret void
}
"""
