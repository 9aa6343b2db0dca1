// adc opt --passes=interchange-loops,contract
// Squared distances to several centres, a statement at a time: the loop over elements becomes the outermost, and what was an array of each step is a number.

func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %total: memref<?xf64>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %total, 0 : memref<?xf64>
  scf.for %c = %c0 to %k step %c1 {
    %s = memref.alloc(%n) : memref<?xf64>
    linalg.fill ins(%zero : f64) outs(%s : memref<?xf64>)
    scf.for %j = %c0 to %k step %c1 {
      %centre = memref.load %y[%c, %j] : memref<?x?xf64>
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        %u = memref.load %s[%i] : memref<?xf64>
        %v = memref.load %x[%i, %j] : memref<?x?xf64>
        %w = arith.subf %v, %centre : f64
        %sum = arith.addf %u, %w : f64
        memref.store %sum, %s[%i] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %u = memref.load %s[%i] : memref<?xf64>
      %v = memref.load %total[%i] : memref<?xf64>
      %w = arith.mulf %u, %u : f64
      %sum = arith.addf %v, %w : f64
      memref.store %sum, %total[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %total: memref<?xf64>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %total, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = memref.load %total[%i] : memref<?xf64>
    %total_0 = scf.for %c = %c0 to %k step %c1 iter_args(%total_1 = %0) -> (f64) {
      %s = scf.for %j = %c0 to %k step %c1 iter_args(%s_0 = %zero) -> (f64) {
        %centre = memref.load %y[%c, %j] : memref<?x?xf64>
        %v = memref.load %x[%i, %j] : memref<?x?xf64>
        %w = arith.subf %v, %centre : f64
        %sum = arith.addf %s_0, %w : f64
        scf.yield %sum : f64
      }
      %w_0 = arith.mulf %s, %s : f64
      %sum_0 = arith.addf %total_1, %w_0 : f64
      scf.yield %sum_0 : f64
    }
    memref.store %total_0, %total[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
