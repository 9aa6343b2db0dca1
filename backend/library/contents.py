"""A digest of the contents of an array, as LLVM IR: one pass over memory, at about memory bandwidth.

``i64 adc_digest(ptr data, i64 bytes)``. Sixty-four lanes of 64 bits each take every sixty-fourth word: the word is
XORed into the lane, which is then rotated, multiplied by an odd number, and XORed with its own high half. Each of these
steps is invertible, so a change of a single word always changes the digest; the rotation moves high bits, in which
floats differ, down to where the product spreads them. At the end the lanes are combined in the same way, eight at a
time and then one by one. The last block is padded with zeros, and the size enters the digest. The digests of two arrays
are equal by chance once in 2**64.

``adc_digest_of`` is the same as a Python function (``METH_FASTCALL``): it takes an ndarray in C order and the number of
its bytes, and returns an int. It releases the interpreter lock while it reads a long array.
"""

from adc.backend.library import numpy_abi

EXPORTS = ("adc_digest", "adc_digest_of")

_VECTORS, _WIDTH = 8, 8
_BLOCK = 8 * _VECTORS * _WIDTH
_ODD, _TURN = 0x9E3779B185EBCA87 - 2**64, 29
_LONG = 1 << 16  # bytes

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
NUMBERED
  %whole = and i64 %bytes, -BLOCK
  %some = icmp ne i64 %whole, 0
  br i1 %some, label %block, label %last
block:
  %at = phi i64 [ 0, %entry ], [ %next, %block ]
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
  %v0 = load VECTOR, ptr %lanes, align 64
FOLDS
  br label %join
join:
  %k = phi i64 [ 0, %last ], [ %k1, %join ]
  %sum = phi i64 [ %bytes, %last ], [ %sum1, %join ]
  %lane = extractelement VECTOR %FOLDED, i64 %k
  %mixed = xor i64 %sum, %lane
  %turned = call i64 @llvm.fshl.i64(i64 %mixed, i64 %mixed, i64 TURN)
  %spread = mul i64 %turned, ODD
  %high = lshr i64 %spread, 32
  %sum1 = xor i64 %spread, %high
  %k1 = add i64 %k, 1
  %joined = icmp eq i64 %k1, WIDTH
  br i1 %joined, label %done, label %join
done:
  ret i64 %sum1
}

define ptr @adc_digest_of(ptr %self, ptr %args, i64 %count) {
entry:
  %overflow = alloca i32
  %array = load ptr, ptr %args
  %bytes.p = getelementptr ptr, ptr %args, i64 1
  %bytes.object = load ptr, ptr %bytes.p
  %bytes = call i64 @PyLong_AsLongLongAndOverflow(ptr %bytes.object, ptr %overflow)
  %data.p = getelementptr i8, ptr %array, i64 DATA
  %data = load ptr, ptr %data.p
  %long = icmp ugt i64 %bytes, LONG
  br i1 %long, label %alone, label %here
here:
  %short.digest = call i64 @adc_digest(ptr %data, i64 %bytes)
  br label %done
alone:
  %thread = call ptr @PyEval_SaveThread()
  %long.digest = call i64 @adc_digest(ptr %data, i64 %bytes)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
done:
  %digest = phi i64 [ %short.digest, %here ], [ %long.digest, %alone ]
  %number = call ptr @PyLong_FromLongLong(i64 %digest)
  ret ptr %number
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


_NUMBER = """
  %n{k}.p = getelementptr i8, ptr %lanes, i64 {at}
  store VECTOR <{numbers}>, ptr %n{k}.p, align 64"""

_FOLD = """
  %f{k}.p = getelementptr i8, ptr %lanes, i64 {at}
  %f{k} = load VECTOR, ptr %f{k}.p, align 64
  %ft{k} = call VECTOR @llvm.fshl.vWIDTHi64(VECTOR %v{last}, VECTOR %v{last}, VECTOR splat (i64 TURN))
  %fm{k} = mul VECTOR %ft{k}, splat (i64 ODD)
  %fs{k} = lshr VECTOR %fm{k}, splat (i64 32)
  %fd{k} = xor VECTOR %fm{k}, %fs{k}
  %v{k} = xor VECTOR %fd{k}, %f{k}"""


def contents_ir() -> str:
    steps = "".join(_STEP.format(k=k, at=8 * _WIDTH * k) for k in range(_VECTORS))
    numbered = [", ".join(f"i64 {n}" for n in range(k * _WIDTH, (k + 1) * _WIDTH)) for k in range(_VECTORS)]
    starts = "".join(_NUMBER.format(k=k, at=8 * _WIDTH * k, numbers=numbers) for k, numbers in enumerate(numbered))
    folds = "".join(_FOLD.format(k=k, last=k - 1, at=8 * _WIDTH * k) for k in range(1, _VECTORS))
    values = {
        "STEPS": steps.lstrip("\n"),
        "NUMBERED": starts.lstrip("\n"),
        "FOLDED": f"v{_VECTORS - 1}",
        "FOLDS": folds.lstrip("\n"),
        "VECTOR": f"<{_WIDTH} x i64>",
        "LANES": str(_VECTORS * _WIDTH),
        "WIDTH": str(_WIDTH),
        "BLOCK": str(_BLOCK),
        "TURN": str(_TURN),
        "ODD": str(_ODD),
        "DATA": str(numpy_abi.DATA),
        "LONG": str(_LONG),
    }
    text = _TEMPLATE
    for name, value in values.items():
        text = text.replace(name, value)
    return text
