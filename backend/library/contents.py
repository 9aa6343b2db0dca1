"""A digest of the contents of an array, as LLVM IR: one pass over the memory, at about the speed at which it is read.

``i64 adc_digest(ptr data, i64 bytes)``. Sixty-four lanes of 64 bits each take every sixty-fourth word: the lane is
joined with the word, turned, multiplied by an odd number, and its high half joined with the low one. Each of these can
be undone, so that a change of one word always shows; the turn brings high bits, in which floats differ, down to where
the product spreads them. What is left over is filled up with zeros, and the size counts. The digests of two arrays are
equal by chance once in 2**64.
"""

EXPORTS = ("adc_digest",)

_VECTORS, _WIDTH = 8, 8
_BLOCK = 8 * _VECTORS * _WIDTH
_ODD, _TURN = 0x9E3779B185EBCA87 - 2**64, 29

_TEMPLATE = """
define internal void @adc_digest_block(ptr %data, ptr %lanes) alwaysinline {
STEPS
  ret void
}

define i64 @adc_digest(ptr %data, i64 %bytes) {
entry:
  %lanes = alloca [LANES x i64], align 64
  %rest = alloca [BLOCK x i8], align 64
  call void @llvm.memset.p0.i64(ptr %rest, i8 0, i64 BLOCK, i1 false)
  br label %number
number:
  %n = phi i64 [ 0, %entry ], [ %n1, %number ]
  %lane.p = getelementptr i64, ptr %lanes, i64 %n
  store i64 %n, ptr %lane.p
  %n1 = add i64 %n, 1
  %numbered = icmp eq i64 %n1, LANES
  br i1 %numbered, label %start, label %number
start:
  %whole = and i64 %bytes, -BLOCK
  %some = icmp ne i64 %whole, 0
  br i1 %some, label %block, label %last
block:
  %at = phi i64 [ 0, %start ], [ %next, %block ]
  %here = getelementptr i8, ptr %data, i64 %at
  call void @adc_digest_block(ptr %here, ptr %lanes)
  %next = add i64 %at, BLOCK
  %more = icmp ult i64 %next, %whole
  br i1 %more, label %block, label %last
last:
  %left = sub i64 %bytes, %whole
  %tail = getelementptr i8, ptr %data, i64 %whole
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %tail, i64 %left, i1 false)
  call void @adc_digest_block(ptr %rest, ptr %lanes)
  br label %join
join:
  %k = phi i64 [ 0, %last ], [ %k1, %join ]
  %sum = phi i64 [ %bytes, %last ], [ %sum1, %join ]
  %p = getelementptr i64, ptr %lanes, i64 %k
  %lane = load i64, ptr %p
  %mixed = xor i64 %sum, %lane
  %turned = call i64 @llvm.fshl.i64(i64 %mixed, i64 %mixed, i64 TURN)
  %spread = mul i64 %turned, ODD
  %high = lshr i64 %spread, 32
  %sum1 = xor i64 %spread, %high
  %k1 = add i64 %k, 1
  %joined = icmp eq i64 %k1, LANES
  br i1 %joined, label %done, label %join
done:
  ret i64 %sum1
}

declare VECTOR @llvm.fshl.vWIDTHi64(VECTOR, VECTOR, VECTOR)
declare i64 @llvm.fshl.i64(i64, i64, i64)
"""

_STEP = """
  %w{k}.p = getelementptr i8, ptr %data, i64 {at}
  %h{k}.p = getelementptr i8, ptr %lanes, i64 {at}
  %w{k} = load VECTOR, ptr %w{k}.p, align 1
  %h{k} = load VECTOR, ptr %h{k}.p, align 64
  %x{k} = xor VECTOR %h{k}, %w{k}
  %t{k} = call VECTOR @llvm.fshl.vWIDTHi64(VECTOR %x{k}, VECTOR %x{k}, VECTOR splat (i64 TURN))
  %m{k} = mul VECTOR %t{k}, splat (i64 ODD)
  %s{k} = lshr VECTOR %m{k}, splat (i64 32)
  %d{k} = xor VECTOR %m{k}, %s{k}
  store VECTOR %d{k}, ptr %h{k}.p, align 64"""


def contents_ir() -> str:
    steps = "".join(_STEP.format(k=k, at=8 * _WIDTH * k) for k in range(_VECTORS))
    text = _TEMPLATE.replace("STEPS", steps.lstrip("\n"))
    values = {
        "VECTOR": f"<{_WIDTH} x i64>",
        "LANES": str(_VECTORS * _WIDTH),
        "WIDTH": str(_WIDTH),
        "BLOCK": str(_BLOCK),
        "TURN": str(_TURN),
        "ODD": str(_ODD),
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text
