// adc opt --passes=pass-elements,replace-small-arrays,tidy
// @f has an array of three elements, which @norm only reads: it takes the elements instead.

func.func @f(%a: f64, %b: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %x = memref.alloc(%c3) : memref<?xf64>
  memref.store %a, %x[%c0] : memref<?xf64>
  memref.store %b, %x[%c1] : memref<?xf64>
  memref.store %a, %x[%c2] : memref<?xf64>
  %y = func.call @norm(%x) : (memref<?xf64>) -> f64
  func.return %y : f64
}

func.func @norm(%x: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %s = scf.for %j = %c0 to %n step %c1 iter_args(%r = %zero) -> (f64) {
    %a = memref.load %x[%j] : memref<?xf64>
    %p = arith.mulf %a, %a : f64
    %q = arith.addf %r, %p : f64
    scf.yield %q : f64
  }
  func.return %s : f64
}

// becomes
func.func @f(%a: f64, %b: f64) -> f64 {
  %y = func.call @norm(%a, %b, %a) : (f64, f64, f64) -> f64
  func.return %y : f64
}

func.func @norm(%x: f64, %x_0: f64, %x_1: f64) -> f64 {
  %p = arith.mulf %x, %x : f64
  %p_0 = arith.mulf %x_0, %x_0 : f64
  %q = arith.addf %p, %p_0 : f64
  %p_1 = arith.mulf %x_1, %x_1 : f64
  %q_0 = arith.addf %q, %p_1 : f64
  func.return %q_0 : f64
}
