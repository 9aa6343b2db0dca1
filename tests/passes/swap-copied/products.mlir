// adc opt --passes=swap-copied
// What is stored goes to the copy's memory, and what is read is the array, which the loop carries.

func.func @f(%x: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %u : memref<?xf64> to memref<?xf64>
  scf.for %t = %c0 to %steps step %c1 {
    %un = memref.alloc(%n) : memref<?xf64>
    memref.copy %u, %un : memref<?xf64> to memref<?xf64>
    scf.parallel (%i) = (%c1) to (%n) step (%c1) {
      %k = arith.addi %i, %m1 : index
      %a = memref.load %un[%i] : memref<?xf64>
      %b = memref.load %un[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      memref.store %c, %u[%i] : memref<?xf64>
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
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %u : memref<?xf64> to memref<?xf64>
  %u_0 = scf.for %t = %c0 to %steps step %c1 iter_args(%u_1 = %u) -> (memref<?xf64>) {
    %un = memref.alloc(%n) : memref<?xf64>
    memref.copy %u_1, %un : memref<?xf64> to memref<?xf64>
    scf.parallel (%i) = (%c1) to (%n) step (%c1) {
      %k = arith.addi %i, %m1 : index
      %a = memref.load %u_1[%i] : memref<?xf64>
      %b = memref.load %u_1[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      memref.store %c, %un[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %un : memref<?xf64>
  }
  %r = memref.load %u_0[%c1] : memref<?xf64>
  func.return %r : f64
}
