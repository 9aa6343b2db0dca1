// adc opt --passes=canonicalize,dce
// What changes its sign in each iteration follows from the counter. A number that is one of two, compared with a third,
// is a condition.

func.func @signs(%x: memref<?xf64>, %start: f64) -> (f64, f64, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %total, %last, %flag = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero, %s = %start, %k = %c1) -> (f64, f64, index) {
    %v = memref.load %x[%i] : memref<?xf64>
    %positive = arith.cmpi sgt, %k, %c0 : index
    %w = arith.mulf %v, %s : f64
    %a = arith.select %positive, %v, %w : f64
    %u = arith.addf %t, %a : f64
    %other = arith.negf %s : f64
    %minus = arith.subi %c0, %k : index
    scf.yield %u, %other, %minus : f64, f64, index
  }
  func.return %total, %last, %flag : f64, f64, index
}

// becomes
func.func @signs(%x: memref<?xf64>, %start: f64) -> (f64, f64, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c-1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.negf %start : f64
  %1 = arith.andi %n, %c1 : index
  %2 = arith.cmpi eq, %1, %c1 : index
  %last = arith.select %2, %0, %start : f64
  %3 = arith.andi %n, %c1 : index
  %4 = arith.cmpi eq, %3, %c1 : index
  %flag = arith.select %4, %c-1, %c1 : index
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %5 = arith.andi %i, %c1 : index
    %6 = arith.cmpi eq, %5, %c1 : index
    %s = arith.select %6, %0, %start : f64
    %7 = arith.andi %i, %c1 : index
    %v = memref.load %x[%i] : memref<?xf64>
    %positive = arith.cmpi ne, %7, %c1 : index
    %w = arith.mulf %v, %s : f64
    %a = arith.select %positive, %v, %w : f64
    %u = arith.addf %t, %a : f64
    scf.yield %u : f64
  }
  func.return %total, %last, %flag : f64, f64, index
}
