// adc opt --passes=interchange-loops
// Each element has a row of an array, along which the steps go: element by element, they go through memory in its order.

func.func @f(%s: memref<?x?xf64>, %g: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %s, 0 : memref<?x?xf64>
  %k = memref.dim %s, 1 : memref<?x?xf64>
  scf.for %t = %c1 to %k step %c1 {
    %before = arith.subi %t, %c1 : index
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %u = memref.load %s[%i, %before] : memref<?x?xf64>
      %v = memref.load %g[%i, %t] : memref<?x?xf64>
      %w = arith.mulf %u, %v : f64
      memref.store %w, %s[%i, %t] : memref<?x?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%s: memref<?x?xf64>, %g: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %s, 0 : memref<?x?xf64>
  %k = memref.dim %s, 1 : memref<?x?xf64>
  %c0_0 = arith.constant 0 : index
  %c1_0 = arith.constant 1 : index
  scf.parallel (%i) = (%c0_0) to (%n) step (%c1_0) {
    %c0_1 = arith.constant 0 : index
    scf.for %t = %c1 to %k step %c1 {
      %before = arith.subi %t, %c1 : index
      %u = memref.load %s[%i, %before] : memref<?x?xf64>
      %v = memref.load %g[%i, %t] : memref<?x?xf64>
      %w = arith.mulf %u, %v : f64
      memref.store %w, %s[%i, %t] : memref<?x?xf64>
      scf.yield
    }
    scf.reduce()
  } {threads = true}
  func.return
}
