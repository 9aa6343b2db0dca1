// adc opt --passes=canonicalize
// A loop that runs at most once, from a minimum of 64-bit integers that is cast: the branch casts it again.

func.func @f(%v: memref<?xf64>, %a: i64, %x: f64) {
  %c1 = arith.constant 1 : index
  %most = arith.constant 100 : i64
  %s = arith.minsi %a, %most : i64
  %lo = arith.index_cast %s : i64 to index
  %hi = arith.addi %lo, %c1 : index
  %end = arith.minsi %hi, %c1 : index
  scf.for %i = %lo to %end step %c1 {
    memref.store %x, %v[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%v: memref<?xf64>, %a: i64, %x: f64) {
  %c1 = arith.constant 1 : index
  %most = arith.constant 100 : i64
  %true = arith.constant true : i1
  %false = arith.constant false : i1
  %s = arith.minsi %a, %most : i64
  %lo = arith.index_cast %s : i64 to index
  %hi = arith.addi %lo, %c1 : index
  %end = arith.minsi %hi, %c1 : index
  %0 = arith.cmpi slt, %lo, %c1 : index
  scf.if %0 {
    %i = arith.index_cast %s : i64 to index
    %1 = arith.addi %i, %c1 : index
    memref.store %x, %v[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}
