// adc opt --passes=order-loops
// The inner loop goes down columns; the other way around it goes along rows.

func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%j) = (%c0) to (%m) step (%c1) {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      memref.store %a, %y[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      memref.store %a, %y[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}
