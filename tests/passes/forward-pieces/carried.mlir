// adc opt --passes=forward-pieces,tidy,split-index-sets,tidy,dead-stores,dce
// An array with a margin of zeros whose interior is copied in each step: the margin is what it was filled with.

func.func @f(%u: memref<?xf64>, %v: memref<?xf64>, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %u, 0 : memref<?xf64>
  %wide = arith.addi %n, %c2 : index
  %p = memref.alloc(%wide) : memref<?xf64>
  linalg.fill ins(%zero : f64) outs(%p : memref<?xf64>)
  scf.for %t = %c0 to %steps step %c1 {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %a = memref.load %u[%i] : memref<?xf64>
      %at = arith.addi %i, %c1 : index
      memref.store %a, %p[%at] : memref<?xf64>
      scf.reduce()
    }
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      %b = memref.load %p[%j] : memref<?xf64>
      memref.store %b, %v[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%u: memref<?xf64>, %v: memref<?xf64>, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c-1 = arith.constant -1 : index
  %n = memref.dim %u, 0 : memref<?xf64>
  %0 = arith.cmpi sgt, %n, %c0 : index
  scf.for %t = %c0 to %steps step %c1 {
    scf.if %0 {
      memref.store %zero, %v[%c0] : memref<?xf64>
      scf.yield
    }
    scf.parallel (%j) = (%c1) to (%n) step (%c1) {
      %1 = arith.addi %j, %c-1 : index
      %a = memref.load %u[%1] : memref<?xf64>
      memref.store %a, %v[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}
