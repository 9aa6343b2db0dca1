// adc opt --passes=order-loops
// The extreme of a column is found in order, so that vectorise-outer can find those of many columns side by side.

func.func @f(%x: memref<?x?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = arith.constant -1.0 : f64
  scf.parallel (%j) = (%c0) to (%m) step (%c1) {
    %most = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%least) -> f64 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      scf.reduce(%a : f64) {kinds = ["max"]}
    }
    memref.store %most, %y[%j] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = arith.constant -1.0 : f64
  scf.parallel (%j) = (%c0) to (%m) step (%c1) {
    %most = scf.for %i = %c0 to %n step %c1 iter_args(%arg0 = %least) -> (f64) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %0 = arith.maximumf %a, %arg0 : f64
      scf.yield %0 : f64
    } {adc.unordered = true}
    memref.store %most, %y[%j] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
