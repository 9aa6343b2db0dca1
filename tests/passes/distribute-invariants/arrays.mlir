// adc opt --passes=distribute-invariants
// Each step makes the same array: it is made once, if there is a step. What is added in a step stays there.

func.func @f(%x: memref<?xf64>, %u: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.for %t = %c0 to %n step %c1 {
    %w = memref.alloc(%m) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i] : memref<?xf64>
      %e = math.exp %a : f64
      memref.store %e, %w[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %b = memref.load %w[%j] : memref<?xf64>
      %c = memref.load %u[%j] : memref<?xf64>
      %d = arith.addf %b, %c : f64
      memref.store %d, %u[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %u: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.cmpi slt, %c0, %n : index
  %w = memref.alloc(%m) : memref<?xf64>
  scf.if %0 {
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i] : memref<?xf64>
      %e = math.exp %a : f64
      memref.store %e, %w[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  scf.for %t = %c0 to %n step %c1 {
    scf.parallel (%i_0) = (%c0) to (%m) step (%c1) {
      %a_0 = memref.load %x[%i_0] : memref<?xf64>
      %e_0 = math.exp %a_0 : f64
      %e_1 = memref.load %w[%i_0] : memref<?xf64>
      scf.reduce()
    }
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %b = memref.load %w[%j] : memref<?xf64>
      %c = memref.load %u[%j] : memref<?xf64>
      %d = arith.addf %b, %c : f64
      memref.store %d, %u[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}
