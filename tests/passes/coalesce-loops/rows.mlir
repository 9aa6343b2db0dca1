// adc opt --passes=coalesce-loops,tidy
// Both arrays have rows of as many elements as the inner loop has iterations, one after the other: it is one loop.

func.func @f(%x: memref<?x?xf64>, %z: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %z, 1 : memref<?x?xf64>
  %same = arith.cmpi eq, %m, %k : index
  adc.assert %same {error = "ShapeError", message = "shapes differ"} : i1
  %rows = memref.dim %z, 0 : memref<?x?xf64>
  %enough = arith.cmpi sle, %n, %rows : index
  adc.assert %enough {error = "ShapeError", message = "shapes differ"} : i1
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = arith.mulf %a, %a : f64
      memref.store %b, %z[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %z: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %z, 1 : memref<?x?xf64>
  %same = arith.cmpi eq, %m, %k : index
  adc.assert %same {error = "ShapeError", message = "shapes differ"} : i1
  %rows = memref.dim %z, 0 : memref<?x?xf64>
  %enough = arith.cmpi sle, %n, %rows : index
  adc.assert %enough {error = "ShapeError", message = "shapes differ"} : i1
  %0 = arith.muli %n, %m : index
  %1 = adc.reshape %x[%0] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  %2 = arith.muli %rows, %m : index
  %3 = adc.reshape %z[%2] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  scf.parallel (%j) = (%c0) to (%0) step (%c1) {
    %a = memref.load %1[%j] : memref<?xf64>
    %b = arith.mulf %a, %a : f64
    memref.store %b, %3[%j] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
