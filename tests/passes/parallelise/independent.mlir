// adc opt --passes=parallelise
// Rows are independent, and so are the elements of a row: both loops are parallel, and threads share the outer one.

func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = math.sin %a : f64
      memref.store %b, %y[%i, %j] : memref<?x?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = math.sin %a : f64
      memref.store %b, %y[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}
