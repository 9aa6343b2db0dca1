// adc opt --passes=cse
// What was just stored is loaded by no load, and the same product is computed once.

func.func @f(%x: memref<?xf64>, %i: index, %a: f64) -> f64 {
  memref.store %a, %x[%i] : memref<?xf64>
  %b = memref.load %x[%i] : memref<?xf64>
  %y = arith.mulf %a, %a : f64
  %z = arith.mulf %b, %a : f64
  %s = arith.addf %y, %z : f64
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index, %a: f64) -> f64 {
  memref.store %a, %x[%i] : memref<?xf64>
  %y = arith.mulf %a, %a : f64
  %s = arith.addf %y, %y : f64
  func.return %s : f64
}
