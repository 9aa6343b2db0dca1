// adc opt --passes=keep-promises
// Each iteration of the first loop stores to its own element. Those of the second one store where k says, maybe all to one:
// they run in order.

func.func @own(%x: memref<?xf64>, %n: index, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %a, %x[%i] : memref<?xf64>
    scf.reduce()
  } {prange = true}
  func.return
}

func.func @loaded(%x: memref<?xf64>, %k: memref<?xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %w = memref.load %k[%i] : memref<?xi64>
    %at = arith.index_cast %w : i64 to index
    %a = arith.sitofp %w : i64 to f64
    memref.store %a, %x[%at] : memref<?xf64>
    scf.reduce()
  } {prange = true}
  func.return
}

// becomes
func.func @own(%x: memref<?xf64>, %n: index, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %a, %x[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

func.func @loaded(%x: memref<?xf64>, %k: memref<?xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %w = memref.load %k[%i] : memref<?xi64>
    %at = arith.index_cast %w : i64 to index
    %a = arith.sitofp %w : i64 to f64
    memref.store %a, %x[%at] : memref<?xf64>
    scf.yield
  }
  func.return
}
