// adc opt --passes=distribute-invariants
// The array of a step is larger than what there is otherwise: it has no elements if there is no step.

func.func @f(%x: memref<?xf64>, %u: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.for %t = %c0 to %n step %c1 {
    %w = memref.alloc(%m, %m) : memref<?x?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %a = memref.load %x[%i] : memref<?xf64>
        %b = memref.load %x[%j] : memref<?xf64>
        %c = arith.subf %a, %b : f64
        %e = math.exp %c : f64
        memref.store %e, %w[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.for %k = %c0 to %m step %c1 {
      %d = memref.load %w[%k, %c0] : memref<?x?xf64>
      %o = memref.load %u[%k] : memref<?xf64>
      %q = arith.addf %o, %d : f64
      memref.store %q, %u[%k] : memref<?xf64>
      scf.yield
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
  %c0_0 = arith.constant 0 : index
  %1 = arith.select %0, %m, %c0_0 : index
  %w = memref.alloc(%1, %m) : memref<?x?xf64>
  scf.if %0 {
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %a = memref.load %x[%i] : memref<?xf64>
        %b = memref.load %x[%j] : memref<?xf64>
        %c = arith.subf %a, %b : f64
        %e = math.exp %c : f64
        memref.store %e, %w[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  }
  scf.for %t = %c0 to %n step %c1 {
    scf.parallel (%i_0) = (%c0) to (%m) step (%c1) {
      scf.parallel (%j_0) = (%c0) to (%m) step (%c1) {
        %a_0 = memref.load %x[%i_0] : memref<?xf64>
        %b_0 = memref.load %x[%j_0] : memref<?xf64>
        %c_0 = arith.subf %a_0, %b_0 : f64
        %e_0 = math.exp %c_0 : f64
        %e_1 = memref.load %w[%i_0, %j_0] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.for %k = %c0 to %m step %c1 {
      %d = memref.load %w[%k, %c0] : memref<?x?xf64>
      %o = memref.load %u[%k] : memref<?xf64>
      %q = arith.addf %o, %d : f64
      memref.store %q, %u[%k] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}
