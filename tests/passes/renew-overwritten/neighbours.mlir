// adc opt --passes=renew-overwritten
// What goes through a temporary array is stored in a new state, which begins as a copy of the old one.

func.func @f(%x: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = arith.addi %n, %m1 : index
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %u : memref<?xf64> to memref<?xf64>
  scf.for %t = %c0 to %steps step %c1 {
    %t1 = memref.alloc(%m) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %k = arith.addi %i, %c1 : index
      %a = memref.load %u[%i] : memref<?xf64>
      %b = memref.load %u[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      memref.store %c, %t1[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %d = memref.load %t1[%j] : memref<?xf64>
      %l = arith.addi %j, %c1 : index
      memref.store %d, %u[%l] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  %r = memref.load %u[%c1] : memref<?xf64>
  func.return %r : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = arith.addi %n, %m1 : index
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %u : memref<?xf64> to memref<?xf64>
  %u_0 = scf.for %t = %c0 to %steps step %c1 iter_args(%u_1 = %u) -> (memref<?xf64>) {
    %0 = memref.dim %u_1, 0 : memref<?xf64>
    %1 = memref.alloc(%0) : memref<?xf64>
    memref.copy %u_1, %1 : memref<?xf64> to memref<?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %k = arith.addi %i, %c1 : index
      %a = memref.load %u_1[%i] : memref<?xf64>
      %b = memref.load %u_1[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      %l = arith.addi %i, %c1 : index
      memref.store %c, %1[%l] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %1 : memref<?xf64>
  }
  %r = memref.load %u_0[%c1] : memref<?xf64>
  func.return %r : f64
}
