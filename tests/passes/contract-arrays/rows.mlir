// adc opt --passes=contract-arrays,contract
// Squared distances of points to centres, and what they sum to for each point: the array of distances is a row of one point, the sums of all are a number.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %k = memref.dim %y, 0 : memref<?xf64>
  %d = memref.alloc(%n, %k) : memref<?x?xf64>
  linalg.fill ins(%zero : f64) outs(%d : memref<?x?xf64>)
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%k) step (%c1) {
      %u = memref.load %x[%i] : memref<?xf64>
      %v = memref.load %y[%j] : memref<?xf64>
      %w = arith.subf %u, %v : f64
      memref.store %w, %d[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  %s = memref.alloc(%n) : memref<?xf64>
  %e = memref.dim %d, 1 : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%e) step (%c1) init (%zero) -> f64 {
      %w = memref.load %d[%i, %j] : memref<?x?xf64>
      %q = arith.mulf %w, %w : f64
      scf.reduce(%q : f64) {kinds = ["add"]}
    }
    memref.store %sum, %s[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %t = memref.load %s[%i] : memref<?xf64>
    memref.store %t, %out[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %k = memref.dim %y, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %d = memref.alloc(%k) {adc.own = true} : memref<?xf64>
    linalg.fill ins(%zero : f64) outs(%d : memref<?xf64>)
    scf.parallel (%j) = (%c0) to (%k) step (%c1) {
      %u = memref.load %x[%i] : memref<?xf64>
      %v = memref.load %y[%j] : memref<?xf64>
      %w = arith.subf %u, %v : f64
      memref.store %w, %d[%j] : memref<?xf64>
      scf.reduce()
    }
    %sum = scf.parallel (%j_0) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
      %w_0 = memref.load %d[%j_0] : memref<?xf64>
      %q = arith.mulf %w_0, %w_0 : f64
      scf.reduce(%q : f64) {kinds = ["add"]}
    }
    memref.store %sum, %out[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
