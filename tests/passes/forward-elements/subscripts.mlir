// adc opt --passes=forward-elements,simplify
// u[np.minimum(np.arange(n) + 1, n - 1)]: the arrays of subscripts vanish, also that of the first array, and with them
// the check, whose extremes are known to be within bounds.

func.func @f(%u: memref<?xf64> {adc.readonly = true}) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %lowest = arith.constant -9223372036854775808 : index
  %highest = arith.constant 9223372036854775807 : index
  %n = memref.dim %u, 0 : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  %first = arith.subi %c0, %n : index
  %range = memref.alloc(%n) : memref<?xi64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %k = arith.index_cast %i : index to i64
    memref.store %k, %range[%i] : memref<?xi64>
    scf.reduce()
  }
  %next = memref.alloc(%n) : memref<?xi64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %k = memref.load %range[%i] : memref<?xi64>
    %j = arith.index_cast %k : i64 to index
    %after = arith.addi %j, %c1 : index
    %at = arith.minsi %after, %last : index
    %kept = arith.index_cast %at : index to i64
    memref.store %kept, %next[%i] : memref<?xi64>
    scf.reduce()
  }
  %least, %most = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%highest, %lowest) -> (index, index) {
    %k = memref.load %next[%i] : memref<?xi64>
    %j = arith.index_cast %k : i64 to index
    scf.reduce(%j, %j : index, index) {kinds = ["min", "max"]}
  }
  %above = arith.cmpi sge, %least, %first : index
  %below = arith.cmpi slt, %most, %n : index
  %within = arith.andi %above, %below : i1
  adc.assert %within {error = "BoundsError", message = "out of bounds"} : i1
  %v = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %k = memref.load %next[%i] : memref<?xi64>
    %j = arith.index_cast %k : i64 to index
    %a = memref.load %u[%j] : memref<?xf64>
    memref.store %a, %v[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return %v : memref<?xf64>
}

// becomes
func.func @f(%u: memref<?xf64> {adc.readonly = true}) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %u, 0 : memref<?xf64>
  %last = arith.addi %n, %c-1 : index
  %v = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %after = arith.addi %i, %c1 : index
    %at = arith.minsi %after, %last : index
    %a = memref.load %u[%at] : memref<?xf64>
    memref.store %a, %v[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return %v : memref<?xf64>
}
