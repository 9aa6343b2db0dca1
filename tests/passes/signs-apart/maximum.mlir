// adc opt --passes=signs-apart,tidy
// The loop need not tell zeros apart: the greatest of the bits says whether any element is positive.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %n: index, %first: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %most = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%first) -> f64 {
    %a = memref.load %x[%i] : memref<?xf64>
    scf.reduce(%a : f64) {kinds = ["max"]}
  }
  memref.store %most, %y[%c0] : memref<?xf64>
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %n: index, %first: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant -0.0 : f64
  %cst_0 = arith.constant 0.0 : f64
  %0 = arith.bitcast %first : f64 to i64
  %1 = arith.index_cast %0 : i64 to index
  %2, %3 = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%first, %1) -> (f64, index) {
    %a = memref.load %x[%i] : memref<?xf64>
    %4 = arith.bitcast %a : f64 to i64
    %5 = arith.index_cast %4 : i64 to index
    scf.reduce(%a, %5 : f64, index) {kinds = ["max", "max"]}
  } {adc.signs_apart = true}
  %6 = arith.cmpi slt, %3, %c0 : index
  %7 = arith.select %6, %cst, %cst_0 : f64
  %8 = arith.cmpf oeq, %2, %cst_0 : f64
  %most = arith.select %8, %7, %2 : f64
  memref.store %most, %y[%c0] : memref<?xf64>
  func.return
}
