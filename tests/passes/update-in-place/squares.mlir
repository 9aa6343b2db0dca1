// adc opt --passes=update-in-place
// Each element of the new array is made of that of the old one, which dies: there is one array, a copy of what the
// loop begins with, because the caller has that.

func.func @f(%x: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = scf.for %t = %c0 to %steps step %c1 iter_args(%u = %x) -> (memref<?xf64>) {
    %new = memref.alloc(%n) : memref<?xf64>
    memref.copy %u, %new : memref<?xf64> to memref<?xf64>
    scf.parallel (%i) = (%c1) to (%n) step (%c1) {
      %a = memref.load %u[%i] : memref<?xf64>
      %b = arith.mulf %a, %a : f64
      memref.store %b, %new[%i] : memref<?xf64>
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
  %0 = memref.dim %x, 0 : memref<?xf64>
  %1 = memref.alloc(%0) : memref<?xf64>
  memref.copy %x, %1 : memref<?xf64> to memref<?xf64>
  %last = scf.for %t = %c0 to %steps step %c1 iter_args(%u = %1) -> (memref<?xf64>) {
    scf.parallel (%i) = (%c1) to (%n) step (%c1) {
      %a = memref.load %u[%i] : memref<?xf64>
      %b = arith.mulf %a, %a : f64
      memref.store %b, %u[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %u : memref<?xf64>
  }
  %r = memref.load %last[%c1] : memref<?xf64>
  func.return %r : f64
}
