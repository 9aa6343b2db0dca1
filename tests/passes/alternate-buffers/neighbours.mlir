// adc opt --passes=alternate-buffers
// The array before the last one dies in each step, and the new one is made in its memory.

func.func @f(%x: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %start = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %start : memref<?xf64> to memref<?xf64>
  %last = scf.for %t = %c0 to %steps step %c1 iter_args(%u = %start) -> (memref<?xf64>) {
    %new = memref.alloc(%n) : memref<?xf64>
    %first = memref.load %u[%c0] : memref<?xf64>
    memref.store %first, %new[%c0] : memref<?xf64>
    scf.parallel (%i) = (%c1) to (%n) step (%c1) {
      %a = memref.load %u[%i] : memref<?xf64>
      %m1 = arith.constant -1 : index
      %k = arith.addi %i, %m1 : index
      %b = memref.load %u[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      memref.store %c, %new[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %new : memref<?xf64>
  }
  %r = memref.load %last[%c1] : memref<?xf64>
  func.return %r : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %start = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %start : memref<?xf64> to memref<?xf64>
  %0 = memref.dim %start, 0 : memref<?xf64>
  %1 = memref.alloc(%0) : memref<?xf64>
  %last, %2 = scf.for %t = %c0 to %steps step %c1 iter_args(%u = %start, %new = %1) -> (memref<?xf64>, memref<?xf64>) {
    %first = memref.load %u[%c0] : memref<?xf64>
    memref.store %first, %new[%c0] : memref<?xf64>
    scf.parallel (%i) = (%c1) to (%n) step (%c1) {
      %a = memref.load %u[%i] : memref<?xf64>
      %m1 = arith.constant -1 : index
      %k = arith.addi %i, %m1 : index
      %b = memref.load %u[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      memref.store %c, %new[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %new, %u : memref<?xf64>, memref<?xf64>
  }
  %r = memref.load %last[%c1] : memref<?xf64>
  func.return %r : f64
}
