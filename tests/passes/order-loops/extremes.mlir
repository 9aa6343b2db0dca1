// adc opt --passes=order-loops
// The extremes of columns are found row by row, which goes through memory in order.

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
  %0 = memref.alloc(%m) : memref<?xf64>
  %c1_0 = arith.constant 1 : index
  scf.parallel (%x_0) = (%c0) to (%m) step (%c1_0) {
    memref.store %least, %0[%x_0] : memref<?xf64>
    scf.reduce()
  }
  scf.for %i = %c0 to %n step %c1 {
    %c1_1 = arith.constant 1 : index
    scf.parallel (%x_1) = (%c0) to (%m) step (%c1_1) {
      %a = memref.load %x[%i, %x_1] : memref<?x?xf64>
      %1 = memref.load %0[%x_1] : memref<?xf64>
      %2 = arith.maximumf %a, %1 : f64
      memref.store %2, %0[%x_1] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  } {adc.unordered = true}
  scf.parallel (%j) = (%c0) to (%m) step (%c1) {
    %most = memref.load %0[%j] : memref<?xf64>
    memref.store %most, %y[%j] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
