// adc opt --passes=skip-zero-terms
// If the branch was not taken, the cotangent is zero, and so is all that the loop adds.

func.func @f(%x: memref<?xf64>, %g: f64, %n: index, %taken: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %bar = arith.select %taken, %g, %zero : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    adc.accumulate %bar, %x[%i] : memref<?xf64>
    scf.reduce()
  } {adc.reverse = true}
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %g: f64, %n: index, %taken: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %bar = arith.select %taken, %g, %zero : f64
  scf.if %taken {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      adc.accumulate %bar, %x[%i] : memref<?xf64>
      scf.reduce()
    } {adc.reverse = true}
    scf.yield
  }
  func.return
}
