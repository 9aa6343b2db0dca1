// adc opt --passes=distribute-invariants
// The exponential does not depend on the row: an array of the length of a row is made for it. The product is cheap.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %out: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    scf.parallel (%j) = (%c1) to (%m) step (%c1) {
      %a = memref.load %x[%j] : memref<?xf64>
      %e = math.exp %a : f64
      %p = arith.mulf %e, %a : f64
      %b = memref.load %y[%i] : memref<?xf64>
      %q = arith.mulf %p, %b : f64
      memref.store %q, %out[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %out: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.subi %m, %c1 : index
  %c0_0 = arith.constant 0 : index
  %1 = arith.maxsi %0, %c0_0 : index
  %2 = memref.alloc(%1) : memref<?xf64>
  scf.parallel (%j) = (%c1) to (%m) step (%c1) {
    %a = memref.load %x[%j] : memref<?xf64>
    %e = math.exp %a : f64
    %p = arith.mulf %e, %a : f64
    %3 = arith.subi %j, %c1 : index
    memref.store %p, %2[%3] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    scf.parallel (%j_0) = (%c1) to (%m) step (%c1) {
      %a_0 = memref.load %x[%j_0] : memref<?xf64>
      %e_0 = math.exp %a_0 : f64
      %p_0 = arith.mulf %e_0, %a_0 : f64
      %4 = arith.subi %j_0, %c1 : index
      %p_1 = memref.load %2[%4] : memref<?xf64>
      %b = memref.load %y[%i] : memref<?xf64>
      %q = arith.mulf %p_1, %b : f64
      memref.store %q, %out[%i, %j_0] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}
