// adc opt --passes=renew-overwritten
// What is computed from a temporary array, the state and other arrays is stored in the new state; what is read in
// between is read from the old one.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = arith.addi %n, %m1 : index
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %u : memref<?xf64> to memref<?xf64>
  %s = scf.for %t = %c0 to %steps step %c1 iter_args(%s0 = %zero) -> (f64) {
    %t1 = memref.alloc(%m) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %k = arith.addi %i, %c1 : index
      %a = memref.load %u[%i] : memref<?xf64>
      %b = memref.load %u[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      memref.store %c, %t1[%i] : memref<?xf64>
      scf.reduce()
    }
    %between = memref.load %u[%c1] : memref<?xf64>
    %s1 = arith.addf %s0, %between : f64
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %d = memref.load %t1[%j] : memref<?xf64>
      %l = arith.addi %j, %c1 : index
      %e = memref.load %u[%l] : memref<?xf64>
      %g = memref.load %y[%j] : memref<?xf64>
      %h = arith.mulf %g, %d : f64
      %new = arith.addf %e, %h : f64
      memref.store %new, %u[%l] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %s1 : f64
  }
  %r = memref.load %u[%c1] : memref<?xf64>
  %total = arith.addf %r, %s : f64
  func.return %total : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = arith.addi %n, %m1 : index
  %u = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %u : memref<?xf64> to memref<?xf64>
  %s, %u_0 = scf.for %t = %c0 to %steps step %c1 iter_args(%s0 = %zero, %u_1 = %u) -> (f64, memref<?xf64>) {
    %0 = memref.dim %u_1, 0 : memref<?xf64>
    %1 = memref.alloc(%0) : memref<?xf64>
    memref.copy %u_1, %1 : memref<?xf64> to memref<?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %k = arith.addi %i, %c1 : index
      %a = memref.load %u_1[%i] : memref<?xf64>
      %b = memref.load %u_1[%k] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      %l = arith.addi %i, %c1 : index
      %e = memref.load %u_1[%l] : memref<?xf64>
      %g = memref.load %y[%i] : memref<?xf64>
      %h = arith.mulf %g, %c : f64
      %new = arith.addf %e, %h : f64
      memref.store %new, %1[%l] : memref<?xf64>
      scf.reduce()
    }
    %between = memref.load %u_1[%c1] : memref<?xf64>
    %s1 = arith.addf %s0, %between : f64
    scf.yield %s1, %1 : f64, memref<?xf64>
  }
  %r = memref.load %u_0[%c1] : memref<?xf64>
  %total = arith.addf %r, %s : f64
  func.return %total : f64
}
