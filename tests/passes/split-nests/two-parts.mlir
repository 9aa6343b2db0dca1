// adc opt --passes=split-nests
// A loop around two loops that add to different rows becomes one loop around each.

func.func @f(%g: memref<?x?xf64>, %u: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %a = memref.load %g[%i, %j] : memref<?x?xf64>
      %k = arith.addi %j, %c1 : index
      adc.accumulate %a, %u[%i, %k] : memref<?x?xf64>
      scf.reduce()
    }
    scf.parallel (%j2) = (%c0) to (%m) step (%c1) {
      %b = memref.load %g[%i, %j2] : memref<?x?xf64>
      adc.accumulate %b, %u[%i, %j2] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%g: memref<?x?xf64>, %u: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %a = memref.load %g[%i, %j] : memref<?x?xf64>
      %k = arith.addi %j, %c1 : index
      adc.accumulate %a, %u[%i, %k] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j2) = (%c0) to (%m) step (%c1) {
      %b = memref.load %g[%i_0, %j2] : memref<?x?xf64>
      adc.accumulate %b, %u[%i_0, %j2] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}
