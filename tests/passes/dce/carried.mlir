// adc opt --passes=dce
// Nobody can tell whether the second sum is computed, which a loop carries for itself alone.

func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s, %q = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero, %r = %zero) -> (f64, f64) {
    %y = memref.load %x[%i] : memref<?xf64>
    %u = arith.addf %t, %y : f64
    %z = arith.mulf %y, %y : f64
    %v = arith.addf %r, %z : f64
    scf.yield %u, %v : f64, f64
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %y = memref.load %x[%i] : memref<?xf64>
    %u = arith.addf %t, %y : f64
    scf.yield %u : f64
  }
  func.return %s : f64
}
