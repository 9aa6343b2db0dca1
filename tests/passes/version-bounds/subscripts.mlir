// adc opt --passes=version-bounds,tidy
// One test in front of the loop says whether all subscripts are in range: then they need no checks. Else the loop is as it was.

func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %x, 0 : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%r = %zero) -> (f64) {
    %at = adc.bound %i, %m : index
    %a = memref.load %x[%at] : memref<?xf64>
    %q = arith.addf %r, %a : f64
    scf.yield %q : f64
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.cmpi sle, %n, %m : index
  %s = scf.if %0 -> (f64) {
    %s_0 = scf.for %i = %c0 to %n step %c1 iter_args(%r = %zero) -> (f64) {
      %a = memref.load %x[%i] : memref<?xf64>
      %q = arith.addf %r, %a : f64
      scf.yield %q : f64
    }
    scf.yield %s_0 : f64
  } else {
    %s_1 = scf.for %i_0 = %c0 to %n step %c1 iter_args(%r_0 = %zero) -> (f64) {
      %at = adc.bound %i_0, %m : index
      %a_0 = memref.load %x[%at] : memref<?xf64>
      %q_0 = arith.addf %r_0, %a_0 : f64
      scf.yield %q_0 : f64
    }
    scf.yield %s_1 : f64
  } {adc.cold = "else"}
  func.return %s : f64
}
