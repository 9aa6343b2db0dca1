// adc opt --passes=distribute-invariants
// The branch is the same in each step, and so is the array that is made in it.

func.func @f(%x: memref<?xf64>, %u: memref<?xf64>, %n: index, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.for %t = %c0 to %n step %c1 {
    scf.if %b {
      %w = memref.alloc(%m) : memref<?xf64>
      scf.parallel (%i) = (%c0) to (%m) step (%c1) {
        %a = memref.load %x[%i] : memref<?xf64>
        %e = math.exp %a : f64
        memref.store %e, %w[%i] : memref<?xf64>
        scf.reduce()
      }
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %1 = memref.load %w[%j] : memref<?xf64>
        %2 = memref.load %u[%j] : memref<?xf64>
        %3 = arith.addf %1, %2 : f64
        memref.store %3, %u[%j] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %u: memref<?xf64>, %n: index, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.cmpi slt, %c0, %n : index
  %w = memref.alloc(%m) : memref<?xf64>
  scf.if %0 {
    scf.if %b {
      scf.parallel (%i) = (%c0) to (%m) step (%c1) {
        %a = memref.load %x[%i] : memref<?xf64>
        %e = math.exp %a : f64
        memref.store %e, %w[%i] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.yield
  }
  scf.for %t = %c0 to %n step %c1 {
    scf.if %b {
      scf.parallel (%i_0) = (%c0) to (%m) step (%c1) {
        %a_0 = memref.load %x[%i_0] : memref<?xf64>
        %e_0 = math.exp %a_0 : f64
        %e_1 = memref.load %w[%i_0] : memref<?xf64>
        scf.reduce()
      }
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %1 = memref.load %w[%j] : memref<?xf64>
        %2 = memref.load %u[%j] : memref<?xf64>
        %3 = arith.addf %1, %2 : f64
        memref.store %3, %u[%j] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}
