// adc opt --passes=share-arrays
// Iterations in order have the array in turn. Of those that run on threads each has it from beginning to end.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %n: index, %d: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%q) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%q] : memref<?xf64>
    scf.for %p = %c0 to %n step %c1 {
      %r = memref.alloc(%d) {adc.own = true} : memref<?xf64>
      memref.store %a, %r[%c0] : memref<?xf64>
      %b = memref.load %r[%c0] : memref<?xf64>
      memref.dealloc %r : memref<?xf64>
      memref.store %b, %y[%q] : memref<?xf64>
      scf.yield
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %n: index, %d: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%q) = (%c0) to (%n) step (%c1) {
    %r = memref.alloc(%d) {adc.own = true} : memref<?xf64>
    %a = memref.load %x[%q] : memref<?xf64>
    scf.for %p = %c0 to %n step %c1 {
      memref.store %a, %r[%c0] : memref<?xf64>
      %b = memref.load %r[%c0] : memref<?xf64>
      memref.store %b, %y[%q] : memref<?xf64>
      scf.yield
    }
    memref.dealloc %r : memref<?xf64>
    scf.reduce()
  }
  func.return
}
