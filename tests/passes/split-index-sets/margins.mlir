// adc opt --passes=split-index-sets,tidy
// A subscript that is clamped at both ends, as an array with margins is made: in the middle it has neither bound.

func.func @f(%x: memref<?xf64>) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %some = arith.cmpi ne, %n, %c0 : index
  adc.assert %some {error = "ValueError", message = "nothing"} : i1
  %wide = arith.addi %n, %c2 : index
  %y = memref.alloc(%wide) : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  scf.parallel (%i) = (%c0) to (%wide) step (%c1) {
    %at = arith.subi %i, %c1 : index
    %low = arith.maxsi %at, %c0 : index
    %source = arith.minsi %low, %last : index
    %a = memref.load %x[%source] : memref<?xf64>
    memref.store %a, %y[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return %y : memref<?xf64>
}

// becomes
func.func @f(%x: memref<?xf64>) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %some = arith.cmpi ne, %n, %c0 : index
  adc.assert %some {error = "ValueError", message = "nothing"} : i1
  %wide = arith.addi %n, %c2 : index
  %y = memref.alloc(%wide) : memref<?xf64>
  %last = arith.addi %n, %c-1 : index
  %i = arith.addi %n, %c1 : index
  %source = arith.minsi %last, %c0 : index
  %a = memref.load %x[%source] : memref<?xf64>
  memref.store %a, %y[%c0] : memref<?xf64>
  scf.parallel (%i_0) = (%c1) to (%i) step (%c1) {
    %at = arith.addi %i_0, %c-1 : index
    %a_0 = memref.load %x[%at] : memref<?xf64>
    memref.store %a_0, %y[%i_0] : memref<?xf64>
    scf.reduce()
  }
  %a_1 = memref.load %x[%last] : memref<?xf64>
  memref.store %a_1, %y[%i] : memref<?xf64>
  func.return %y : memref<?xf64>
}
